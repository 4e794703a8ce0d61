"""Tests on pairs, the same items before and after; Pearson's chi-squared test of a table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, lgamma, log, sqrt
from statistics import NormalDist
from typing import Final, Literal

from calm.errors import EstimateError

Alternative = Literal["greater", "less", "two-sided"]

_SIGNS = 1 / (4 * (1 - NormalDist().cdf(sqrt(2))))
"""How many times the normal tail a sum of signs may exceed at most."""
_GRID = 1e-9
"""Differences closer than this are equal: they are means of few verdicts."""
_MOST_SUMS = 50_000
"""Distinct sums up to which the exact distribution is built."""


def mcnemar_exact(
    first_only: int, second_only: int, *, alternative: Alternative = "two-sided", mid_p: bool = False
) -> float:
    """
    Return the p-value, in (0, 1], of the test that as many items changed one way as the other.

    `first_only` and `second_only` are the discordant counts; under the null the first is binomial with rate one half
    (McNemar 1947; the exact form is the sign test). "greater" means that `first_only` is the larger. `mid_p` counts the
    observed table by half (Lancaster 1961; Fagerland, Lydersen & Laake 2013): less conservative, no longer exact. No
    changed item at all gives 1. Items are independent of each other. Smallest n: 0.

    Raises `EstimateError` for negative counts.

    >>> round(mcnemar_exact(8, 2, alternative="greater"), 5)  # (45 + 10 + 1) / 1024
    0.05469
    >>> round(mcnemar_exact(8, 2), 5), round(mcnemar_exact(8, 2, mid_p=True), 5)
    (0.10938, 0.06543)
    """
    if first_only < 0 or second_only < 0:
        raise EstimateError(f"expected counts of 0 or more, got {first_only!r} and {second_only!r}")
    n = first_only + second_only
    if n == 0:
        return 1.0
    match alternative:
        case "greater":
            return _upper_tail(first_only, n, mid_p)
        case "less":
            return _upper_tail(second_only, n, mid_p)
        case "two-sided":
            return min(1.0, 2 * _upper_tail(max(first_only, second_only), n, mid_p))


@dataclass(frozen=True, slots=True)
class PairedT:
    """The result of `paired_t`: mean difference, t, degrees of freedom, p, and the effect sizes d_z and g_z."""

    mean: float
    t: float
    df: int
    p: float
    d_z: float
    g_z: float


def paired_t(values: Sequence[float], *, alternative: Alternative = "two-sided") -> PairedT:
    """
    Return Student's t test of a mean difference of zero, with effect sizes in standard deviations.

    d_z = mean / sd of the differences (Cohen 1988, section 2.3.5); g_z = d_z times Hedges' exact correction
    Gamma(df/2) / (sqrt(df/2) Gamma((df-1)/2)) for small samples (Hedges 1981, equation 6e). p is in [0, 1].
    Differences are independent of each other; their mean should be near normal: 50 or more bounded ones. Smallest n: 2.

    Raises `EstimateError` for fewer than two differences, and where all are equal: t does not exist there.

    >>> test = paired_t([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])  # Student 1908, the first drug
    >>> round(test.t, 4), test.df, round(test.p, 4), round(test.d_z, 3)
    (1.3257, 9, 0.2176, 0.419)
    """
    n = len(values)
    if n < 2:
        raise EstimateError(f"expected at least 2 differences, got n={n}")
    mean = fsum(values) / n
    deviation = sqrt(fsum((v - mean) ** 2 for v in values) / (n - 1))
    if not deviation > 1e-12 * max(1.0, abs(mean)):
        raise EstimateError("expected differences that vary, got equal ones: t does not exist")
    t, df = mean / deviation * sqrt(n), n - 1
    return PairedT(mean, t, df, _student_p(t, df, alternative), mean / deviation, mean / deviation * _hedges(df))


def _upper_tail(count: int, n: int, mid_p: bool) -> float:
    from scipy.special import bdtr  # imported here: only this test pays for it

    tail = float(bdtr(n - count, n, 0.5))
    if not mid_p:
        return tail
    return tail - 0.5 * exp(lgamma(n + 1) - lgamma(count + 1) - lgamma(n - count + 1) - n * log(2))


def _student_p(t: float, df: int, alternative: Alternative) -> float:
    from scipy.special import stdtr

    match alternative:
        case "greater":
            return float(stdtr(df, -t))
        case "less":
            return float(stdtr(df, t))
        case "two-sided":
            return 2 * float(stdtr(df, -abs(t)))


def _hedges(df: int) -> float:
    return exp(lgamma(df / 2) - lgamma((df - 1) / 2)) / sqrt(df / 2) if df > 1 else 0.0


def exchangeable_shift(sums: Sequence[float], sizes: Sequence[int], level: float) -> tuple[float, float]:
    """
    Return a lower and an upper bound for the mean difference of items that come in clusters.

    `sums` holds the sum of each cluster's differences, `sizes` their number. If nothing changed between two
    measurements, each cluster's sum is as likely as its negative. Then the sum of all over the root of their squares
    exceeds x with a probability of at most 1 / (4 P(Z > sqrt 2)) = 3.18 times that of a normal Z (Bentkus &
    Dzindzalieta 2015, tight for sums of signs), whatever the distribution and however few clusters differ. The bounds
    are the shifts that this test does not reject: mean +- x s / sqrt(n - x^2). Each alone errs with probability at most
    `level`, in (0, 0.1]. For clusters of different sizes the mean is a ratio of sums, taken linearly. With no more than
    x^2 clusters nothing can be shown, and the bounds are infinite. Smallest number of clusters: 2.

    Raises `EstimateError` for fewer than two clusters, as many sums as there are not sizes, or another level.

    >>> low, high = exchangeable_shift([0.5] * 20, [1] * 20, 0.05)  # all alike: as rare as 20 heads in a row
    >>> low, high
    (0.5, 0.5)
    >>> exchangeable_shift([1.0, 1.0, 1.0, 1.0], [1, 1, 1, 1], 0.05)  # 4 heads in a row are not rare
    (-inf, inf)
    """
    if len(sums) != len(sizes):
        raise EstimateError(f"expected a size for each sum, got {len(sums)} sums and {len(sizes)} sizes")
    if len(sums) < 2:
        raise EstimateError(f"expected at least 2 clusters, got {len(sums)}")
    if not 0 < level <= 0.1:
        raise EstimateError(f"expected a level between 0 and 0.1, got level={level!r}")
    n, items = len(sums), sum(sizes)
    mean, average = fsum(sums) / items, items / n
    squares = fsum(((s - mean * size) / average) ** 2 for s, size in zip(sums, sizes, strict=True))
    x = NormalDist().inv_cdf(1 - level / _SIGNS)
    if n <= x * x:
        return -inf, inf
    half = x * sqrt(squares / n / (n - x * x))
    return mean - half, mean + half


CLOSE: Final = 1e-16
MOST_TERMS: Final = 100_000


def chi_squared_p(table: Sequence[Sequence[int]]) -> float:
    """
    Return the p-value, in [0, 1], of Pearson's test that rows and columns are independent (Pearson 1900).

    `table` has counts of at least 0, r rows of c columns; each row and each column has a count above 0. Counts are of
    independent cases, and each expected one should be 5 or more. With one degree of freedom the differences are
    brought nearer by up to a half (Yates 1934), as scipy does.

    Raises `EstimateError` for rows of several lengths, and for a row or a column of nothing but zeros.

    >>> round(chi_squared_p([[10, 10, 20], [20, 20, 20]]), 6)
    0.249352
    """
    columns = len(table[0]) if table else 0
    if not columns or any(len(row) != columns for row in table):
        raise EstimateError(f"chi_squared_p: expected rows of one length, got {table!r}")
    rows, sums = list(map(sum, table)), list(map(sum, zip(*table, strict=True)))
    if min(*rows, *sums) <= 0 or min(map(min, table)) < 0:
        raise EstimateError(f"chi_squared_p: expected counts, and no row or column of zeros, got {table!r}")
    freedom, n = (len(rows) - 1) * (columns - 1), sum(rows)
    if not freedom:
        return 1.0
    expected = [[row * column / n for column in sums] for row in rows]
    apart = [
        abs(o - e) for seen, wanted in zip(table, expected, strict=True) for o, e in zip(seen, wanted, strict=True)
    ]
    if freedom == 1:
        apart = [max(0.0, one - 0.5) for one in apart]
    flat = (e for row in expected for e in row)
    return gammaincc(freedom / 2, fsum(one * one / e for one, e in zip(apart, flat, strict=True)) / 2)


def gammaincc(a: float, x: float) -> float:
    """
    Return the upper regularised incomplete gamma function Q(a, x), in [0, 1], for a > 0 and x >= 0.

    By the series of its complement (DLMF 8.11.4) or by its continued fraction (DLMF 8.9.2, Lentz's method).

    >>> round(gammaincc(2, 3), 12)
    0.199148273471
    """
    if not (a > 0 and x >= 0):
        raise EstimateError(f"gammaincc: expected a > 0 and x >= 0, got a={a!r}, x={x!r}")
    if x == 0:
        return 1.0
    scale = exp(a * log(x) - x - lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for k in range(1, MOST_TERMS):
            term *= x / (a + k)
            total += term
            if term < total * CLOSE:
                break
        return max(0.0, 1 - scale * total)
    b = x + 1 - a
    c, d = 1e300, 1 / b
    found = d
    for k in range(1, MOST_TERMS):
        factor = k * (a - k)
        b += 2
        d, c = 1 / (b + factor * d), b + factor / c
        found *= c * d
        if abs(c * d - 1) < CLOSE:
            break
    return min(1.0, scale * found)
