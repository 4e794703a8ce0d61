"""
What happens in the log of an agent, one after the other: what somebody says, what the agent thinks, calls and gets.

Read are messages of OpenAI's chat completions (`tool_calls`, role "tool"), items of OpenAI's Responses
(`function_call`, `function_call_output`), and messages of Anthropic (blocks `tool_use`, `tool_result`, `thinking`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from calm.cases.messages import ROLES, in_place_of, kind_of, refusal_in, role_in

USER: Final = "user"
AGENT: Final = "assistant"
SYSTEM: Final = "system"
_TOOL: Final = "tool"
_KNOWN: Final = (USER, AGENT, SYSTEM, _TOOL)
_TEXTS: Final = ("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal")
_SHOWN: Final = ("image", "document")
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call")
ERROR: Final = "Error: "
"""How the result of a call begins that its log calls an error by another sign than its text."""


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said to the other; `before_call` where the same message calls a tool."""

    role: str
    text: str
    before_call: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """What the agent thought."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool, with its arguments as JSON; `message` is the place of its message, which may hold several."""

    id: str
    tool: str
    arguments: str
    message: int = 0


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call gave."""

    id: str
    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class Beside:
    """Words in the message that brings a result of a tool, such as a reminder: they belong to this result."""

    text: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that is no text, such as an image; its kind in brackets takes its place."""

    what: str


Event: TypeAlias = Said | Thought | Call | Returned | Beside | Missing


class NotMessages(ValueError):
    """What is no list of messages: where, and why."""


class NoMessages(NotMessages):
    """A record without messages, as of a run that failed before its first one."""


def events_of(messages: object) -> list[Event]:
    """
    Return what happens in a list of messages or items, in its order.

    Raises:
        NotMessages: it is no list, or something in it is no message.
    """
    if isinstance(messages, str):
        return [Said(USER, messages)]
    if not isinstance(messages, list):
        raise NotMessages(f"expected a list of messages, got {type(messages).__name__}")
    return [
        replace(event, message=place) if isinstance(event, Call) else event
        for place, one in enumerate(messages)
        for event in _of_message(one, place)
    ]


def _of_message(one: object, place: int) -> Iterator[Event]:
    if not isinstance(one, Mapping):
        raise NotMessages(f"message {place + 1}: expected an object with role and content")
    kind = str(one.get("type", ""))
    if kind == "reasoning":
        yield from _thoughts(one.get("summary"))
        yield from _thoughts(one.get("content"))
    elif kind.endswith("_call") and "role" not in one:
        yield from _of_item(one, kind)
    elif kind.endswith(("_call_output", "_call_response")):
        yield Returned(_text_at(one, "call_id"), "", _result(one.get("output"), error=_is_error(one)))
    else:
        role = role_in(one)
        if role not in _KNOWN:
            known = ", ".join((*_KNOWN, *ROLES))
            raise NotMessages(f"message {place + 1}: role: expected one of {known}, got {role[:40]!r}")
        yield from _of_role(one, role)


def _of_item(one: Mapping[str, object], kind: str) -> Iterator[Event]:
    """Yield the call of an item of Responses; a tool of the server's own brings its result along."""
    name = _text_at(one, "name") or kind.removesuffix("_call")
    key = _text_at(one, "call_id") or _text_at(one, "id")
    given = next((one[key] for key in ("arguments", "input", "action", "queries", "code") if one.get(key)), None)
    yield Call(key, name, _json(given))
    held = next((one[key] for key in ("output", "results", "outputs") if one.get(key) is not None), None)
    if one.get("error") is not None:
        yield Returned(key, name, _result(one["error"], error=True))
    elif held is not None:
        yield Returned(key, name, _result(held))


def _of_role(one: Mapping[str, object], role: str) -> Iterator[Event]:
    content = one.get("content")
    if role == _TOOL:
        key = _text_at(one, "tool_call_id") or _text_at(one, "id")
        yield Returned(key, _text_at(one, "name"), _result(content, error=_is_error(one)))
        return
    if role == AGENT:
        yield from _thoughts(one.get("reasoning_content") or one.get("reasoning"))
    calls = list(_calls_beside(one))
    yield from _of_content(content or refusal_in(one), role, called=bool(calls))
    yield from calls


def _calls_beside(one: Mapping[str, object]) -> Iterator[Call]:
    """Yield the calls that stand beside the content of a message: `tool_calls`, and the older `function_call`."""
    listed = one.get("tool_calls")
    for call in listed if isinstance(listed, list) else []:
        if isinstance(call, Mapping):
            inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), Mapping)), call)
            given = next((inner[key] for key in ("arguments", "args", "input") if inner.get(key) is not None), None)
            yield Call(_text_at(call, "id"), _text_at(inner, "name") or "tool", _json(given))
    older = one.get("function_call")
    if isinstance(older, Mapping):
        yield Call("", _text_at(older, "name") or "tool", _json(older.get("arguments")))


def _of_content(content: object, role: str, *, called: bool) -> Iterator[Event]:
    """Yield what the parts of a content are; its texts in a row are said together, those beside a result last."""
    parts = content if isinstance(content, list) else [] if content is None else [content]
    kinds = [_kind(part) for part in parts]
    called = called or any(kind in _CALLS for kind in kinds)
    brings = role == USER and any(kind.endswith("tool_result") for kind in kinds)
    beside: list[str] = []
    said: list[str] = []
    for part, kind in zip(parts, kinds, strict=True):
        text = _text_of(part)
        if text is not None:
            (beside if brings else said).append(text)
            continue
        if kind in ("thinking", "redacted_thinking", "reasoning", *_CALLS) or kind.endswith("tool_result"):
            if any(map(str.strip, said)):
                yield Said(role, "\n".join(said), called)
            said = []
            yield from _of_block(part if isinstance(part, Mapping) else {}, kind)
        else:
            (beside if brings else said).append(in_place_of(part))
            yield Missing(kind_of(part))
    if any(map(str.strip, said)):
        yield Said(role, "\n".join(said), called)
    if any(map(str.strip, beside)):
        yield Beside("\n".join(beside))


def _of_block(block: Mapping[str, object], kind: str) -> Iterator[Event]:
    if kind in _CALLS:
        given = block.get("input", block.get("arguments"))
        yield Call(_text_at(block, "id"), _text_at(block, "name") or "tool", _json(given))
    elif kind.endswith("tool_result"):
        name = kind.removesuffix("_tool_result") if kind != "tool_result" else ""
        yield Returned(_text_at(block, "tool_use_id"), name, _result(block.get("content"), error=_is_error(block)))
    elif kind == "redacted_thinking":
        yield Missing("redacted thinking")
    else:
        yield from _thoughts(block.get("thinking") or block.get("summary") or block.get("text"))


def _thoughts(value: object) -> Iterator[Thought]:
    text = value if isinstance(value, str) else "\n".join(_texts(value))
    if text.strip():
        yield Thought(text)


def _texts(value: object) -> list[str]:
    parts = value if isinstance(value, list) else []
    return [text for part in parts if (text := _text_of(part)) is not None]


def _text_of(part: object) -> str | None:
    """Return the text of a part; None for one that is none."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and (_kind(part) in _TEXTS or "type" not in part):
        found = part.get("text", part.get("refusal"))
        return found if isinstance(found, str) else None
    return None


def _kind(part: object) -> str:
    return str(part.get("type") or "part")[:40] if isinstance(part, Mapping) else "part"


def _result(value: object, *, error: bool = False) -> str:
    """Return what a call gave as a text: texts as they are, parts that are none in brackets, all else as JSON."""
    if isinstance(value, list) and all(_is_part(part) for part in value):
        texts = [text if (text := _text_of(part)) is not None else in_place_of(part) for part in value]
        found = "\n".join(texts)
    else:
        found = _json(value)
    return f"{ERROR}{found}" if error and not found.lower().lstrip("{\"' ").startswith("error") else found


def _is_part(part: object) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and (_kind(part) in _TEXTS or kind_of(part) in _SHOWN))


def _is_error(one: Mapping[str, object]) -> bool:
    return one.get("is_error") is True or one.get("status") in ("error", "failed")


def _json(value: object) -> str:
    """Return a text as it is, and any other value as JSON; nothing for none."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_at(one: Mapping[str, object], key: str) -> str:
    found = one.get(key)
    return found if isinstance(found, str) else ""
