"""
Pearson's chi-squared test of a table of counts.

Every report with a rotation needs one. `scipy.stats` has it, with 74 MB and most of a second of imports. The two agree
to twelve digits (a test compares them).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, lgamma, log
from typing import Final

from calm.errors import EstimateError

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
    0.248491
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
