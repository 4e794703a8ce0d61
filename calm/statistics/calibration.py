"""What labels of people say of a judge: confidence, mappings, selective decisions, prediction-powered means."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum, hypot, log, sqrt
from random import Random
from typing import Any, Final

from calm.errors import EstimateError
from calm.statistics.intervals import clopper_pearson, clustered_t
from calm.statistics.power import uniforms

BINS = 10
"""Bins at most."""
IN_BIN = 10
"""Cases in a bin, on average, at least."""
DRAWS, NUMBERS = 2000, 4_000_000
"""How often chance is drawn, and how many numbers that takes at most."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Cases of similar confidence, from `low` to `high`: how many, their mean confidence, the share that is right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class CalibrationError:
    """
    The expected calibration error (`value`), in [0, 1], of a reliability table.

    `chance` is its mean for a judge whose confidences are exactly right, `p` the probability that such a judge has one
    at least as high. `debiased` is the root of the mean squared gap less what chance adds to it.
    """

    value: float
    chance: float
    p: float
    debiased: float
    bins: tuple[Bin, ...]


def reliability(confidences: Sequence[float], right: Sequence[float]) -> tuple[Bin, ...]:
    """
    Return bins of about equally many cases, the least confident first; equal confidences share a bin.

    At most `BINS` bins, of `IN_BIN` cases or more on average. Confidences and `right` lie in [0, 1]. Smallest n: 1.

    Raises `EstimateError` for no cases, or lists of different lengths.

    >>> [(b.n, b.confidence, b.right) for b in reliability([0.5, 0.5, 1.0, 1.0] * 5, [0.0, 1.0, 1.0, 1.0] * 5)]
    [(10, 0.5, 0.5), (10, 1.0, 1.0)]
    """
    if not confidences or len(confidences) != len(right):
        raise EstimateError(f"expected a confidence for each verdict, got {len(confidences)} and {len(right)}")
    pairs = sorted(zip(confidences, right, strict=True))
    wanted = len(pairs) / max(1, min(BINS, len(pairs) // IN_BIN))
    groups: list[list[tuple[float, float]]] = [[]]
    for place, pair in enumerate(pairs):
        full = place >= round(wanted * len(groups)) and groups[-1]
        if full and pair[0] > groups[-1][-1][0]:
            groups.append([])
        groups[-1].append(pair)
    return tuple(
        Bin(g[0][0], g[-1][0], len(g), fsum(c for c, _ in g) / len(g), fsum(r for _, r in g) / len(g)) for g in groups
    )


def calibration_error(confidences: Sequence[float], right: Sequence[bool], rng: Random) -> CalibrationError:
    """
    Return the expected calibration error over bins of equally many cases, and what chance makes of it.

    The mean over cases of |share right - mean confidence| of the bin. Cases are independent. `rng` draws the verdicts
    of a judge whose confidences are exactly right, `DRAWS` times (fewer for very many cases, and never below 100).
    Smallest n: 2.

    Raises `EstimateError` for fewer cases, lists of different lengths, or confidences outside [0, 1].

    >>> found = calibration_error([0.9] * 100, [True] * 60 + [False] * 40, Random(1))
    >>> round(found.value, 2), found.p < 0.01
    (0.3, True)
    """
    import numpy as np

    from calm.statistics.power import uniforms

    if len(confidences) < 2 or not all(0 <= c <= 1 for c in confidences):
        raise EstimateError("expected at least 2 confidences from 0 to 1")
    bins = reliability(confidences, [float(r) for r in right])
    n = len(confidences)
    value = fsum(b.n * abs(b.right - b.confidence) for b in bins) / n
    squares = fsum(b.n * ((b.right - b.confidence) ** 2 - b.right * (1 - b.right) / (b.n - 1)) for b in bins if b.n > 1)
    ordered = np.sort(np.asarray(confidences, dtype=np.float64))
    starts = np.cumsum([0, *(b.n for b in bins[:-1])])
    draws = max(100, min(DRAWS, NUMBERS // n))
    found = np.empty(draws)
    for place in range(draws):
        gaps = (uniforms(rng, (n,)) < ordered) - ordered
        found[place] = np.abs(np.add.reduceat(gaps, starts)).sum() / n
    p = (1 + int((found >= value - 1e-12).sum())) / (1 + draws)
    return CalibrationError(value, float(found.mean()), p, sqrt(max(0.0, squares / n)), bins)


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


NEAR = 1e-9
"""Confidences that differ by less are equal."""


@dataclass(frozen=True, slots=True)
class Step:
    """
    One threshold: the items whose confidence is at least so high.

    `share` is theirs of all items, `n` counts them, `errors` is the sum of their errors, `clusters` counts the clusters
    in which they come. `effective` is the number of independent items that tell as much: at most `clusters`, and fewer
    where they differ in size. `bound` is the upper bound of their risk at the level of the search.
    """

    threshold: float
    share: float
    n: int
    errors: float
    bound: float
    clusters: int
    effective: float


@dataclass(frozen=True, slots=True)
class Selective:
    """
    The thresholds in the order in which they were tried, and the last one that was proven (None: none was).

    `least` is the effective number of items without any error that proves the smallest share; `passed` is the last
    threshold above which there were fewer, so that it was not tried.
    """

    steps: tuple[Step, ...]
    chosen: Step | None
    least: int
    passed: Step | None = None


def least_without_error(risk: float, level: float) -> int:
    """
    Return how many items without an error prove that at most a share `risk` is wrong: ln(level) / ln(1 - risk).

    >>> least_without_error(0.05, 0.05), least_without_error(0.10, 0.05)
    (59, 29)
    """
    if not (0 < risk < 1 and 0 < level < 1):
        raise EstimateError(f"expected a risk and a level between 0 and 1, got {risk!r} and {level!r}")
    return ceil(log(level) / log(1 - risk) - 1e-12)


def select(
    confidences: Sequence[float],
    wrong: Sequence[float],
    thresholds: Sequence[float],
    *,
    risk: float,
    level: float = 0.05,
    clusters: Sequence[Hashable] | None = None,
) -> Selective:
    """
    Return the largest share of items, the surest first, that is wrong in at most `risk`, with probability 1 - level.

    `wrong` holds the error of each item, in [0, 1], `thresholds` are chosen without looking at it. Thresholds above
    which too few items lie to prove anything are passed over, which also needs no label. For items that are each a
    cluster of their own the bound is that of Clopper & Pearson. Otherwise it is the larger of two. The first is that
    of Clopper & Pearson for clusters, each counted by its errors over the greatest size (a number in [0, 1], never more
    extreme than a yes or no of the same mean), times greatest over mean size. It holds where a few large clusters may
    be wrong and none in the sample is. The second is `clustered_t`, which knows that sizes vary, too.

    The guarantee is exact for single items of which those of less confidence are not rarer wrong than surer ones. Where
    they are, a threshold that was passed over may hide it; simulations stay below the level there, and near it with
    clusters of different size (`tests/statistics/test_selective.py`). No bound knows of large clusters that are so rare
    that the sample holds none.

    Smallest n: `least_without_error(risk, level)` clusters of equal size; with fewer nothing is chosen.

    Raises `EstimateError` for lists of different lengths, no item or no threshold.

    >>> found = select([0.9] * 60 + [0.5] * 40, [0.0] * 60 + [0.5] * 40, [1.0, 0.9, 0.5], risk=0.05)
    >>> found.chosen.threshold, found.chosen.share, round(found.chosen.bound, 4)
    (0.9, 0.6, 0.0487)
    """
    if not confidences or not thresholds or len(confidences) != len(wrong):
        raise EstimateError(
            f"expected a confidence and an error for each item, and a threshold, got {len(confidences)}, "
            f"{len(wrong)} and {len(thresholds)}"
        )
    names: Sequence[Hashable] = range(len(wrong)) if clusters is None else clusters
    least = least_without_error(risk, level)
    items = sorted(zip(confidences, wrong, names, strict=True), key=lambda item: -item[0])
    sums: dict[Hashable, float] = defaultdict(float)
    sizes: Counter[Hashable] = Counter()
    steps: list[Step] = []
    chosen: Step | None = None
    passed: Step | None = None
    place = 0
    for threshold in sorted(set(thresholds), reverse=True):
        added = 0
        while place < len(items) and items[place][0] >= threshold - NEAR:
            sums[items[place][2]] += items[place][1]
            sizes[items[place][2]] += 1
            place, added = place + 1, added + 1
        if not added:
            continue
        step = _step(threshold, place / len(items), sums, sizes, level)
        if step.effective < least - NEAR:
            passed = step
            continue
        steps.append(step)
        if step.bound > risk:
            break
        chosen = step
    return Selective(tuple(steps), chosen, least, passed)


def _step(
    threshold: float, share: float, sums: Mapping[Hashable, float], sizes: Mapping[Hashable, int], level: float
) -> Step:
    """Return a threshold with the bound of the risk of the items above it, given by cluster."""
    counts = list(sizes.values())
    n, errors = sum(counts), fsum(sums.values())
    stretch = len(counts) * max(counts) / n
    least = clopper_pearson(0.0, len(counts), level)[1] * stretch
    effective = log(level) / log(1 - least) if least < 1 else 1.0
    bound = min(1.0, clopper_pearson(min(errors / max(counts), len(counts)), len(counts), level)[1] * stretch)
    if n > len(counts) > 1:
        bound = max(bound, min(1.0, clustered_t([sums[name] for name in sizes], counts, 0.0, 1.0, level)[1]))
    return Step(threshold, share, n, errors, bound, len(counts), effective)


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
