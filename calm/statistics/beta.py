"""
The incomplete beta function, and what follows from it: Student's t and the bounds of a proportion.

Every gate needs one quantile of Student's t. `scipy.special` has it, with 37 MB and a fifth of a second of imports:
more than all the rest of a small run. The two agree to nine digits (a test compares them).
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, isnan, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import Final

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
