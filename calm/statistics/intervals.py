"""Confidence bounds for means, rates and differences of rates, and the incomplete beta function below them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, exp, fsum, isfinite, isnan, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import Final, Literal

from calm.errors import EstimateError

TINY: Final = 1e-300
CLOSE: Final = 1e-15
MOST_TERMS: Final = 100_000
HALVINGS: Final = 200


def betainc(a: float, b: float, x: float) -> float:
    """
    Return the regularised incomplete beta function I_x(a, b), in [0, 1], for a, b > 0 and x in [0, 1].

    By its continued fraction (DLMF 8.17.22), evaluated from the front (Lentz's method).

    >>> round(betainc(2, 3, 0.5), 12)
    0.6875
    """
    if not (a > 0 and b > 0 and 0 <= x <= 1):
        raise EstimateError(f"betainc: expected a, b > 0 and x in [0, 1], got a={a!r}, b={b!r}, x={x!r}")
    if x in (0, 1):
        return float(x)
    if x > (a + 1) / (a + b + 2):  # there the fraction of the other tail converges
        return 1.0 - betainc(b, a, 1 - x) if b * (1 - x) > 0 else 1.0
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return scale * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < CLOSE:
            return found
    raise EstimateError(f"betainc: does not converge for a={a!r}, b={b!r}, x={x!r}")


def _apart(value: float) -> float:
    return value if abs(value) > TINY else TINY


@lru_cache(maxsize=4096)
def betaincinv(a: float, b: float, probability: float) -> float:
    """
    Return the x in [0, 1] at which I_x(a, b) is a probability.

    >>> round(betaincinv(2, 3, 0.6875), 12)
    0.5
    """
    if not 0 <= probability <= 1:
        raise EstimateError(f"betaincinv: expected a probability in [0, 1], got {probability!r}")
    if probability in (0, 1):
        return float(probability)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high) or high - low < CLOSE * high:
            break
        low, high = (middle, high) if betainc(a, b, middle) < probability else (low, middle)
    return (low + high) / 2


@lru_cache(maxsize=4096)
def student_quantile(df: float, probability: float) -> float:
    """
    Return the t below which Student's distribution with df degrees of freedom has a probability, in (0, 1).

    >>> round(student_quantile(10, 0.975), 9)
    2.228138852
    """
    if isnan(probability) or not (0 < probability < 1 and df > 0):
        raise EstimateError(
            f"student_quantile: expected df > 0 and a probability in (0, 1), got df={df!r}, {probability!r}"
        )
    tail = min(probability, 1 - probability)
    if tail == 0.5:
        return 0.0
    t = -NormalDist().inv_cdf(tail)  # below it: Student's tails are heavier
    height = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi)
    for _ in range(HALVINGS):  # the tail is convex in t, so Newton's steps come from below and never pass the root
        excess = betainc(df / 2, 0.5, df / (df + t * t)) / 2 - tail
        step = excess / (height * (1 + t * t / df) ** (-(df + 1) / 2))
        t += step
        if abs(step) <= 1e-14 * t:
            break
    return t if probability > 0.5 else -t


def student_cdf(df: float, value: float) -> float:
    """
    Return the probability that Student's t with `df` degrees of freedom, above 0, is at most `value`.

    >>> round(student_cdf(10, 1.812461), 6), round(student_cdf(10, -1.812461), 6)
    (0.95, 0.05)
    """
    tail = betainc(df / 2, 0.5, df / (df + value * value)) / 2
    return tail if value < 0 else 1 - tail


ALIKE: Final = 1e-12
"""Mean square, as a share of that of the range, below which items do not vary."""
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
    independent of each other; repeats of an item belong to its value. Smallest n: 2.

    Raises `EstimateError` for fewer than two values or values outside the range.

    >>> lower, upper = padded_t([0.0] * 200, -0.5, 1.0, 0.05)
    >>> round(upper, 4)
    0.0149
    """
    if len(values) >= 2 and not all(low - 1e-9 <= v <= high + 1e-9 for v in values):  # in this form NaN is outside, too
        raise EstimateError(f"expected values in [{low}, {high}], got {min(values)} to {max(values)}")
    return _padded(values, low, high, level)


def clustered_t(
    sums: Sequence[float],
    sizes: Sequence[int],
    low: float,
    high: float,
    level: float,
    *,
    squares: Sequence[float] | None = None,
) -> tuple[float, float]:
    """
    Return a lower and an upper confidence bound for the mean of all items, which come in independent clusters.

    `sums` holds the sum of each cluster's items, `sizes` their number, at least 1; items lie in [low, high]. The mean
    is the ratio of the sums. Each cluster counts as mean + (sum - mean * size) / mean size, the linearised
    ratio (Cochran 1977, 6.3; Miller 2024 for evaluations), and the padded t is taken over clusters. With one item a
    cluster this is `padded_t`. Smallest number of clusters: 2.

    The pseudo-items represent clusters that luck did not show, and lie no farther than a cluster can be off. One of m
    items with correlation r can be sqrt((1 + (m - 1) r) / m) as far off as an item, and the more the larger it is: m is
    the size of the cluster that an item is in, on average. `squares` holds the sum of the squares of each cluster's
    items, which tell r; the pseudo-item counts as one more cluster, whose items move together, so few that vary tell
    little. Without `squares` r is 1. Where no item varies, the pseudo-items lie at `low` and `high`.

    Raises `EstimateError` for fewer than two clusters, or as many sums as there are not sizes.

    >>> clustered_t([0.0, 1.0, 1.0], [1, 1, 1], 0, 1, 0.05) == padded_t([0.0, 1.0, 1.0], 0, 1, 0.05)
    True
    """
    if len(sums) != len(sizes) or (squares is not None and len(squares) != len(sizes)):
        found = "" if squares is None else f", {len(squares)} squares"
        raise EstimateError(f"expected a size for each sum, got {len(sums)} sums{found} and {len(sizes)} sizes")
    if len(sums) < 2:
        raise EstimateError(f"expected at least 2 clusters, got {len(sums)}")
    if max(sizes) == 1:
        return _padded(sums, low, high, level)
    items = sum(sizes)
    mean, average = fsum(sums) / items, items / len(sizes)
    off = [s - mean * n for s, n in zip(sums, sizes, strict=True)]
    if squares is None:
        spread = [o * o / n for o, n in zip(off, sizes, strict=True)]
    else:
        spread = [q - mean * (o + s) for q, o, s in zip(squares, off, sums, strict=True)]  # about the mean
    size = fsum(n * n for n in sizes) / items
    both = fsum(o * o - v for o, v in zip(off, spread, strict=True))
    each = fsum(v * (n - 1) for v, n in zip(spread, sizes, strict=True))

    def near(end: float) -> float:
        far = pad(level) * size * (size - 1) * (end - mean) ** 2
        together = min(1.0, max(0.0, (both + far) / (each + far))) if each + far > 0 else 1.0
        return mean + (end - mean) * sqrt((1 + (size - 1) * together) / size) * size / average

    if fsum(spread) > ALIKE * items * (high - low) ** 2:
        low, high = near(low), near(high)
    return _padded([mean + o / average for o in off], low, high, level)


def grouped_t(groups: Sequence[Sequence[float]], low: float, high: float, level: float) -> tuple[float, float]:
    """
    Return `clustered_t` of the items of each cluster, at least one in each: they tell how they hang together.

    >>> grouped_t([[0.0], [1.0], [1.0]], 0, 1, 0.05) == padded_t([0.0, 1.0, 1.0], 0, 1, 0.05)
    True
    """
    sums, sizes = [fsum(group) for group in groups], [len(group) for group in groups]
    squares = [fsum(item * item for item in group) for group in groups]
    return clustered_t(sums, sizes, low, high, level, squares=squares)


def _padded(values: Sequence[float], low: float, high: float, level: float) -> tuple[float, float]:
    n = len(values)
    if n < 2:
        raise EstimateError(f"expected at least 2 items, got n={n}")
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
    z = -NormalDist().inv_cdf(_one_sided(level, sides))
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes <= 0 else max(0.0, centre - half)
    high = 1.0 if successes >= n else min(1.0, centre + half)
    return low, high


def newcombe(
    successes1: float, n1: float, successes2: float, n2: float, level: float, *, sides: Sides = 1
) -> tuple[float, float]:
    """
    Return bounds for the difference of two rates of independent groups, first minus second, in [-1, 1].

    Wilson's bounds of both, squared and added (Newcombe 1998a, method 10 of that paper). The groups are independent of
    each other and the items within a group too. Smallest n: above 0 each.

    Raises `EstimateError` for an empty group or successes outside 0 to n.

    >>> [round(bound, 4) for bound in newcombe(56, 70, 48, 80, 0.05, sides=2)]  # 0.0524 to 0.3339 in the paper
    [0.0524, 0.3339]
    """
    low1, high1 = wilson(successes1, n1, level, sides=sides)
    low2, high2 = wilson(successes2, n2, level, sides=sides)
    p1, p2 = successes1 / n1, successes2 / n2
    below, above = sqrt((p1 - low1) ** 2 + (high2 - p2) ** 2), sqrt((high1 - p1) ** 2 + (p2 - low2) ** 2)
    return p1 - p2 - below, p1 - p2 + above


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
