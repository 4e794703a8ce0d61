"""Runs of agents: which of their calls read, which ones change something, and which ones failed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from calm import Treated
from calm.core.case import Step
from calm.perturbations.triggers import Trigger

READS: Final = frozenset((
    "browse", "check", "count", "describe", "fetch", "find", "get", "inspect", "list", "look", "lookup", "query",
    "read", "retrieve", "search", "show", "view",
))  # fmt: skip
"""Verbs in the names of tools that change nothing."""
CHANGES: Final = frozenset((
    "add", "apply", "append", "assign", "book", "buy", "cancel", "change", "close", "confirm", "copy", "create",
    "delete", "deploy", "edit", "execute", "grant", "insert", "install", "make", "merge", "modify", "move", "open",
    "order", "pay", "post", "publish", "purchase", "push", "put", "refund", "remove", "rename", "reopen", "replace",
    "reserve", "reset", "restart", "reverse", "revoke", "schedule", "send", "set", "ship", "start", "stop",
    "submit", "transfer", "unlock", "update", "upload", "write",
))  # fmt: skip
"""Verbs in the names of tools that change something."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FAILED = re.compile(
    r"\s*(?:\W*(?:error|exception|traceback|failed|failure|fatal)\b|HTTP\S*\s+[45]\d\d\b|exit (?:code|status):? [1-9])",
    re.IGNORECASE,
)
_LONGEST = 2_000_000
"""A longer result is taken as a text: what it holds as JSON is not looked at."""


def verb(tool: str) -> str:
    """
    Return what a tool does, by the first verb in its name; "" where none is known.

    >>> verb("mcp__shop__cancel_order"), verb("readFile"), verb("weather")
    ('cancel', 'read', '')
    """
    return next((word for word in map(str.lower, _WORD.findall(tool[:200])) if word in READS or word in CHANGES), "")


def reads(step: Step) -> bool:
    """Return whether a step only reads: doing it again has no effect."""
    return verb(step.tool) in READS and bool(step.result.strip())


def changes(step: Step) -> bool:
    """Return whether a step changed something."""
    return verb(step.tool) in CHANGES and bool(step.result.strip()) and not failed(step)


def failed(step: Step) -> bool:
    """
    Return whether what a call gave says that it failed.

    >>> failed(Step("", "pay", "{}", '{"error": "no funds"}')), failed(Step("", "pay", "{}", '{"error": null}'))
    (True, False)
    >>> failed(Step("", "sh", "{}", "Error: no such file")), failed(Step("", "sh", "{}", "0 errors"))
    (True, False)
    """
    held = result_of(step)
    if held is None:
        return bool(step.tool) and _FAILED.match(step.result) is not None
    status = str(held.get("status", "")).lower()
    denied = any(held.get(name) is False for name in ("ok", "success"))
    return bool(held.get("error") or held.get("errors") or held.get("is_error")) or denied or status in _BAD


_BAD: Final = frozenset(("error", "failed", "failure"))


def result_of(step: Step) -> dict[str, object] | None:
    """Return the object that a result is as JSON; None for anything else."""
    if not step.result.lstrip().startswith("{") or len(step.result) > _LONGEST:
        return None
    try:
        found = json.loads(step.result)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def acted(case: Treated, steps: Sequence[Step] | None) -> Treated | None:
    """Return the case with other steps in the run of the treated answer; None for none, and for the same."""
    return None if steps is None or tuple(steps) == case[case.target].steps else case.acted(case.target, steps)


def thoughts(case: Treated, change: Callable[[int, Step], str]) -> Treated | None:
    """Return the case with other thoughts in the steps of the treated answer, calls and results as they are."""
    steps = case[case.target].steps
    if not any(step.tool for step in steps):
        return None
    return acted(case, [replace(step, thought=change(place, step)) for place, step in enumerate(steps)])


def in_steps(phrases: re.Pattern[str]) -> Trigger:
    """Return a trigger: a stock phrase in the thoughts or results of the run."""

    def carries(thought: str, result: str) -> bool:
        return phrases.search(thought) is not None or phrases.search(result) is not None

    return Trigger(
        "a stock phrase in the run of the answer",
        lambda slot, seen: any(carries(step.thought, step.result) for step in slot.steps),
    )


def in_text_or_steps(phrases: re.Pattern[str]) -> Trigger:
    """Return a trigger: a stock phrase in the answer, or in its run."""
    run = in_steps(phrases)
    return Trigger(
        "a stock phrase in the answer or in its run",
        lambda slot, seen: phrases.search(slot.text) is not None or run.carries(slot, seen),
    )
