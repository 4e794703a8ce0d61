"""
Confidence bounds for means, rates and differences of rates.

| function | what it gives |
|---|---|
| `padded_t` | one-sided lower and upper bound for a mean of bounded item values: the interval of the gate |
| `pad` | the number of pseudo-items that the padded t adds |
| `smallest_n` | the number of items below which a limit cannot be proven |
| `clopper_pearson` | exact bounds for a rate |
| `wilson` | score bounds for a rate, for display |
| `cluster_bootstrap` | percentile bounds for a mean of item values, by resampling items |
| `bca_bootstrap` | the same, corrected for bias and skewness |
| `newcombe` | bounds for a difference of two independent rates |
| `tango` | score bounds for a difference of two paired rates |
| `newcombe_paired` | closed-form bounds for the same |

Every function returns the pair (lower, upper). `level` is the error probability of each bound taken alone
(`sides=1`, how a gate uses it) or of the two together (`sides=2`, an interval of confidence 1 - level). The unit is the
item: repeats of an item belong into its value and are never counted as items of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, fsum, isfinite, log, sqrt
from random import Random
from statistics import NormalDist
from typing import Literal

from calm.errors import EstimateError
from calm.statistics.beta import betaincinv, student_quantile

Sides = Literal[1, 2]
"""Whether `level` is spent on each bound (1) or on both together (2)."""


def pad(level: float) -> float:
    """
    Return the number of pseudo-items w that make the padded t equal the exact binomial bound when nothing varies.

    w = ((sqrt(z^2 + 4 ln(1/level)) - z) / 2)^2 with z the normal quantile of 1 - level; `level` is one-sided, in
    (0, 0.5).

    >>> round(pad(0.05), 3), round(pad(0.025), 2)
    (1.197, 1.38)
    """
    if not 0 < level < 0.5:
        raise EstimateError(f"expected a one-sided level between 0 and 0.5, got level={level!r}")
    z = NormalDist().inv_cdf(1 - level)
    return ((sqrt(z * z + 4 * log(1 / level)) - z) / 2) ** 2


def padded_t(values: Sequence[float], low: float, high: float, level: float) -> tuple[float, float]:
    """
    Return a lower and an upper confidence bound for the mean of item values that lie in [low, high].

    Each bound alone holds with probability 1 - level. `pad(level)` pseudo-items are placed at the end of the range
    towards which the bound looks, then Student's t is used; so the interval has a width even where no item varies, and
    its coverage is at least nominal from 30 items on for the skewed, lattice-valued means of a gate. Items are
    independent of each other; repeats of an item belong into its value. Smallest n: 2.

    Raises `EstimateError` for fewer than two values or values outside the range.

    >>> lower, upper = padded_t([0.0] * 200, -0.5, 1.0, 0.05)
    >>> round(upper, 4)
    0.0149
    """
    n = len(values)
    if n < 2:
        raise EstimateError(f"expected at least 2 items, got n={n}")
    if not all(low - 1e-9 <= v <= high + 1e-9 for v in values):  # in this form NaN is outside, too
        raise EstimateError(f"expected values in [{low}, {high}], got {min(values)} to {max(values)}")
    total, squares = fsum(values), fsum(v * v for v in values)
    weight = pad(level)
    t = student_quantile(n - 1, 1 - level)

    def bound(end: float, sign: int) -> float:
        size = n + weight
        mean = (total + weight * end) / size
        variance = max(0.0, (squares + weight * end * end) / size - mean * mean)
        return mean + sign * t * sqrt(variance / (size - 1))

    return bound(low, -1), bound(high, 1)


def smallest_n(room: float, level: float) -> int:
    """
    Return the smallest number of items with which a mean at the best end of its range can be proven.

    `room` is the distance from that end to the limit, as a share of the range of the item values above it.

    >>> smallest_n(0.05, 0.05), smallest_n(0.05, 0.03), smallest_n(0.10, 0.03)
    (60, 71, 36)
    """
    if room <= 0:
        raise EstimateError(f"expected a limit below the best value, got room={room!r}")
    return max(2, ceil(log(1 / level) / room))


def clopper_pearson(successes: float, n: float, level: float, *, sides: Sides = 1) -> tuple[float, float]:
    """
    Return exact bounds for a rate, in [0, 1].

    Quantiles of Beta distributions (Clopper & Pearson 1934); coverage is never below nominal. The counts may be real
    numbers, for an effective sample size (Korn & Graubard 1998). Items are independent. Smallest n: above 0.

    Raises `EstimateError` for n = 0 or successes outside 0 to n.

    >>> [round(bound, 4) for bound in clopper_pearson(59, 59, 0.05)]  # lower: 0.05 ** (1 / 59)
    [0.9505, 1.0]
    >>> [round(bound, 4) for bound in clopper_pearson(10, 100, 0.05, sides=2)]
    [0.049, 0.1762]
    """
    _check_counts(successes, n)
    tail = _one_sided(level, sides)
    low = 0.0 if successes <= 0 else betaincinv(successes, n - successes + 1, tail)
    high = 1.0 if successes >= n else betaincinv(successes + 1, n - successes, 1 - tail)
    return low, high


def wilson(successes: float, n: float, level: float, *, sides: Sides = 1) -> tuple[float, float]:
    """
    Return score bounds for a rate, in [0, 1].

    The set of rates that the score test does not reject (Wilson 1927). Coverage is near nominal on average but dips
    below it (Brown, Cai & DasGupta 2001), so it is for display; a gate uses `clopper_pearson`. Items are independent.
    Smallest n: above 0.

    Raises `EstimateError` for n = 0 or successes outside 0 to n.

    >>> [round(bound, 4) for bound in wilson(10, 100, 0.05, sides=2)]
    [0.0552, 0.1744]
    """
    _check_counts(successes, n)
    z = _normal_quantile(_one_sided(level, sides))
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes <= 0 else max(0.0, centre - half)
    high = 1.0 if successes >= n else min(1.0, centre + half)
    return low, high


def cluster_bootstrap(
    values: Sequence[float],
    rng: Random,
    *,
    draws: int = 2000,
    level: float = 0.05,
    sides: Sides = 1,
    low: float = 0.0,
    high: float = 1.0,
) -> tuple[float, float]:
    """
    Return percentile bounds for the mean of item values that lie in [low, high].

    Whole items are drawn with replacement, so what an item's own repeats share needs no model (Efron 1979; Davison &
    Hinkley 1997, section 3.8). Where all items are equal a bootstrap has no width: the bounds are then those of
    `clopper_pearson` for the common value, as a place in [low, high], of n items. Items are independent; 50 or more are
    needed for coverage near nominal. Smallest n: 2.

    Raises `EstimateError` for fewer than two items, values outside the range, or fewer than 100 draws.

    >>> values = [0.0, 1.0] * 50
    >>> lower, upper = cluster_bootstrap(values, Random(1))
    >>> round(lower, 2), round(upper, 2)
    (0.41, 0.59)
    >>> round(cluster_bootstrap([1.0] * 59, Random(1))[0], 4)
    0.9505
    """
    _check_items(values, low, high, draws)
    tail = _one_sided(level, sides)
    if min(values) == max(values):
        return _bounds_of_equal_items(values, tail, low, high)
    means = _resampled_means(values, rng, draws)
    return _quantile(means, tail), _quantile(means, 1 - tail)


def bca_bootstrap(
    values: Sequence[float],
    rng: Random,
    *,
    draws: int = 2000,
    level: float = 0.05,
    sides: Sides = 1,
    low: float = 0.0,
    high: float = 1.0,
) -> tuple[float, float]:
    """
    Return bias-corrected and accelerated bootstrap bounds for the mean of item values that lie in [low, high].

    As `cluster_bootstrap`, with the percentiles moved for bias and skewness (Efron 1987; the acceleration from the
    jackknife). Where all items are equal, where the method has no value at all, the bounds are those of
    `clopper_pearson` for the common value, as a place in [low, high], of n items. Items are independent; 50 or more are
    needed for coverage near nominal. Smallest n: 2.

    Raises `EstimateError` for fewer than two items, values outside the range, or fewer than 100 draws.

    >>> lower, upper = bca_bootstrap([0.0] * 5 + [1.0] * 95, Random(1), draws=4000)
    >>> round(lower, 2), round(upper, 2)
    (0.9, 0.98)
    >>> round(bca_bootstrap([1.0] * 59, Random(1))[0], 4)
    0.9505
    """
    _check_items(values, low, high, draws)
    tail = _one_sided(level, sides)
    if min(values) == max(values):
        return _bounds_of_equal_items(values, tail, low, high)
    n = len(values)
    mean = fsum(values) / n
    deviations = [v - mean for v in values]
    acceleration = fsum(d**3 for d in deviations) / (6 * fsum(d * d for d in deviations) ** 1.5)
    means = _resampled_means(values, rng, draws)
    below = sum((m < mean) + (m <= mean) for m in means) / (2 * draws)
    bias = _normal_quantile(1 - min(max(below, 1 / (2 * draws)), 1 - 1 / (2 * draws)))

    def moved(probability: float) -> float:
        z = bias - _normal_quantile(probability)
        return NormalDist().cdf(bias + z / (1 - acceleration * z))

    return _quantile(means, moved(tail)), _quantile(means, moved(1 - tail))


def newcombe(
    successes1: float, n1: float, successes2: float, n2: float, level: float, *, sides: Sides = 1
) -> tuple[float, float]:
    """
    Return bounds for the difference of two rates of independent groups, first minus second, in [-1, 1].

    Wilson's bounds of both, squared and added (Newcombe 1998a, method 10 of that paper). The groups are independent of
    each other and the items within a group too; for two rates of the same items use `tango`. Smallest n: above 0 each.

    Raises `EstimateError` for an empty group or successes outside 0 to n.

    >>> [round(bound, 4) for bound in newcombe(56, 70, 48, 80, 0.05, sides=2)]  # 0.0524 to 0.3339 in the paper
    [0.0524, 0.3339]
    """
    low1, high1 = wilson(successes1, n1, level, sides=sides)
    low2, high2 = wilson(successes2, n2, level, sides=sides)
    p1, p2 = successes1 / n1, successes2 / n2
    below, above = sqrt((p1 - low1) ** 2 + (high2 - p2) ** 2), sqrt((high1 - p1) ** 2 + (p2 - low2) ** 2)
    return p1 - p2 - below, p1 - p2 + above


def tango(first_only: float, second_only: float, n: float, level: float, *, sides: Sides = 1) -> tuple[float, float]:
    """
    Return score bounds for the difference of two rates of the same n items, first minus second, in [-1, 1].

    `first_only` and `second_only` are the discordant counts: items that succeed only the first or only the second time.
    The set of differences that the score test does not reject, with the maximum-likelihood rate under each (Tango 1998,
    Statistics in Medicine 17:891). Type-I error at a margin is at most nominal from n = 100 on, where Wald's reaches
    .09. Items are independent of each other. Smallest n: above 0.

    Raises `EstimateError` for n = 0, a negative count or more discordant items than n.

    >>> [round(bound, 4) for bound in tango(40, 20, 160, 0.05, sides=2)]
    [0.0309, 0.2181]
    """
    _check_discordant(first_only, second_only, n)
    z = _normal_quantile(_one_sided(level, sides))
    estimate = (first_only - second_only) / n

    def statistic(delta: float) -> float:
        a, b = 2 * n, -first_only - second_only + (2 * n - first_only + second_only) * delta
        c = -second_only * delta * (1 - delta)
        rate = (sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
        variance = n * (2 * rate + delta * (1 - delta))
        distance = first_only - second_only - n * delta
        return distance / sqrt(variance) if variance > 0 else (0.0 if distance == 0 else distance * float("inf"))

    low = -1.0 if estimate <= -1 else _root(lambda delta: statistic(delta) - z, -1.0, estimate)
    high = 1.0 if estimate >= 1 else _root(lambda delta: statistic(delta) + z, estimate, 1.0)
    return low, high


def newcombe_paired(
    both: float, first_only: float, second_only: float, neither: float, level: float, *, sides: Sides = 1
) -> tuple[float, float]:
    """
    Return closed-form bounds for the difference of two rates of the same items, first minus second, in [-1, 1].

    Wilson's bounds of both rates, joined with their correlation, which is corrected for continuity (Newcombe 1998b,
    method 10). Unlike `tango` it needs the concordant counts apart. Items are independent of each other. Smallest n:
    above 0.

    Raises `EstimateError` for an empty table or a negative count.

    >>> [round(bound, 4) for bound in newcombe_paired(60, 40, 20, 40, 0.05, sides=2)]
    [0.0306, 0.2159]
    """
    n = both + first_only + second_only + neither
    if min(both, first_only, second_only, neither) < 0:
        raise EstimateError(f"expected counts of 0 or more, got {(both, first_only, second_only, neither)}")
    first, second = both + first_only, both + second_only
    low1, high1 = wilson(first, n, level, sides=sides)
    low2, high2 = wilson(second, n, level, sides=sides)
    margins = first * (n - first) * second * (n - second)
    cross = both * neither - first_only * second_only
    cross = max(cross - n / 2, 0.0) if cross > 0 else cross
    phi = cross / sqrt(margins) if margins > 0 else 0.0

    def join(x: float, y: float) -> float:
        return sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))

    p1, p2 = first / n, second / n
    return p1 - p2 - join(p1 - low1, high2 - p2), p1 - p2 + join(high1 - p1, p2 - low2)


def _one_sided(level: float, sides: Sides) -> float:
    tail = level / sides
    if not 0 < tail < 0.5:
        raise EstimateError(f"expected a level between 0 and {sides / 2:g} for sides={sides}, got level={level!r}")
    return tail


def _check_counts(successes: float, n: float) -> None:
    if not (isfinite(n) and n > 0):
        raise EstimateError(f"expected at least one item, got n={n!r}")
    if not 0 <= successes <= n:
        raise EstimateError(f"expected between 0 and n={n!r} successes, got {successes!r}")


def _check_discordant(first_only: float, second_only: float, n: float) -> None:
    _check_counts(first_only, n)
    _check_counts(second_only, n)
    _check_counts(first_only + second_only, n)


def _check_items(values: Sequence[float], low: float, high: float, draws: int) -> None:
    if len(values) < 2:
        raise EstimateError(f"expected at least 2 items, got n={len(values)}")
    if not all(low <= v <= high for v in values):  # in this form NaN is outside, too
        raise EstimateError(f"expected values in [{low}, {high}], got {min(values)} to {max(values)}")
    if draws < 100:
        raise EstimateError(f"expected at least 100 draws, got draws={draws}")


def _bounds_of_equal_items(values: Sequence[float], tail: float, low: float, high: float) -> tuple[float, float]:
    n, width = len(values), high - low
    bounds = clopper_pearson(n * (values[0] - low) / width, n, tail)
    return low + width * bounds[0], low + width * bounds[1]


def _resampled_means(values: Sequence[float], rng: Random, draws: int) -> list[float]:
    n = len(values)
    return sorted(fsum(rng.choices(values, k=n)) / n for _ in range(draws))


def _quantile(ordered: Sequence[float], probability: float) -> float:
    place = probability * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 2)
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls from positive to negative crosses zero, by halving."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def _normal_quantile(tail: float) -> float:
    return -NormalDist().inv_cdf(tail)
