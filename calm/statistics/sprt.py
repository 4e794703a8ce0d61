"""
Stopping early on yes-or-no items: a sequential probability ratio test with a cap, exact in its errors.

| name | meaning |
|---|---|
| `plan_sprt` | the plan for two rates: a ready one for usual rates, else a search |
| `search_sprt` | the plan with the smallest cap whose expected numbers of items stay near Wald's bound |
| `SprtPlan` | boundaries, cap and cut-off of a test |
| `operating_characteristics` | exact probabilities of a pass and a fail and the expected number of items |
| `decide_sprt` | the outcome after so many items |
| `decide_in_turn` | the outcome of values in turn, and how many it took |
| `wald_bound` | the least expected number of items of any test with these errors |

An item is a success or a failure, one judgment for one item: repeats or several perturbations of an item, counted as
items of their own, double or triple the errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, fsum, log
from typing import Literal

from calm.errors import EstimateError

Result = Literal["PASS", "FAIL", "UNDECIDED"]


@dataclass(frozen=True, slots=True)
class SprtPlan:
    """
    A test of "the rate is `p1` or more" against "it is `p0` or less".

    It passes when the log likelihood ratio reaches `upper`, fails when it falls to `lower`; at `cap` items it passes
    with at most `most_failures` failures; and it stops as soon as what is left cannot change that.
    """

    p0: float
    p1: float
    upper: float
    lower: float
    cap: int
    most_failures: int


@dataclass(frozen=True, slots=True)
class Characteristics:
    """What a plan does at one true rate: P(pass), P(fail), the expected and the greatest number of items."""

    passes: float
    fails: float
    expected_n: float
    greatest_n: int


def wald_bound(p0: float, p1: float, alpha: float, beta: float) -> tuple[float, float]:
    """
    Return the least expected number of items at p0 and at p1 that a test with these errors can have.

    ((1-b) ln((1-b)/a) + b ln(b/(1-a))) / KL(p1, p0) at p1, and the same with the roles exchanged at p0 (Wald 1945,
    section 4.7; Wald & Wolfowitz 1948). Items are independent.

    Raises `EstimateError` unless 0 < p0 < p1 < 1 and both errors lie in (0, 0.5).

    >>> [round(n, 1) for n in wald_bound(0.90, 0.97, 0.05, 0.05)]
    [50.0, 72.5]
    """
    _check_design(p0, p1, alpha, beta)

    def bound(true: float, other: float, right: float, wrong: float) -> float:
        divergence = true * log(true / other) + (1 - true) * log((1 - true) / (1 - other))
        return ((1 - right) * log((1 - right) / wrong) + right * log(right / (1 - wrong))) / divergence

    return bound(p0, p1, alpha, beta), bound(p1, p0, beta, alpha)


def plan_sprt(p0: float, p1: float, alpha: float = 0.05, beta: float = 0.05) -> SprtPlan:
    """
    Return the plan of `search_sprt` for these rates and errors, without a search for usual ones.

    Items are independent. Raises `EstimateError` as `search_sprt` does.

    >>> plan = plan_sprt(0.90, 0.97)
    >>> plan.cap, plan.most_failures
    (161, 9)
    """
    ready = _READY.get((p0, p1)) if alpha == beta == 0.05 else None
    return ready or search_sprt(p0, p1, alpha, beta)


@lru_cache(maxsize=64)
def search_sprt(p0: float, p1: float, alpha: float = 0.05, beta: float = 0.05, *, slack: float = 0.08) -> SprtPlan:
    """
    Return the plan with the smallest cap that keeps both errors and expects few items.

    P(pass | p0) <= alpha, P(fail | p1) <= beta, and at both rates the expected number of items exceeds `wald_bound` by
    at most the share `slack`; if no plan comes that near, the nearest one. The search covers boundaries
    around Wald's own (Wald 1945), every cap and every cut-off, by exact recursion. It takes seconds at most for rates
    five points apart, and is cached. Items are independent.

    Raises `EstimateError` unless 0 < p0 < p1 < 1 and both errors lie in (0, 0.5), or if rates lie too close together.

    >>> plan = search_sprt(0.60, 0.80)
    >>> plan.cap, plan.most_failures
    (73, 21)
    """
    least = wald_bound(p0, p1, alpha, beta)
    if max(least) > _LARGEST_BOUND:
        raise EstimateError(
            f"expected rates further apart, got p0={p0!r} and p1={p1!r}: more than {max(least):.0f} items on average"
        )
    found = [
        (max(mean / bound for mean, bound in zip(means, least, strict=True)), plan)
        for boundaries in _boundaries(alpha, beta)
        for plan, means in _feasible((p0, p1), boundaries, (alpha, beta), int(_WIDEST_CAP * max(least)) + 10)
    ]
    if not found:
        raise EstimateError(f"expected rates that a test can tell apart, got p0={p0!r} and p1={p1!r}")
    near = [pair for pair in found if pair[0] <= 1 + slack]
    return min(near, key=lambda pair: (pair[1].cap, pair[0]))[1] if near else min(found, key=lambda pair: pair[0])[1]


def operating_characteristics(plan: SprtPlan, p: float, *, every: int = 1) -> Characteristics:
    """
    Return what a plan does where the true rate is p, in [0, 1].

    Exact: paths are counted by (items, failures). A decision is made only after every `every` items (and at the cap),
    as when calls go out together. Items are independent.

    Raises `EstimateError` for p outside [0, 1] or every < 1.

    >>> plan = SprtPlan(0.90, 0.97, 3.2, -2.7, 161, 9)
    >>> at_p0 = operating_characteristics(plan, 0.90)
    >>> round(at_p0.passes, 4), round(at_p0.expected_n, 1)
    (0.0495, 52.7)
    """
    if not 0 <= p <= 1 or every < 1:
        raise EstimateError(f"expected p in [0, 1] and every of 1 or more, got p={p!r}, every={every!r}")
    stops = list(_stops(plan, every))

    def probability(n: int, failures: int, paths: int) -> float:
        if p in (0, 1):
            return float(failures == (0 if p else n)) * paths
        return exp(log(paths) + (n - failures) * log(p) + failures * log(1 - p))

    weighted = [(n, result, probability(n, failures, paths)) for n, failures, paths, result in stops]
    return Characteristics(
        passes=fsum(w for _, result, w in weighted if result == "PASS"),
        fails=fsum(w for _, result, w in weighted if result == "FAIL"),
        expected_n=fsum(n * w for n, _, w in weighted),
        greatest_n=max(n for n, _, _ in weighted),
    )


def decide_in_turn(plan: SprtPlan, values: Sequence[float]) -> tuple[Result, int]:
    """
    Return the outcome of values of 0 and 1 taken one after the other, and how many of them it took.

    Smallest n: 1. Values beyond the cap are not used; an undecided outcome counts them all.

    >>> decide_in_turn(SprtPlan(0.90, 0.97, 3.2, -2.7, 161, 9), [1.0] * 60)
    ('PASS', 43)
    """
    successes = 0
    for n, value in enumerate(values[: plan.cap], start=1):
        successes += round(value)
        if (result := decide_sprt(plan, successes, n - successes)) != "UNDECIDED":
            return result, n
    return "UNDECIDED", len(values)


def decide_sprt(plan: SprtPlan, successes: int, failures: int) -> Result:
    """
    Return the outcome after these successes and failures, with a look after every item.

    Raises `EstimateError` for negative counts or more items than the cap.

    >>> plan = SprtPlan(0.90, 0.97, 3.2, -2.7, 161, 9)
    >>> decide_sprt(plan, 43, 0), decide_sprt(plan, 42, 0), decide_sprt(plan, 2, 3)
    ('PASS', 'UNDECIDED', 'FAIL')
    """
    n = successes + failures
    if min(successes, failures) < 0 or n > plan.cap:
        raise EstimateError(f"expected counts of 0 to {plan.cap} items, got {successes!r} and {failures!r}")
    ratio = successes * log(plan.p1 / plan.p0) + failures * log((1 - plan.p1) / (1 - plan.p0))
    if ratio >= plan.upper - _TIE or plan.cap - n <= plan.most_failures - failures:
        return "PASS"
    return "FAIL" if ratio <= plan.lower + _TIE or failures > plan.most_failures else "UNDECIDED"


_READY = {
    (plan.p0, plan.p1): plan
    for plan in (
        SprtPlan(0.60, 0.80, 3.094, -2.844, 73, 21),
        SprtPlan(0.70, 0.80, 3.144, -3.044, 257, 63),
        SprtPlan(0.70, 0.85, 3.094, -2.894, 108, 23),
        SprtPlan(0.80, 0.90, 3.144, -2.894, 175, 25),
        SprtPlan(0.85, 0.95, 3.194, -2.744, 114, 10),
        SprtPlan(0.90, 0.95, 3.194, -2.894, 379, 27),
        SprtPlan(0.90, 0.97, 3.194, -2.694, 161, 9),
        SprtPlan(0.95, 0.99, 3.194, -2.594, 219, 5),
    )
}
"""What `search_sprt` finds for usual rates with errors of .05."""
_TIE = 1e-12
_LARGEST_BOUND = 20_000
"""Expected items beyond which a search would take minutes."""
_WIDEST_CAP = 3.5
"""Caps are searched up to this multiple of the larger bound of Wald."""
_STEPS = range(-8, 9)
"""Twentieths by which the boundaries differ from Wald's."""


def _boundaries(alpha: float, beta: float) -> Iterator[tuple[float, float]]:
    upper, lower = log((1 - beta) / alpha), log(beta / (1 - alpha))
    return ((round(upper + i / 20, 3), round(lower + j / 20, 3)) for i in _STEPS for j in _STEPS)


def _feasible(
    rates: tuple[float, float], boundaries: tuple[float, float], errors: tuple[float, float], widest: int
) -> Iterator[tuple[SprtPlan, tuple[float, float]]]:
    """Yield the plans with these boundaries that keep both errors, with their expected items, not curtailed."""
    (p0, p1), (upper, lower), (alpha, beta) = rates, boundaries, errors
    up, down = log(p1 / p0), log((1 - p1) / (1 - p0))
    alive = {0: (1.0, 1.0)}
    passed0 = passed1 = 0.0
    mean0 = mean1 = 0.0
    for n in range(1, widest + 1):
        mean0 += fsum(w0 for w0, _ in alive.values())
        mean1 += fsum(w1 for _, w1 in alive.values())
        grown: dict[int, tuple[float, float]] = {}
        for failures, (w0, w1) in alive.items():
            a0, a1 = grown.get(failures, (0.0, 0.0))
            grown[failures] = (a0 + w0 * p0, a1 + w1 * p1)
            grown[failures + 1] = (w0 * (1 - p0), w1 * (1 - p1))
        alive = {}
        for failures, weights in grown.items():
            ratio = (n - failures) * up + failures * down
            if ratio >= upper - _TIE:
                passed0, passed1 = passed0 + weights[0], passed1 + weights[1]
            elif ratio > lower + _TIE:
                alive[failures] = weights
        if passed0 > alpha or not alive:
            return
        most, errs0, passes1 = _cut_off(alive, passed0, passed1, alpha)
        if most is not None and 1 - passes1 <= beta and errs0 <= alpha:
            yield SprtPlan(p0, p1, upper, lower, n, most), (mean0, mean1)


def _cut_off(
    alive: dict[int, tuple[float, float]], passed0: float, passed1: float, alpha: float
) -> tuple[int | None, float, float]:
    most = None
    for failures in sorted(alive):
        if passed0 + alive[failures][0] > alpha:
            break
        passed0, passed1, most = passed0 + alive[failures][0], passed1 + alive[failures][1], failures
    return most, passed0, passed1


def _stops(plan: SprtPlan, every: int) -> Iterator[tuple[int, int, int, Result]]:
    """Yield every place where a path stops: items, failures, the number of paths, the outcome."""
    alive = {0: 1}
    for n in range(1, plan.cap + 1):
        grown: dict[int, int] = {}
        for failures, paths in alive.items():
            grown[failures] = grown.get(failures, 0) + paths
            grown[failures + 1] = grown.get(failures + 1, 0) + paths
        alive = {}
        for failures, paths in grown.items():
            looks = n % every == 0 or n == plan.cap
            result = decide_sprt(plan, n - failures, failures) if looks else "UNDECIDED"
            if result == "UNDECIDED":
                alive[failures] = paths
            else:
                yield n, failures, paths, result


def _check_design(p0: float, p1: float, alpha: float, beta: float) -> None:
    if not 0 < p0 < p1 < 1:
        raise EstimateError(f"expected 0 < p0 < p1 < 1, got p0={p0!r}, p1={p1!r}")
    if not (0 < alpha < 0.5 and 0 < beta < 0.5):
        raise EstimateError(f"expected errors between 0 and 0.5, got alpha={alpha!r}, beta={beta!r}")
