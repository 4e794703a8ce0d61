"""
Tests on pairs: the same items before and after.

| function | what it tests |
|---|---|
| `sign_flip_test` | a mean difference of zero, assuming only symmetry |
| `mcnemar_exact` | equal rates, from the items that changed |
| `paired_t` | a mean difference of zero by Student's t, with its effect size |

`alternative` is "greater" (the differences are above zero; more items changed the first way), "less" or "two-sided".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite, lgamma, log, sqrt
from random import Random
from typing import Literal

from calm.errors import EstimateError

Alternative = Literal["greater", "less", "two-sided"]

_GRID = 1e-9
"""Differences closer than this are the same number: they are means of few verdicts."""
_MOST_SUMS = 50_000
"""Distinct sums up to which the exact distribution is built."""


def sign_flip_test(
    values: Sequence[float], rng: Random | None = None, *, alternative: Alternative = "two-sided", draws: int = 9999
) -> float:
    """
    Return the p-value, in (0, 1], of the test that each difference is as likely to be its own negative.

    The sum is compared with its distribution when every sign is turned with probability one half (Fisher 1935, section
    21). That distribution is exact wherever it has few distinct sums, as it has for means of few verdicts at any n;
    otherwise it is drawn with `rng`, and the observed sum counts as one draw more (Phipson & Smyth 2010), so p is never
    zero. Differences are independent of each other. Smallest n: 1 (where p cannot be below 0.5).

    Raises `EstimateError` for no values, values that are not finite, or many distinct sums and no `rng`.

    >>> sign_flip_test([1.0, 1.0, 1.0, 1.0, 1.0], alternative="greater")  # 1 of 2 ** 5
    0.03125
    >>> sign_flip_test([0.0, 0.0])
    1.0
    """
    if not values:
        raise EstimateError("expected at least one difference, got none")
    if not all(isfinite(v) for v in values):
        raise EstimateError("expected finite differences, got infinity or NaN")
    steps = [round(v / _GRID) for v in values if round(v / _GRID)]
    if not steps:
        return 1.0
    observed = sum(steps)
    sums = _sums(steps)
    if sums is not None:
        return min(1.0, fsum(weight for total, weight in sums.items() if _as_extreme(total, observed, alternative)))
    if rng is None:
        raise EstimateError(f"expected rng, as n={len(steps)} differences have too many sums to enumerate")
    extreme = sum(_as_extreme(_flipped_sum(steps, rng), observed, alternative) for _ in range(draws))
    return (extreme + 1) / (draws + 1)


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

    Raises `EstimateError` for fewer than two differences, and where all are equal: t does not exist there, use
    `sign_flip_test`.

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
        raise EstimateError("expected differences that vary, got equal ones: t does not exist; use sign_flip_test")
    t, df = mean / deviation * sqrt(n), n - 1
    return PairedT(mean, t, df, _student_p(t, df, alternative), mean / deviation, mean / deviation * _hedges(df))


def _sums(steps: Sequence[int]) -> dict[int, float] | None:
    """Return the probability of every sum under random signs, or None if there are too many of them."""
    sums = {0: 1.0}
    for step in steps:
        grown: dict[int, float] = {}
        for total, weight in sums.items():
            grown[total + step] = grown.get(total + step, 0.0) + weight / 2
            grown[total - step] = grown.get(total - step, 0.0) + weight / 2
        if len(grown) > _MOST_SUMS:
            return None
        sums = grown
    return sums


def _flipped_sum(steps: Sequence[int], rng: Random) -> int:
    bits = rng.getrandbits(len(steps))
    return sum(step if bits >> place & 1 else -step for place, step in enumerate(steps))


def _as_extreme(total: int, observed: int, alternative: Alternative) -> bool:
    match alternative:
        case "greater":
            return total >= observed
        case "less":
            return total <= observed
        case "two-sided":
            return abs(total) >= abs(observed)


def _upper_tail(count: int, n: int, mid_p: bool) -> float:
    from scipy.special import bdtr  # imported here: only a test pays for it

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
