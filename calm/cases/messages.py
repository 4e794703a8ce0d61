"""Messages: a list of them, a message with parts, or JSON in a string, as tools and tables write conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from calm.core.files import json_of
from calm.core.material import Turn

TOOLS: Final = (
    *("tool", "function", "tool_call", "tool_use", "tool_result", "tool_call_response", "tool_response"),
    *("function_call", "function_call_output", "server_tool_use", "server_tool_result", "custom_tool_call"),
    *("custom_tool_call_output", "mcp_call"),
)
"""The roles and types of messages, and the types of their parts, by which a tool is called or replies."""
THOUGHTS: Final = ("reasoning", "thinking", "redacted_thinking")
"""The types of messages and parts in which a model thinks, which are not part of its reply."""
ROLES: Final = {
    **dict.fromkeys(("human", "customer", "client"), "user"),
    **dict.fromkeys(("ai", "model", "gpt", "chatgpt", "bot", "agent"), "assistant"),
    "developer": "system",
    **dict.fromkeys(("function", "observation", "ipython"), "tool"),
}
"""What the roles of messages are called elsewhere, and here."""
_TEXTS: Final = ("text", "content", "refusal")
"""Where a part of a message holds its text; OpenAI writes a refusal under a key of its own."""
_LONGEST: Final = 40


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


def unpacked(value: object) -> object:
    """Return what a string of JSON holds, if it holds an object or a list; else the value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json_of(value)
        except ValueError:  # no JSON, or over a limit
            return value
    return value


def role_in(message: object) -> str:
    """
    Return who speaks in a message, as calm calls them, in whatever case it is written; "" where none is named.

    >>> role_in({"role": "Human"}), role_in({"from": "gpt"})
    ('user', 'assistant')
    """
    role = (string(message, "role") or string(message, "from") or string(message, "type")).lower()
    return ROLES.get(role, role)


def refusal_in(message: object) -> str:
    """Return the words of a refusal that a message has instead of content; "" without one."""
    return "" if dig(message, "content") else string(message, "refusal")


def kind_of(part: object) -> str:
    """
    Return what a part of a message is, in a word; a picture is an image however its type is spelled.

    >>> kind_of({"type": "image_url"}), kind_of({"type": "input_audio"}), kind_of({"text": "Hi"})
    ('image', 'audio', 'part')
    """
    kind = (string(part, "modality") or string(part, "type") or "part")[:_LONGEST]
    return kind.removeprefix("input_").removesuffix("_url").removesuffix("_file") or kind


def in_place_of(part: object) -> str:
    """Return what stands in the place of a part that is no text: what it is, in brackets."""
    return f"[{kind_of(part)}]"


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
        role = role_in(one)
        if role in THOUGHTS:
            continue
        if role not in ("system", "user", "assistant", *TOOLS):
            return ()
        text = content_of(one)
        turns.append(Turn("tool" if role in TOOLS or (not text and about_tools(one)) else role, text))
    return tuple(turns) if any(turn.role != "tool" for turn in turns) else ()


def about_tools(message: object) -> bool:
    """Return whether a message calls a tool, or holds its reply, in its parts or beside them."""
    parts = [one for key in ("content", "parts") for one in objects(message, key)]
    return bool(dig(message, "tool_calls")) or any(string(one, "type") in TOOLS for one in parts)


def content_of(message: object) -> str:
    """
    Return the text of a message: its content, or its parts but those of a tool, or its refusal.

    A part that is no text is shown as its kind in brackets.

    >>> content_of({"content": [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {}}]})
    'Look:\\n[image]'
    """
    for key in ("content", "parts", "text", "value"):
        found = dig(message, key)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list | tuple) and found:
            said = [one for one in found if string(one, "type") not in (*TOOLS, *THOUGHTS)]
            return "\n".join(text for text in map(_text_of, said) if text)
    return refusal_in(message)


def lacks_parts(message: object) -> bool:
    """Return whether a part of a message is no text, so that only what it is stands in its place."""
    parts = next((found for key in ("content", "parts") if (found := objects(message, key))), [])
    return any(_text_of(one) == in_place_of(one) and string(one, "type") not in (*TOOLS, *THOUGHTS) for one in parts)


def _text_of(part: object) -> str:
    """Return the text of a part, or what stands in its place; nothing for a part without a type."""
    if isinstance(part, str):
        return part
    held = next((text for key in _TEXTS if isinstance(text := dig(part, key), str)), None)
    if held is not None:
        return held
    return in_place_of(part) if string(part, "type") else ""
