"""
Many claims at once: which are disproven, with the errors of the whole family bounded.

| function | what it gives |
|---|---|
| `holm` | p-values adjusted so that a false rejection anywhere has probability at most alpha |
| `benjamini_hochberg` | p-values adjusted so that at most a share alpha of the rejections is false, on average |
| `benjamini_yekutieli` | the same whatever the tests depend on |
| `holm_rejects`, `bh_rejects` | the same procedures for evidence that comes as intervals instead of p-values |

"All claims must pass" needs none of these: each is proven at the full level (an intersection-union test).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum

from calm.errors import EstimateError


def holm(p_values: Sequence[float]) -> list[float]:
    """
    Return Holm's adjusted p-values, each in [0, 1], in the order given.

    Rejecting where the adjusted value is at most alpha bounds the probability of one or more false rejections by alpha,
    under any dependence (Holm 1979). Smallest n: 1.

    Raises `EstimateError` for no p-values or one outside [0, 1].

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    order = _ordered(p_values)
    adjusted = [0.0] * len(order)
    running = 0.0
    for place, index in enumerate(order):
        running = max(running, min(1.0, (len(order) - place) * p_values[index]))
        adjusted[index] = running
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """
    Return Benjamini and Hochberg's adjusted p-values, each in [0, 1], in the order given.

    Rejecting where the adjusted value is at most alpha keeps the expected share of false rejections at or below alpha
    for independent or positively dependent tests (Benjamini & Hochberg 1995; Benjamini & Yekutieli 2001). Smallest
    n: 1.

    Raises `EstimateError` for no p-values or one outside [0, 1].

    >>> [round(p, 4) for p in benjamini_hochberg([0.01, 0.04, 0.03, 0.005])]
    [0.02, 0.04, 0.04, 0.02]
    """
    order = _ordered(p_values)
    adjusted = [0.0] * len(order)
    running = 1.0
    for place in range(len(order), 0, -1):
        index = order[place - 1]
        running = min(running, p_values[index] * len(order) / place)
        adjusted[index] = running
    return adjusted


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """
    Return Benjamini and Yekutieli's adjusted p-values, each in [0, 1], in the order given.

    Those of Benjamini and Hochberg times 1 + 1/2 + ... + 1/k: so they hold under any dependence (Benjamini & Yekutieli
    2001). Smallest n: 1.

    Raises `EstimateError` for no p-values or one outside [0, 1].

    >>> [round(p, 4) for p in benjamini_yekutieli([0.01, 0.04])]
    [0.03, 0.06]
    """
    more = fsum(1 / place for place in range(1, len(p_values) + 1))
    return [min(1.0, p * more) for p in benjamini_hochberg(p_values)]


def holm_rejects(tests: Sequence[Callable[[float], bool]], alpha: float) -> list[int]:
    """
    Return the indexes of the claims that are disproven with familywise error alpha, in ascending order.

    Each test says whether its claim is disproven at a one-sided level, for instance whether an interval at that level
    lies beyond the limit; a claim disproven at a level must be disproven at every greater one. Holm's steps are taken
    without p-values: all at alpha / m, then the rest at alpha / (those left), until nothing more falls (Holm 1979).
    Holds under any dependence. Smallest number of tests: 1.

    Raises `EstimateError` for no tests or alpha outside (0, 1).

    >>> p_values = [0.01, 0.04, 0.03, 0.005]
    >>> holm_rejects([lambda level, p=p: p <= level for p in p_values], 0.05)
    [0, 3]
    """
    _check_tests(tests, alpha)
    left = set(range(len(tests)))
    while left:
        fallen = {index for index in left if tests[index](alpha / len(left))}
        if not fallen:
            break
        left -= fallen
    return sorted(set(range(len(tests))) - left)


def bh_rejects(tests: Sequence[Callable[[float], bool]], alpha: float) -> list[int]:
    """
    Return the indexes of the claims that are disproven with false discovery rate alpha, in ascending order.

    Tests as for `holm_rejects`. Benjamini and Hochberg's steps are taken without p-values: the greatest k is sought for
    which k claims or more are disproven at alpha k / m, and these are. At most a share alpha of them is false, on
    average, for independent or positively dependent tests (Benjamini & Hochberg 1995). Smallest number of tests: 1.

    Raises `EstimateError` for no tests or alpha outside (0, 1).

    >>> p_values = [0.01, 0.04, 0.03, 0.005]
    >>> bh_rejects([lambda level, p=p: p <= level for p in p_values], 0.05)
    [0, 1, 2, 3]
    """
    _check_tests(tests, alpha)
    for count in range(len(tests), 0, -1):
        fallen = [index for index, test in enumerate(tests) if test(alpha * count / len(tests))]
        if len(fallen) >= count:
            return fallen
    return []


def _check_tests(tests: Sequence[object], alpha: float) -> None:
    if not tests:
        raise EstimateError("expected at least one test, got none")
    if not 0 < alpha < 1:
        raise EstimateError(f"expected alpha between 0 and 1, got alpha={alpha!r}")


def _ordered(p_values: Sequence[float]) -> list[int]:
    if not p_values:
        raise EstimateError("expected at least one p-value, got none")
    wrong = [p for p in p_values if not 0 <= p <= 1]
    if wrong:
        raise EstimateError(f"expected p-values in [0, 1], got {wrong[0]!r}")
    return sorted(range(len(p_values)), key=lambda index: p_values[index])
