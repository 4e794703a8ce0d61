"""The verdict that a value means, where a callable is used as a judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import cast

from calm.core.case import TIE, Case
from calm.core.verdict import (
    Criteria,
    Family,
    Label,
    NoReply,
    Preferred,
    Ranking,
    Refused,
    Scale,
    Score,
    Tie,
    Unreadable,
    Verdict,
)
from calm.errors import nearest

EXPECTED: Mapping[Family, str] = {
    "pairwise": "an answer's id or 'tie'",
    "score": "a number",
    "rubric": "a mapping of criterion ids to true or false",
    "listwise": "a list of answer ids from best to worst",
    "label": "one of the classes",
}
"""What a callable of each kind returns, beside a verdict or None."""


def verdict_of(value: object, case: Case, family: Family, scale: Scale) -> Verdict:
    """
    Return the verdict that a value means.

    Raises:
        ValueError: it means none; the message says why.
    """
    if value is None:
        return Unreadable("the callable returned None")
    match value:
        case Unreadable() | Refused() | NoReply():
            return value
        case Preferred(answer=answer) if family == "pairwise":
            _expect_ids([answer], [a.id for a in case.answers], EXPECTED[family])
            return value
        case Tie() if family == "pairwise":
            return value
        case str() if family == "pairwise":
            _expect_ids([value], [*(a.id for a in case.answers), TIE], EXPECTED[family])
            return Tie() if value == TIE else Preferred(str(value))
        case Score(value=number) if family == "score":
            return replace(value, value=_on_scale(number, scale))
        case Real() if family == "score" and not isinstance(value, bool):
            number = _on_scale(value, scale)
            return Score(scale.upright(number))
        case Criteria(met=met) if family == "rubric":
            return replace(value, met=_truths(met, case))
        case Mapping() if family == "rubric":
            return Criteria(_truths(value, case))
        case Ranking(order=order) if family == "listwise":
            return Ranking(_ranks(order, case))
        case list() | tuple() if family == "listwise":
            return Ranking(_ranks(value, case))
        case Label(value=said, probabilities=law) if family == "label":
            known = None if law is None else {_class(name, scale): p for name, p in law.items()}
            return Label(_class(said, scale), known)
        case str() if family == "label":
            return Label(_class(value, scale))
    raise ValueError(f"expected {EXPECTED[family]}, got {brief(value)}; return that, or a verdict of calm")


def _class(value: str, scale: Scale) -> str:
    """Return the class that a text names, whatever its case and punctuation."""
    classes = scale.classes
    found = None if classes is None else classes.named(value)
    if found is None:
        names = () if classes is None else classes.names
        raise ValueError(f"expected one of the classes ({', '.join(names)}), got {value[:80]!r}{nearest(value, names)}")
    return found


def brief(value: object) -> str:
    """Return a value in a few words, for a message."""
    if value is None:
        return "None"
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:80] + '...'} of type {type(value).__name__}"


def _expect_ids(given: Sequence[object], known: Sequence[str], expected: str) -> None:
    for one in given:
        if one not in known:
            raise ValueError(f"expected {expected}, got {one!r}{nearest(str(one), known)}")


def _on_scale(value: Real | float, scale: Scale) -> float:
    if not finite(value) or not scale.holds(float(value)):
        step = "" if scale.step is None else f" in steps of {scale.step:g}"
        raise ValueError(
            f"expected a number from {scale.low:g} to {scale.high:g}{step}, got {brief(value)}; set `scale`"
        )
    return float(value)


def _truths(met: Mapping[object, object] | Mapping[str, bool | None], case: Case) -> dict[str, bool | None]:
    known = [c.id for c in case.criteria]
    _expect_ids(list(met), known, "a criterion's id")
    if missing := [c for c in known if c not in met]:
        raise ValueError(
            f"expected a truth for each criterion, got none for {missing[0]!r}; return None for one unread"
        )
    truths = {c: met[c] for c in known}
    for criterion, truth in truths.items():
        if truth is not None and not isinstance(truth, bool):
            raise ValueError(f"expected true, false or None for criterion {criterion!r}, got {brief(truth)}")
    return cast("dict[str, bool | None]", truths)


def _ranks(order: Sequence[object], case: Case) -> tuple[tuple[str, ...], ...]:
    groups = [tuple(group) if isinstance(group, list | tuple) else (group,) for group in order]
    ids = [one for group in groups for one in group]
    known = [a.id for a in case.answers]
    _expect_ids(ids, known, "an answer's id")
    if len(ids) != len(known) or len(set(ids)) != len(known):
        raise ValueError(f"expected each answer's id once ({', '.join(known)}), got {brief(order)}")
    return tuple(tuple(str(one) for one in group) for group in groups if group)


def finite(value: object) -> bool:
    """Return whether a value is a finite number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
