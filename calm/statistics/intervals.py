"""
Confidence bounds for the mean of item values.

| function | what it gives |
|---|---|
| `padded_t` | one-sided lower and upper bound for a mean of bounded item values |
| `pad` | the number of pseudo-items that the padded t adds |
| `smallest_n` | the number of items below which a limit cannot be proven |
"""

from collections.abc import Sequence
from math import ceil, fsum, log, sqrt
from statistics import NormalDist

from calm.errors import EstimateError


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
    t = _student_quantile(n - 1, 1 - level)

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


def _student_quantile(df: int, probability: float) -> float:
    from scipy.special import stdtrit  # imported here: only runs that decide something pay for it

    return float(stdtrit(df, probability))
