"""The worth of a run by the log of its agent, and its place on the scale of a judge."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from calm.cases.foreign.records import shown
from calm.core.verdict import Scale

TRUTHS: Final = ("success", "succeeded", "is_success", "passed", "resolved", "solved", "correct", "is_correct")
NUMBERS: Final = ("score", "reward", "rating", "grade")
LABELS: Final = ("label", "outcome", "verdict", "status")
_WITHIN: Final = ("metadata", "info", "evaluation", "eval", "annotations")
_WORDS: Final = {
    **dict.fromkeys(("success", "succeeded", "successful", "pass", "passed", "correct", "resolved", "solved"), True),
    **dict.fromkeys(("good", "yes", "true", "1"), True),
    **dict.fromkeys(("failure", "failed", "fail", "unsuccessful", "incorrect", "wrong", "unresolved", "error"), False),
    **dict.fromkeys(("bad", "no", "false", "0"), False),
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


def gold_of(
    worths: Sequence[Worth | None], on: Scale, words: Mapping[str, float]
) -> tuple[list[float | None], list[str]]:
    """
    Return the gold of each run on the scale, and notes about how it was taken.

    A 1 or a 0 under a name such as `resolved` is a truth value, unless the log counts there: another number above 1.

    >>> gold_of([Worth(1, truth=True), Worth(0, truth=True), Worth(8)], Scale(1, 10), {})[0]
    [10, 1, 8.0]
    """
    counts = any(one is not None and one.truth and _is_number(one.value) and not 0 <= one.value <= 1 for one in worths)
    said = [
        None if one is None else bool(one.value) if one.truth and not counts and one.value in (0, 1) else one.value
        for one in worths
    ]
    numbers = [one for one in said if _is_number(one)]
    shares = bool(numbers) and all(0 <= number <= 1 for number in numbers) and (on.low, on.high) != (0, 1)
    notes: list[str] = []
    if shares:
        notes.append(f"scores from 0 to 1 are taken as shares of the scale from {on.low:g} to {on.high:g}")
    unknown = Counter(
        one for one in said if isinstance(one, str) and one not in words and one.strip().lower() not in _WORDS
    )
    if unknown:
        some = ", ".join(shown(word) for word, _ in unknown.most_common(3))
        notes.append(f"{unknown.total()} labels are no gold yet: say what each means: --value WORD=NUMBER ({some})")
    beyond = [number for number in numbers if not on.low <= number <= on.high]
    if beyond and not shares:
        notes.append(
            f"{len(beyond)} scores lie outside {on.low:g}..{on.high:g}, such as {beyond[0]:g}: say their scale with "
            "--scale LOW..HIGH, and give the judge the same"
        )
    return [_on(one, on, words, shares=shares) for one in said], notes


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _on(said: object, on: Scale, words: Mapping[str, float], *, shares: bool) -> float | None:
    if isinstance(said, str):
        if said in words:
            return words[said]
        said = _WORDS.get(said.strip().lower())
    if isinstance(said, bool):
        return on.high if said == (on.best == "high") else on.low
    if isinstance(said, int | float):
        return on.low + said * (on.high - on.low) if shares else float(said)
    return None
