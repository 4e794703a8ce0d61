"""Find a text in what a tool wrote: a string, a message, a list of messages, an object, or JSON in a string."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from calm.core.material import Turn

QUESTIONS: Final = (
    *("question", "query", "input", "inputs", "user_input", "user_query", "prompt", "instruction", "message"),
    *("text", "content", "value"),
)
ANSWERS: Final = (
    *("response", "answer", "output", "outputs", "completion", "generation", "result", "message", "content"),
    *("text", "choices", "value"),
)
REFERENCES: Final = (
    *("reference", "expected_response", "expected_output", "expected", "expected_answer", "reference_answer"),
    *("reference_outputs", "ground_truth", "ideal", "target", "gold", "answer", "value"),
)
DOCUMENTS: Final = ("page_content", "content", "text", "document", "body")
TOOLS: Final = (
    *("tool", "function", "tool_call", "tool_use", "tool_result", "tool_call_response", "tool_response"),
    *("function_call", "function_call_output", "server_tool_use", "server_tool_result", "custom_tool_call"),
    *("custom_tool_call_output", "mcp_call"),
)
"""The roles and types of messages, and the types of their parts, by which a tool is called or replies."""
_ROLES: Final = {
    **dict.fromkeys(("human", "customer", "client"), "user"),
    **dict.fromkeys(("ai", "model", "gpt", "chatgpt", "bot", "agent"), "assistant"),
    "developer": "system",
}
"""What the roles of messages are called elsewhere, and here."""
_THOUGHTS: Final = ("reasoning", "thinking", "redacted_thinking")
"""The types of messages and parts in which a model thinks, which it says to nobody."""
CONTEXTS: Final = ("context", "contexts", "retrieval_context", "retrieved_contexts", "documents", "source_documents")
_DEEPEST: Final = 8


def dig(value: object, *steps: str | int) -> object:
    """
    Return what lies at a path of keys and places; None where there is nothing.

    >>> dig({"a": [{"b": 1}]}, "a", 0, "b"), dig({"a": 1}, "a", "b")
    (1, None)
    """
    for step in steps:
        if isinstance(value, Mapping) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list | tuple) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def objects(value: object, *steps: str | int) -> list[Mapping[str, object]]:
    """Return the objects of the list at a path; none where there is no list."""
    found = dig(value, *steps)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []


def string(value: object, *steps: str | int) -> str:
    """Return the text at a path; "" for anything else."""
    found = dig(value, *steps)
    return found if isinstance(found, str) else ""


def number(value: object) -> float | None:
    """Return a finite number; None for anything else, a truth value too."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and isinstance(value, int | float) and math.isfinite(value) else None


def truth(value: object) -> bool | None:
    """Return a truth value; None for anything else."""
    return value if isinstance(value, bool) else None


def unpacked(value: object) -> object:
    """Return what a string of JSON holds, if it holds an object or a list; else the value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            found: object = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found
    return value


def written(value: object) -> str:
    """Return a value as a text: a string as it is, anything else as JSON; "" for none."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def turns_of(value: object) -> tuple[Turn, ...]:
    """
    Return the messages of a conversation: a list of messages, JSON of one, or a string as one message of a user.

    What a tool was asked or replied has the role "tool". None are returned of what is no list of messages.

    >>> turns_of('[{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]')
    (Turn(role='user', text='Hi'),)
    """
    held = unpacked(value)
    if isinstance(value, str) and not isinstance(held, list) and dig(held, "messages") is None:
        return (Turn("user", value),) if value else ()
    turns = []
    found = held if isinstance(held, list | tuple) else dig(held, "messages")
    for one in found if isinstance(found, list | tuple) else ():
        role = string(one, "role") or string(one, "from") or string(one, "type")
        role = _ROLES.get(role.lower(), role.lower())
        if role in _THOUGHTS:
            continue
        if role not in ("system", "user", "assistant", *TOOLS):
            return ()
        text = _content(one)
        turns.append(Turn("tool" if role in TOOLS or (not text and about_tools(one)) else role, text))
    return tuple(turns) if any(turn.role != "tool" for turn in turns) else ()


def prompt_of(value: object) -> tuple[Turn, ...]:
    """Return the messages that a judge was sent; none if it used tools, as they are then not those of one call."""
    return without_tools(turns_of(value))


def without_tools(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the messages of a prompt; none if one of them is about a tool."""
    return () if any(turn.role == "tool" for turn in turns) else tuple(turns)


def about_tools(message: object) -> bool:
    """Return whether a message calls a tool, or holds its reply, in its parts or beside them."""
    parts = [one for key in ("content", "parts") for one in objects(message, key)]
    return bool(dig(message, "tool_calls")) or any(string(one, "type") in TOOLS for one in parts)


def uses_tools(value: object, depth: int = 0) -> bool:
    """
    Return whether a tool is called, or replies, in a conversation somewhere in a value.

    >>> uses_tools([{"type": "function_call", "arguments": "{}"}]), uses_tools({"messages": [{"role": "user"}]})
    (True, False)
    """
    value = unpacked(value)
    if depth > _DEEPEST:
        return False
    if isinstance(value, Mapping):
        spoken = any(key in value for key in ("content", "parts", "arguments", "output"))
        if spoken and (string(value, "role") in TOOLS or string(value, "type") in TOOLS or about_tools(value)):
            return True
        return any(uses_tools(inner, depth + 1) for inner in value.values() if not isinstance(inner, str))
    return isinstance(value, list | tuple) and any(uses_tools(one, depth + 1) for one in value)


def said_by(role: str, turns: Sequence[Turn]) -> str:
    """Return the last text that somebody said in a conversation; "" if there is none."""
    return next((turn.text for turn in reversed(turns) if turn.role == role and turn.text), "")


def _content(message: object) -> str:
    """Return the text of a message: its content, or the parts of it that are texts, and no part of a tool."""
    for key in ("content", "parts", "text", "value"):
        found = dig(message, key)
        if isinstance(found, str):
            return found
        if isinstance(found, list | tuple):
            said = [one for one in found if string(one, "type") not in (*TOOLS, *_THOUGHTS)]
            parts = [one if isinstance(one, str) else string(one, "text") or string(one, "content") for one in said]
            return "\n".join(part for part in parts if part)
    return ""


def question_in(value: object) -> str:
    """
    Return the question in what went into an application: of messages that of the user, or all where there are several.

    >>> question_in({"messages": [{"role": "user", "content": "Why?"}]}), question_in({"question": "Who?"})
    ('Why?', 'Who?')
    """
    return _found(value, QUESTIONS, last="user")


def answer_in(value: object) -> str:
    """
    Return the answer in what came out of an application.

    >>> answer_in({"choices": [{"message": {"role": "assistant", "content": "Yes."}}]})
    'Yes.'
    """
    return _found(value, ANSWERS, last="assistant")


def reference_in(value: object) -> str:
    """Return the reference in what was expected."""
    return _found(value, REFERENCES, last="assistant")


def _found(value: object, keys: Sequence[str], *, last: str, depth: int = 0) -> str:
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return written(value)
    turns = turns_of(value) if isinstance(value, list | tuple) or dig(value, "messages") is not None else ()
    if turns:
        asked = [turn for turn in turns if turn.role == "user" and turn.text]
        if last == "user" and len(asked) > 1:
            return transcript(turns)
        return said_by(last, turns) or (said_by("system", turns) if last == "user" else "")
    if isinstance(value, list | tuple):
        return _found(value[0], keys, last=last, depth=depth + 1) if len(value) == 1 else written(list(value))
    if isinstance(value, Mapping):
        for inner in (dig(value, "args", 0), dig(value, "kwargs")):
            if inner:
                return _found(inner, keys, last=last, depth=depth + 1)
        for key in keys:
            if value.get(key) not in (None, ""):
                return _found(value[key], keys, last=last, depth=depth + 1)
        if "role" in value:
            return _content(value)
        if len(value) == 1:
            return _found(next(iter(value.values())), keys, last=last, depth=depth + 1)
    return written(value)


def transcript(turns: Sequence[Turn]) -> str:
    """Return a conversation as a text, a line for each turn in which somebody said something to the other."""
    return "\n".join(f"{turn.role}: {turn.text}" for turn in turns if turn.role not in ("system", "tool") and turn.text)


def texts_in(value: object) -> tuple[str, ...]:
    """
    Return retrieved texts: a string, a list of strings, or a list of documents.

    >>> texts_in([{"page_content": "A."}, "B."]), texts_in("C.")
    (('A.', 'B.'), ('C.',))
    """
    return tuple(text for text in _texts(_listing(value)) if text)


def _listing(value: object) -> object:
    """Return the list that a string of JSON holds; else the value as it is."""
    held = unpacked(value)
    return held if isinstance(held, list) else value


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, Mapping):
        inner = next((value[key] for key in (*DOCUMENTS, *CONTEXTS) if value.get(key)), None)
        if isinstance(inner, str | list | tuple | Mapping):
            yield from _texts(inner)


def first_of(values: Mapping[str, object], keys: Sequence[str]) -> object:
    """Return the value of the first of some keys that holds one; None where none does."""
    return next((values[key] for key in keys if values.get(key) not in (None, "", [], {})), None)
