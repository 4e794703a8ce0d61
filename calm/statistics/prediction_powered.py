"""
A mean that few labels and many predictions estimate together: prediction-powered inference.

| name | what it is |
|---|---|
| `Clusters` | the sums and sizes of items that come in independent clusters |
| `prediction_powered_mean` | the mean of labels over all items, with an interval that uses the predictions of all |
| `drawn_alike` | how often chance makes the predictions of labelled and unlabelled items differ as much |

Labels are few and true, predictions many and biased. The labelled items tell by how much the predictions are off, the
unlabelled ones tell the mean of the predictions. Source: PPI++ (Angelopoulos, Duchi & Zrnic 2023, arXiv 2311.01453).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, hypot
from random import Random
from typing import Any, Final

from calm.errors import EstimateError
from calm.statistics.intervals import clustered_t
from calm.statistics.power import uniforms

LOTS: Final = 1999
"""Draws of a permutation test: its p-value is a multiple of 1 / 2,000."""
DEALT: Final = 200
"""So many are made at a time."""
ENOUGH: Final = 20
"""No more are made once so many are as extreme: then the p-value is above 0.01 in any case."""
PLACES: Final = 64
"""Values at which two distributions are compared, where they have more."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """The sum of the values of each cluster, and how many items it has; the unit of every interval is the cluster."""

    sums: tuple[float, ...]
    sizes: tuple[int, ...]

    @classmethod
    def single(cls, values: Sequence[float]) -> Clusters:
        """Return values that are each a cluster of its own."""
        return cls(tuple(values), (1,) * len(values))

    @property
    def mean(self) -> float:
        """The mean over items."""
        return fsum(self.sums) / sum(self.sizes)

    @property
    def residuals(self) -> list[float]:
        """By how much each cluster moves the mean, times their number: the linearised ratio (Cochran 1977, 6.3)."""
        mean, average = self.mean, sum(self.sizes) / len(self.sizes)
        return [(total - mean * size) / average for total, size in zip(self.sums, self.sizes, strict=True)]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its two-sided interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far its ends are apart."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """
    The corrected mean, beside those that labels alone and predictions alone give.

    `power` is the weight of the predictions, lambda in [0, 1]: 0 uses labels alone. `bias` is the mean prediction minus
    the mean label, on the labelled items.
    """

    corrected: Interval
    labelled: Interval
    predicted: Interval
    power: float
    bias: float


def tuned_power(gold: Clusters, predicted: Clusters, unlabelled: Clusters) -> float:
    """
    Return the weight of the predictions that makes the variance least, clipped to [0, 1].

    lambda = Cov(Y, f) / ((1 + n / N) Var(f)), with the variance over labelled and unlabelled items (PPI++, section 6).

    >>> labels = Clusters.single([0.0, 1.0, 0.0, 1.0])
    >>> tuned_power(labels, labels, Clusters.single([0.0, 1.0] * 200)) > 0.9
    True
    """
    y, f, others = gold.residuals, predicted.residuals, unlabelled.residuals
    n, more = len(f), len(others)
    squares = fsum(v * v for v in (*f, *others))
    if n < 2 or squares <= 0:
        return 0.0
    covariance = fsum(a * b for a, b in zip(y, f, strict=True)) / (n - 1)
    variance = squares / (n + more - 2)
    return min(1.0, max(0.0, covariance / ((1 + n / more) * variance)))


def prediction_powered_mean(
    gold: Clusters,
    predicted: Clusters,
    unlabelled: Clusters,
    ends: tuple[float, float],
    *,
    level: float = 0.05,
    power: float | None = None,
) -> PredictionPowered:
    """
    Return the mean of labels, corrected by predictions, with a two-sided interval of confidence 1 - level.

    theta = mean(Y - lambda f) over labelled items + lambda mean(f) over unlabelled ones. Both samples are independent,
    and drawn from the same population: labels must lie on a random sample. Labels and predictions lie within `ends`.

    Each of the two means has the bounds of the padded t, and those of the sum are taken from them (Zou & Donner 2008).
    So an interval stays honest where every label agrees with its prediction: a plain variance would be 0 there, and
    with 30 to 60 labels and few disagreements a normal interval covers in .69 to .94 of the samples, where this one
    covers in .97 or more. The interval of labels alone and that of predictions alone are padded t's, too. `power` sets
    lambda instead of tuning it: 1 is the first form of the method, 0 labels alone.

    Smallest n: 2 labelled and 2 unlabelled clusters.

    Raises `EstimateError` for fewer, for predictions that are not as many as the labels, or for another range.

    >>> labels = Clusters.single([0.0, 1.0] * 30)
    >>> found = prediction_powered_mean(labels, labels, Clusters.single([0.0, 1.0] * 300), (0, 1))
    >>> found.corrected.value, found.corrected.width < found.labelled.width
    (0.5, True)
    """
    if gold.sizes != predicted.sizes:
        raise EstimateError("expected a prediction for each label, in the same clusters")
    if min(len(gold.sums), len(unlabelled.sums)) < 2:
        raise EstimateError(
            f"expected at least 2 labelled and 2 unlabelled clusters, got {len(gold.sums)} and {len(unlabelled.sums)}"
        )
    low, high = ends
    if not low < high:
        raise EstimateError(f"expected a range from low to high, got {low!r} to {high!r}")
    weight = tuned_power(gold, predicted, unlabelled) if power is None else power
    rest = Clusters(
        tuple(y - weight * f for y, f in zip(gold.sums, predicted.sums, strict=True)),
        gold.sizes,
    )
    off = _interval(rest, low - weight * high, high - weight * low, level)
    labelled, naive = _interval(gold, low, high, level), _interval(unlabelled, low, high, level)
    value = off.value + weight * naive.value
    below = hypot(off.value - off.low, weight * (naive.value - naive.low))
    above = hypot(off.high - off.value, weight * (naive.high - naive.value))
    corrected = Interval(value, max(low, value - below), min(high, value + above))
    return PredictionPowered(corrected, labelled, naive, weight, predicted.mean - gold.mean)


def _interval(values: Clusters, low: float, high: float, level: float) -> Interval:
    """Return a mean with its padded t on both sides, within the range."""
    below, above = clustered_t(values.sums, values.sizes, low, high, level / 2)
    return Interval(values.mean, max(low, below), min(high, above))


def drawn_alike(labelled: Sequence[Sequence[float]], unlabelled: Sequence[Sequence[float]], rng: Random) -> float:
    """
    Return the p-value, in (0, 1], of labelled and unlabelled items being drawn alike, by their predictions.

    Each argument holds the predictions of the items of each cluster. The two distributions are compared by the mean
    square of the difference of their distribution functions (Cramér and von Mises; Anderson 1962), and the clusters are
    dealt out anew up to `LOTS` times. If the labelled clusters are a random sample of all, then p <= a with a
    probability of at most a, for every a up to 0.01 and any number and size of clusters (Phipson & Smyth 2010).

    Smallest n: 1 labelled and 1 unlabelled cluster, of 1 item or more each.

    Raises `EstimateError` for fewer.

    >>> drawn_alike([[1.0]] * 30, [[0.0], [1.0]] * 50, Random(0)) < 0.001
    True
    """
    import numpy as np  # it is slow to load

    clusters = [*labelled, *unlabelled]
    if not labelled or not unlabelled or not all(clusters):
        raise EstimateError("expected labelled and unlabelled clusters of one item or more, got an empty one or none")
    values = np.sort(np.concatenate([np.asarray(one, dtype=float) for one in clusters]))
    places = np.unique(values)
    if len(places) > PLACES:
        places = np.unique(values[np.linspace(0, len(values) - 1, PLACES + 1).astype(int)[1:]])
    below = np.array([np.searchsorted(np.sort(one), places, side="right") for one in clusters], dtype=float)
    total = below.sum(axis=0)
    weights = np.diff(total, prepend=0.0) / total[-1]
    mine = np.zeros((1, len(clusters)))
    mine[0, : len(labelled)] = 1.0

    def apart(dealt: Any) -> Any:
        """Return the statistic of each deal: a row holds 1 for each cluster that it labels."""
        part = dealt @ below
        rest = total - part
        return (part / part[:, -1:] - rest / rest[:, -1:]) ** 2 @ weights

    seen = apart(mine)[0] * (1 - 1e-9)
    as_large = drawn = 0
    while drawn < LOTS and as_large < ENOUGH:
        some = min(DEALT, LOTS - drawn)
        first = np.argpartition(uniforms(rng, (some, len(clusters))), len(labelled), axis=1)[:, : len(labelled)]
        dealt = np.zeros((some, len(clusters)))
        np.put_along_axis(dealt, first, 1.0, axis=1)
        as_large += int((apart(dealt) >= seen).sum())
        drawn += some
    return (1 + as_large) / (1 + drawn)
