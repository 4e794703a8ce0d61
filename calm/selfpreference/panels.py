"""
Several judges as a panel: how far they agree, and whether the ranking of generators depends on one of them.

| figure | what it is |
|---|---|
| `agreements` | raw agreement, Fleiss' kappa, Krippendorff's alpha and Gwet's AC1 of their verdicts |
| `stability` | the ranking by the mean of all judges against the ranking without each of them (Kendall's tau-b) |

Judges that share a bias agree, so agreement is no proof of truth.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from calm.errors import EstimateError
from calm.selfpreference.contrasts import Floats
from calm.statistics import agreement


@dataclass(frozen=True, slots=True)
class LeftOut:
    """
    The ranking of generators without one judge.

    `tau` compares it with the ranking of all, 1 where nothing changed and None where a ranking has only ties; `best` is
    its first generator.
    """

    judge: str
    tau: float | None
    best: str


def agreements(ratings: Sequence[Sequence[Hashable | None]], *, numeric: bool = False) -> dict[str, float | None]:
    """
    Return the agreement coefficients of a table of ratings, a row for each item, a place for each judge.

    A missing rating is None. Coefficients are for categories, except that `numeric` ratings have only an alpha for
    intervals. A coefficient that does not exist (one category throughout, a missing rating) is None.

    >>> agreements([[1, 1], [0, 0], [1, 0], [1, 1]])["raw"]
    0.75
    """
    kinds: Mapping[str, Callable[[], float]] = {
        "raw": lambda: agreement.raw_agreement(ratings),
        "kappa": lambda: agreement.fleiss_kappa(ratings),
        "alpha": lambda: agreement.krippendorff_alpha(ratings),
        "ac1": lambda: agreement.gwet_ac1(ratings),
    }
    if numeric:
        kinds = {"alpha": lambda: agreement.krippendorff_alpha(ratings, scale="interval")}
    return {name: _or_none(make) for name, make in kinds.items()}


def _or_none(make: Callable[[], float]) -> float | None:
    try:
        return make()
    except EstimateError:
        return None


def stability(scores: Floats, judges: Sequence[str], generators: Sequence[str]) -> tuple[LeftOut, ...]:
    """
    Return how leaving out each judge changes the ranking of generators by mean score.

    Args:
        scores: shape [judges, generators]; NaN, for no score, is left out of the mean.
        judges: their names; at least two, else nothing is returned.
        generators: their names.

    >>> found = stability(np.array([[3.0, 1.0, 2.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]), "abc", "xyz")
    >>> [(one.judge, one.best) for one in found]
    [('a', 'y'), ('b', 'x'), ('c', 'x')]
    """
    if len(judges) < 2:
        return ()
    whole = _means(scores)
    found = []
    for place, judge in enumerate(judges):
        rest = _means(np.delete(scores, place, axis=0))
        known = ~(np.isnan(whole) | np.isnan(rest))
        best = generators[int(np.nanargmax(rest))] if known.any() else ""
        found.append(LeftOut(judge, tau_b(whole[known].tolist(), rest[known].tolist()), best))
    return tuple(found)


def tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """
    Return Kendall's tau-b of two lists of numbers, in [-1, 1]; None for fewer than two, or where a list is all ties.

    >>> tau_b([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    """
    a, b = (np.sign(np.subtract.outer(x, x)) for x in (np.asarray(first, float), np.asarray(second, float)))
    untied = float((a != 0).sum()) * float((b != 0).sum())
    return None if untied == 0 else float((a * b).sum()) / sqrt(untied)


def _means(scores: Floats) -> Floats:
    known = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, scores, 0.0).sum(axis=0) / known.sum(axis=0), dtype=np.float64)
