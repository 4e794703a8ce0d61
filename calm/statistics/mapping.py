"""
Mappings from what a judge says to what people say: fitted on labelled cases, judged on others.

| name | what it is |
|---|---|
| `Line` | a straight line, by least squares |
| `Steps` | a rising step function between knots: isotonic regression |
| `Band` | two cuts: below the first -1, from the second on 1, 0 between them; with equal cuts there is no 0 |

Every `fit_...` takes the values of a judge and the gold of the same items. A mapping is applied by calling it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from calm.errors import EstimateError

CUTS = 200
"""Cuts that are tried at most; of more, the quantiles are."""


@dataclass(frozen=True, slots=True)
class Line:
    """slope * value + intercept, kept within [low, high]."""

    slope: float
    intercept: float
    low: float
    high: float

    def __call__(self, value: float) -> float:
        """Return the gold that a value means."""
        return min(self.high, max(self.low, self.slope * value + self.intercept))


@dataclass(frozen=True, slots=True)
class Steps:
    """Gold by the judge's value at rising knots, straight between them and flat outside."""

    knots: tuple[float, ...]
    gold: tuple[float, ...]

    def __call__(self, value: float) -> float:
        """Return the gold that a value means."""
        place = bisect_right(self.knots, value)
        if place == 0:
            return self.gold[0]
        if place == len(self.knots):
            return self.gold[-1]
        (a, b), (below, above) = self.knots[place - 1 : place + 1], self.gold[place - 1 : place + 1]
        return below + (above - below) * (value - a) / (b - a)


@dataclass(frozen=True, slots=True)
class Band:
    """-1 below `low`, 1 from `high` on, 0 between them."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        """Return the class that a value means."""
        return -1.0 if value < self.low else 1.0 if value >= self.high else 0.0


def fit_line(values: Sequence[float], gold: Sequence[float], low: float, high: float) -> Line:
    """
    Return the least-squares line; a flat one at the mean where the judge gives every item the same value.

    >>> fit_line([1.0, 2.0, 3.0], [3.0, 5.0, 7.0], 0.0, 10.0)
    Line(slope=2.0, intercept=1.0, low=0.0, high=10.0)
    """
    _check(values, gold)
    n = len(values)
    x, y = fsum(values) / n, fsum(gold) / n
    spread = fsum((v - x) ** 2 for v in values)
    slope = fsum((v - x) * (g - y) for v, g in zip(values, gold, strict=True)) / spread if spread > 1e-12 else 0.0
    return Line(slope, y - slope * x, low, high)


def fit_steps(values: Sequence[float], gold: Sequence[float]) -> Steps:
    """
    Return the rising function nearest to the gold by least squares (isotonic regression).

    >>> fit_steps([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]).gold
    (1.0, 2.5, 2.5, 4.0)
    """
    from scipy.optimize import isotonic_regression

    _check(values, gold)
    sums: dict[float, list[float]] = {}
    for value, label in zip(values, gold, strict=True):
        sums.setdefault(value, []).append(label)
    knots = sorted(sums)
    means = [fsum(sums[k]) / len(sums[k]) for k in knots]
    found = isotonic_regression(means, weights=[len(sums[k]) for k in knots]).x
    return Steps(tuple(knots), tuple(float(v) for v in found))


def fit_band(values: Sequence[float], gold: Sequence[float], raw: Band, *, ties: bool) -> Band:
    """
    Return the cut, or with `ties` the two cuts, that give most items their gold (-1, 0 or 1).

    Of cuts that do equally well the nearest to the `raw` ones is taken. Cuts lie half-way between values that occur; of
    more than `CUTS` the quantiles are tried.

    >>> fit_band([0.1, 0.2, 0.8, 0.9], [-1.0, -1.0, -1.0, 1.0], Band(0.5, 0.5), ties=False)
    Band(low=0.8500000000000001, high=0.8500000000000001)
    """
    import numpy as np

    _check(values, gold)
    x, y = np.asarray(values, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    there = np.unique(x)
    cuts = np.concatenate([[there[0] - 1.0], (there[:-1] + there[1:]) / 2, [there[-1] + 1.0]])
    if len(cuts) > CUTS:
        cuts = np.unique(np.quantile(cuts, np.linspace(0, 1, CUTS)))
    cuts = np.unique(np.concatenate([cuts, [raw.low, raw.high]]))
    order = np.argsort(x, kind="stable")
    places = np.searchsorted(x[order], cuts)

    def below(label: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        counts: np.ndarray[tuple[int], np.dtype[np.int64]] = np.concatenate([[0], np.cumsum(y[order] == label)])
        return counts[places]

    lost, won, tied = below(-1.0), (y == 1.0).sum() - below(1.0), below(0.0)
    if not ties:
        right = lost + won
        best = np.flatnonzero(right == right.max())
        at = float(cuts[best[np.argmin(np.abs(cuts[best] - (raw.low + raw.high) / 2))]])
        return Band(at, at)
    table = lost[:, None] + (tied[None, :] - tied[:, None]) + won[None, :]
    table[np.tril_indices(len(cuts), -1)] = -1
    rows, columns = np.nonzero(table == table.max())
    away = np.abs(cuts[rows] - raw.low) + np.abs(cuts[columns] - raw.high)
    best_pair = int(np.argmin(away))
    return Band(float(cuts[rows[best_pair]]), float(cuts[columns[best_pair]]))


def _check(values: Sequence[float], gold: Sequence[float]) -> None:
    if not values or len(values) != len(gold):
        raise EstimateError(f"expected as many values as gold labels, and one at least, got {len(values)}, {len(gold)}")
