"""Messages: a list of them, a message with parts, or JSON in a string, as tools and tables write conversations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from calm.core.material import Turn

TOOLS: Final = (
    *("tool", "function", "tool_call", "tool_use", "tool_result", "tool_call_response", "tool_response"),
    *("function_call", "function_call_output", "server_tool_use", "server_tool_result", "custom_tool_call"),
    *("custom_tool_call_output", "mcp_call"),
)
"""The roles and types of messages, and the types of their parts, by which a tool is called or replies."""
THOUGHTS: Final = ("reasoning", "thinking", "redacted_thinking")
"""The types of messages and parts in which a model thinks, which it says to nobody."""
_ROLES: Final = {
    **dict.fromkeys(("human", "customer", "client"), "user"),
    **dict.fromkeys(("ai", "model", "gpt", "chatgpt", "bot", "agent"), "assistant"),
    "developer": "system",
}
"""What the roles of messages are called elsewhere, and here."""


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
            found: object = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found
    return value


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
    """Return the text of a message: its content, or the parts of it that are texts, and no part of a tool."""
    for key in ("content", "parts", "text", "value"):
        found = dig(message, key)
        if isinstance(found, str):
            return found
        if isinstance(found, list | tuple):
            said = [one for one in found if string(one, "type") not in (*TOOLS, *THOUGHTS)]
            parts = [one if isinstance(one, str) else string(one, "text") or string(one, "content") for one in said]
            return "\n".join(part for part in parts if part)
    return ""
