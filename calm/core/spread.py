"""Spread: how much of its scale a judge uses, as the mean distance of its scores on two cases (Gini's)."""

from __future__ import annotations

from itertools import accumulate
from math import fsum

from calm.core.agreement import Whole, number
from calm.core.reasons import Kind, Reason, because
from calm.core.trials import Trial, Trials
from calm.core.verdict import Scale


def spread_of(trials: Trials) -> Whole | Reason:
    """
    Return the mean distance of two cases' scores, in [0, 1] as a share of the scale, with each row's influence.

    It is 0 for a judge that gives all cases the same score, 1/3 for scores that are spread evenly over the scale, and
    at most about 1/2. A row's score is the mean of its clean asks.
    """
    places = [_place(row, trials.scale) for row in trials.rows]
    known = sorted(place for place in places if place is not None)
    n = len(known)
    if n < 2:
        return because(Kind.TOO_FEW_CASES, n)
    sums = list(accumulate(known, initial=0.0))
    # the mean distance to the others: those below it and those above it in order
    mean = {x: (x * (2 * i - n) - 2 * sums[i] + sums[n]) / (n - 1) for i, x in enumerate(known)}
    value = fsum(mean[x] for x in known) / n
    cells = tuple(because(Kind.UNREAD_ARM) if x is None else value + 2 * (mean[x] - value) for x in places)
    return Whole(value, cells, -1.0, 2.0)


def _place(row: Trial, scale: Scale) -> float | None:
    places = [place for verdict in row.clean if (place := number(verdict, row, scale)) is not None]
    return fsum(places) / len(places) if places else None
