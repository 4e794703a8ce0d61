"""
The keys `turns` and `context` of a case, and `steps` of an answer.

| key | what it holds |
|---|---|
| `turns` | the conversation that led to the question, oldest first: `{"role": "user", "text": "..."}` each |
| `context` | the passages: `{"id": "p1", "text": "..."}` each; a plain text is called by its place, from 1 |
| `steps` | the run of an agent: `{"thought": ..., "tool": ..., "arguments": {...}, "result": ...}` each |
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeVar

from calm.cases.row_values import (
    Fault,
    all_differ,
    described,
    joined,
    known_keys,
    list_of,
    mapping_of,
    name_of,
    needed,
    optional,
    own_keys,
    text_of,
)
from calm.core.material import Passage, Step, Turn

T = TypeVar("T")
MOST: Final = 2000
"""More turns, passages or steps than this are those of another thing."""
TURN_KEYS: Final = ("role", "text")
PASSAGE_KEYS: Final = ("id", "text")
STEP_KEYS: Final = ("thought", "tool", "arguments", "result")
TURN: Final = '{"role": "user", "text": "..."}'
PASSAGE: Final = '{"id": "p1", "text": "..."}'
STEP: Final = '{"thought": "...", "tool": "stock", "arguments": {"item": "lamp"}, "result": "3"}'
"""How a turn, a passage and a step are written."""
_OF_TURN: Final = {"content": "text", "value": "text", "message": "text", "from": "role", "speaker": "role"}
_OF_PASSAGE: Final = {"content": "text", "page_content": "text", "body": "text", "doc_id": "id", "document_id": "id"}
_OF_STEP: Final = {
    **dict.fromkeys(("reasoning", "content"), "thought"),
    **dict.fromkeys(("name", "action", "tool_name", "function"), "tool"),
    **dict.fromkeys(("args", "input", "action_input", "parameters"), "arguments"),
    **dict.fromkeys(("output", "observation", "response"), "result"),
}
"""What other tools call the keys of a turn, a passage and a step, and what they are called here."""


def turns_of(value: object, fault: Fault) -> tuple[Turn, ...]:
    """Return the turns of a conversation; each that cannot be is a fault."""
    return _each(value, "turns", _turn, TURN, fault)


def context_of(value: object, fault: Fault) -> tuple[Passage, ...]:
    """Return the passages; each that cannot be is a fault, and so is an id that two of them have."""
    found = _each(value, "context", _passage, PASSAGE, fault)
    all_differ([passage.id for passage in found], "context", fault)
    return found


def steps_of(value: object, at: str, fault: Fault) -> tuple[Step, ...]:
    """Return the steps of a run; each that cannot be is a fault."""
    return _each(value, at, _step, STEP, fault)


def _each(
    value: object, at: str, one: Callable[[object, str, Fault], T | None], example: str, fault: Fault
) -> tuple[T, ...]:
    items = [] if value is None else list_of(value, at, fault, f"[{example}]") or []
    if len(items) > MOST:
        fault(at, f"expected at most {MOST} of them, got {len(items)}; write one case a line")
        return ()
    found = (one(item, f"{at}[{place}]", fault) for place, item in enumerate(items))
    return tuple(item for item in found if item is not None)


def _turn(item: object, at: str, fault: Fault) -> Turn | None:
    given = mapping_of(item, at, fault, TURN)
    if given is None:
        return None
    row = own_keys(given, _OF_TURN, at, fault)
    known_keys(row, TURN_KEYS, at, fault)
    role = name_of(row, "role", at, fault)
    if role and not role.isprintable():
        fault(joined(at, "role"), f"expected a printable role, got {described(role)}; write user or assistant")
    text = needed(row, "text", at, fault)
    return Turn(role, text or "")


def _passage(item: object, at: str, fault: Fault) -> Passage | None:
    if isinstance(item, str):
        text = text_of(item, at, fault)
        _refuse_empty(item, at, fault)
        return None if text is None else Passage(str(int(at[at.rindex("[") + 1 : -1]) + 1), text)
    given = mapping_of(item, at, fault, PASSAGE)
    if given is None:
        return None
    row = own_keys(given, _OF_PASSAGE, at, fault)
    known_keys(row, PASSAGE_KEYS, at, fault)
    name = ""
    if "id" in row:
        name = name_of(row, "id", at, fault)
    else:
        plain = "or write the passage as a plain text in quotes: its place in the list is its id then, from 1"
        fault(joined(at, "id"), f'expected an id, got none; add one, such as "id": "p1", {plain}')
    if name and not name.isprintable():
        fault(joined(at, "id"), f"expected a printable id, got {described(name)}; write as in p1")
    text = needed(row, "text", at, fault)
    if text is not None:
        _refuse_empty(text, joined(at, "text"), fault)
    return Passage(name, text or "")


def _refuse_empty(text: str, at: str, fault: Fault) -> None:
    if not text.strip():
        fault(at, "expected a passage, got an empty text; write it, or leave the passage out")


def _step(item: object, at: str, fault: Fault) -> Step | None:
    given = mapping_of(item, at, fault, STEP)
    if given is None:
        return None
    row = own_keys(given, _OF_STEP, at, fault)
    known_keys(row, STEP_KEYS, at, fault)
    thought, tool = optional(row, "thought", at, fault) or "", optional(row, "tool", at, fault) or ""
    arguments, result = (_json(row.get(key), joined(at, key), fault) for key in ("arguments", "result"))
    if not tool.strip() and (arguments or result):
        fault(joined(at, "tool"), "expected the name of the tool that was called, got none; add it")
    elif not (thought + tool).strip():
        fault(at, "expected a thought or a call of a tool, got neither; write one, or leave the step out")
    return Step(thought, tool, arguments, result)


def _json(value: object, at: str, fault: Fault) -> str:
    """Return a text as it is, and any other JSON value as JSON."""
    if value is None:
        return ""
    return text_of(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), at, fault) or ""
