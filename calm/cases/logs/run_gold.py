"""The worth of a run by the log of its agent, and its place on the scale of a judge."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from calm.cases.foreign.columns import is_number
from calm.cases.foreign.records import shown
from calm.cases.messages import dig, string
from calm.core.verdict import Scale

TRUTHS: Final = ("success", "succeeded", "is_success", "passed", "resolved", "solved", "correct", "is_correct")
NUMBERS: Final = ("score", "reward", "rating", "grade")
LABELS: Final = ("label", "outcome", "verdict", "status")
_WITHIN: Final = ("metadata", "info", "evaluation", "eval", "annotations")
_ENDINGS: Final = ("stop_reason", "finish_reason", "termination_reason", "exit_status", "reason", "status")
_ERRORS: Final = ("error", "exception", "error_message")
_ENDED: Final = {
    "a filter": frozenset(("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocked")),
    "a limit": frozenset(
        (
            *("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "timeout"),
            *("max_turns", "max_steps", "max_iterations", "step_limit", "exit_cost", "exit_context"),
        )
    ),
}
"""How the end of a run is called that the agent did not choose."""
_WORDS: Final = {
    **dict.fromkeys(("success", "succeeded", "successful", "pass", "passed", "correct", "resolved", "solved"), True),
    **dict.fromkeys(("good", "yes", "true"), True),
    **dict.fromkeys(("failure", "failed", "fail", "unsuccessful", "incorrect", "wrong", "unresolved", "error"), False),
    **dict.fromkeys(("bad", "no", "false"), False),
}


@dataclass(frozen=True, slots=True)
class Worth:
    """What a record says of its run: a finite number, a truth value or a word; `truth` where its name asks for one."""

    value: bool | float | str
    truth: bool = False


def worth_of(row: Mapping[str, object]) -> Worth | None:
    """Return what a record says of its run; None where it says nothing."""
    places = [row, *(row[key] for key in _WITHIN if isinstance(row.get(key), Mapping))]
    for keys in (NUMBERS, TRUTHS, LABELS):
        for place in places:
            for key in keys:
                value = place.get(key) if isinstance(place, Mapping) else None
                if isinstance(value, bool) or (isinstance(value, str) and value):
                    return Worth(value, keys is TRUTHS)
                if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
                    return Worth(float(value), keys is TRUTHS)
    return None


def ended_by(row: Mapping[str, object]) -> str | None:
    """
    Return what a record says of the end of its run, where it is not the agent that ended it; None for nothing.

    >>> ended_by({"choices": [{"finish_reason": "length"}]})
    'its log says that a limit ended the run (length)'
    """
    last = [dig(row, key, -1) for key in ("messages", "choices")]
    inner = [row.get(key) for key in ("response", "incomplete_details", *_WITHIN)]
    within = [dig(row, "response", *steps) for steps in (("choices", -1), ("incomplete_details",))]
    for place in (row, *last, *inner, *within):
        for key in _ENDINGS:
            word = string(place, key).strip().lower()
            for what, words in _ENDED.items():
                if word in words:
                    return f"its log says that {what} ended the run ({word})"
    failed = any(row.get(key) or dig(row, "response", key) for key in _ERRORS) or string(row, "status") == "error"
    return "its log says that the run failed with an error" if failed else None


def gold_of(
    worths: Sequence[Worth | None], scale: Scale | None, words: Mapping[str, float | None]
) -> tuple[list[float | None], list[str]]:
    """
    Return the gold of each run on the scale (None: from 1 to 10), and notes about how it was taken.

    A 1 or a 0 under a name such as `resolved` is a truth value, unless the log counts there: another number above 1.
    Scores that are all 1 are none where no scale is given: the best of 0 to 1, or the worst of 1 to 10.

    >>> gold_of([Worth(1, truth=True), Worth(0, truth=True), Worth(8)], Scale(1, 10), {})[0]
    [10, 1, 8.0]
    """
    on = scale or Scale()
    spelled = [None if one is None else replace(one, value=_spelled(one.value, words)) for one in worths]
    counts = any(one is not None and one.truth and _is_number(one.value) and not 0 <= one.value <= 1 for one in spelled)
    said = [
        None if one is None else bool(one.value) if one.truth and not counts and one.value in (0, 1) else one.value
        for one in spelled
    ]
    numbers = [one for one in said if _is_number(one)]
    ones = bool(numbers) and set(numbers) == {1} and (on.low, on.high) != (0, 1)
    shares = bool(numbers) and all(0 <= number <= 1 for number in numbers) and (on.low, on.high) != (0, 1) and not ones
    notes: list[str] = []
    if shares:
        notes.append(f"scores from 0 to 1 are taken as shares of the scale from {on.low:g} to {on.high:g}")
    if ones and scale is None:
        notes.append(
            f"{len(numbers)} scores are no gold yet: all are 1, the best of 0 to 1 or the worst of 1 to 10; say the "
            "scale with --scale LOW..HIGH"
        )
        said = [None if _is_number(one) else one for one in said]
    if none := Counter(one for one in said if isinstance(one, str) and one in words and words[one] is None):
        notes.append(f"no verdict, so no gold: {', '.join(f'{shown(word)} ({count})' for word, count in none.items())}")
    unknown = Counter(
        one for one in said if isinstance(one, str) and one not in words and one.strip().lower() not in _WORDS
    )
    if unknown:
        some = ", ".join(shown(word) for word, _ in unknown.most_common(3))
        notes.append(
            f"{unknown.total()} labels are no gold yet: say what each means: --value WORD=NUMBER, or WORD=none if it "
            f"is no verdict ({some})"
        )
    beyond = [number for number in numbers if not on.low <= number <= on.high]
    if beyond and not shares:
        notes.append(
            f"{len(beyond)} scores lie outside {on.low:g}..{on.high:g}, such as {beyond[0]:g}: say their scale with "
            "--scale LOW..HIGH, and give the judge the same"
        )
    return [_on(one, on, words, shares=shares) for one in said], notes


def _spelled(value: bool | float | str, words: Mapping[str, float | None]) -> bool | float | str:
    """Return the number that a text spells, unless a user explained it; else the value as it is."""
    plain = isinstance(value, str) and value not in words and is_number(value)
    return float(value) if plain else value


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _on(said: object, on: Scale, words: Mapping[str, float | None], *, shares: bool) -> float | None:
    if isinstance(said, str):
        if said in words:
            return words[said]
        said = _WORDS.get(said.strip().lower())
    if isinstance(said, bool):
        return on.high if said == (on.best == "high") else on.low
    if isinstance(said, int | float):
        return on.low + said * (on.high - on.low) if shares else float(said)
    return None
