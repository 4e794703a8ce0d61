"""Find a text in what a tool wrote: a string, a message, a list of messages, an object, or JSON in a string."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from calm.cases.rows import (
    TOOLS,
    about_tools,
    content_of,
    dig,
    string,
    unpacked,
)
from calm.cases.rows import (
    turns_of_messages as turns_of,
)
from calm.core.case import Turn

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
CONTEXTS: Final = ("context", "contexts", "retrieval_context", "retrieved_contexts", "documents", "source_documents")
_DEEPEST: Final = 8
_SIGN_OF_NUL: Final = "\N{SYMBOL FOR NULL}"


def clean(text: str) -> str:
    """Return a text that a file of cases can hold: a NUL, and half a character, become signs that are seen."""
    return text.replace("\0", _SIGN_OF_NUL).encode("utf-8", "replace").decode()


def number(value: object) -> float | None:
    """Return a finite number; None for anything else, a truth value too."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and isinstance(value, int | float) and math.isfinite(value) else None


def truth(value: object) -> bool | None:
    """Return a truth value; None for anything else."""
    return value if isinstance(value, bool) else None


def written(value: object) -> str:
    """Return a value as a text: a string as it is, anything else as JSON; "" for none."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def prompt_of(value: object) -> tuple[Turn, ...]:
    """Return the messages that a judge was sent; none if it used tools, as they are then not those of one call."""
    return without_tools(turns_of(value))


def without_tools(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the messages of a prompt; none if one of them is about a tool."""
    return () if any(turn.role == "tool" for turn in turns) else tuple(turns)


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
    """Return the last text of a conversation; "" if there is none."""
    return next((turn.text for turn in reversed(turns) if turn.role == role and turn.text), "")


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
    if value in ([], (), {}):
        return ""
    if isinstance(value, list | tuple):
        return _found(value[0], keys, last=last, depth=depth + 1) if len(value) == 1 else written(list(value))
    if isinstance(value, Mapping):
        for inner in (dig(value, "args", 0), dig(value, "kwargs")):
            if inner:
                return _found(inner, keys, last=last, depth=depth + 1)
        held = [value[key] for key in keys if key in value]
        for inner in held:
            if inner not in (None, "", [], {}):
                return _found(inner, keys, last=last, depth=depth + 1)
        if "role" in value:
            return content_of(value)
        if len(value) == 1:
            return _found(next(iter(value.values())), keys, last=last, depth=depth + 1)
        if held:
            return ""  # what would be said here is empty
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
