"""How far each two judges agree, as a table."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from operator import eq
from typing import Final

from calm.errors import EstimateError
from calm.models.wire import Json
from calm.selfpreference.report.rows import Part
from calm.statistics.agreement import cohen_kappa, icc

MANY: Final = 6
"""More judges than this have too many pairs for a terminal."""
LEAST: Final = 3
"""So many pairs are shown there then: those that agree least."""


def judge_pairs(
    ratings: Sequence[Sequence[Hashable | None]], judges: Sequence[str], *, numeric: bool = False
) -> tuple[Part, ...]:
    """
    Return the table `judge_pairs`: a row for each two judges, those first that agree least; nothing for one judge.

    Args:
        ratings: a row for each answer, pair or criterion, a place for each judge; None is no verdict.
        judges: their names.
        numeric: whether the ratings are scores: agreement is then ICC(2,1) and Pearson's r, else Cohen's kappa.
    """
    columns = list(zip(*ratings, strict=True))
    rows: list[tuple[float, dict[str, Json]]] = []
    for (a, first), (b, second) in combinations(enumerate(judges), 2):
        both = [(x, y) for x, y in zip(columns[a], columns[b], strict=True) if x is not None and y is not None]
        figures: dict[str, Json] = {"n": len(both)}
        left, right = [x for x, _ in both], [y for _, y in both]
        figures["raw"] = sum(map(eq, left, right)) / len(both) if both else None
        told = _of_scores(left, right) if numeric else {"kappa": _kappa(left, right)}
        by = told["icc" if numeric else "kappa"]
        lowest = by if by is not None else figures["raw"]
        order = lowest if isinstance(lowest, float) else 2.0
        rows.append((order, {"judge": first, "other_judge": second, **figures, **told}))
    if not rows:
        return ()
    rows.sort(key=lambda row: row[0])
    few = LEAST if len(judges) > MANY else 0
    return (Part("judge_pairs", tuple(row for _, row in rows), few=few),)


def _kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    try:
        return cohen_kappa(first, second, categories=list(dict.fromkeys((*first, *second))))
    except EstimateError:
        return None


def _of_scores(first: Sequence[Hashable], second: Sequence[Hashable]) -> Mapping[str, float | None]:
    """Return ICC(2,1) and Pearson's r; None where the scores do not vary."""
    one, other = ([float(str(value)) for value in side] for side in (first, second))
    found: dict[str, float | None] = {"icc": None, "r": None}
    with suppress(EstimateError):
        found["icc"] = icc(list(zip(one, other, strict=True)))
    if len(one) > 1 and len(set(one)) > 1 and len(set(other)) > 1:
        found["r"] = statistics.correlation(one, other)
    return found
