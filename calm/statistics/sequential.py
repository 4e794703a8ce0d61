"""
Stopping early on means of item values: the padded t, looked at several times.

| name | meaning |
|---|---|
| `Look`, `GroupPlan` | at how many items a claim is looked at, and at which levels |
| `TWO_PLUS_TWO`, `TWO_STAGE` | the plans of the gate for 200 items: 2+2 asks; 4+2 asks topped up to 4+4 |
| `plan_for` | one of them for another number of items |
| `spending`, `nominal_levels` | levels with the wanted total error over all looks |
| `total_errors` | the error spent up to each look by given levels: the check of the above |
| `first_crossing` | the outcome of a claim and the look that decides it |
| `repeated_interval` | bounds that hold at whichever look the data stopped |

Items come in an order drawn beforehand (a seeded shuffle), never sorted by their properties. For rates of yes-or-no
items see `calm.statistics.sprt`, for data added without a plan `calm.statistics.betting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, erfc, exp, isfinite, pi, sqrt
from statistics import NormalDist
from typing import Literal

from calm.errors import EstimateError
from calm.statistics.intervals import padded_t

Direction = Literal["<=", ">=", "abs<="]
Result = Literal["PASS", "FAIL", "UNDECIDED"]

TOPPED_UP = 1.475
"""How much more a look with 4+4 asks weighs than one with 4+2: as 295 items against 200."""


@dataclass(frozen=True, slots=True)
class Look:
    """
    A look at the first `n` items.

    `prove` and `disprove` are the one-sided levels of a pass and of a fail (None: not possible at this look). A
    `topped` look uses the items' values after more asks.
    """

    n: int
    prove: float | None
    disprove: float | None
    topped: bool = False


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The looks of a claim, in order."""

    looks: tuple[Look, ...]


TWO_PLUS_TWO = GroupPlan(
    (
        Look(40, None, 0.0101),
        Look(80, 0.0201, 0.0133),
        Look(120, 0.0185, 0.0169),
        Look(160, 0.0218, 0.0210),
        Look(200, 0.0259, 0.0253),
    )
)
"""
Two clean and two perturbed asks. The levels are those of `spending(0.05, ...)` within .0001: linear spending, .01 for
every 40 items, where a pass spends nothing at 40 (no mean of 40 can prove a limit of .05).
"""

TWO_STAGE = GroupPlan(
    (
        Look(40, None, 0.0101),
        Look(80, 0.0202, 0.0071),
        Look(120, 0.0114, 0.0085),
        Look(160, 0.0119, 0.0104),
        Look(200, 0.0130, 0.0119),
        Look(200, 0.0256, 0.0307, topped=True),
    )
)
"""
Four clean and two perturbed asks, then four perturbed at the last look. The levels are `nominal_levels` of the errors
.020 .025 .030 .035 .050 (pass) and .010 .015 .020 .025 .030 .050 (fail), spent up to each look, where the topped-up
look weighs as 295 items: .005 for every 40 items, .01 at the first look, and the rest for the top-up. They were found
by simulation, so they differ from the integrated levels by up to .0003.
"""


def plan_for(n: int, *, plan: GroupPlan = TWO_STAGE) -> GroupPlan:
    """
    Return a plan for n items: its looks at the same shares of n, with the same levels.

    The error of a plan depends on the shares alone. A look at which n is too small to prove anything does no harm: its
    share of the error is lost. Smallest n: 10.

    Raises `EstimateError` below 10 items.

    >>> [look.n for look in plan_for(150).looks]
    [30, 60, 90, 120, 150, 150]
    """
    if n < 10:
        raise EstimateError(f"expected at least 10 items for looks before the last, got n={n}")
    full = plan.looks[-1].n
    return replace(plan, looks=tuple(replace(look, n=ceil(n * look.n / full)) for look in plan.looks))


def spending(total: float, looks: Sequence[float]) -> tuple[float, ...]:
    """
    Return the one-sided level of each look so that together they err with probability `total`.

    Linear spending: the error spent up to a look is the look's share of the last one (Hwang, Shih & DeCani 1990, gamma
    = 0; Lan & DeMets 1983). `looks` are the numbers of independent items, ascending. Levels are in (0, total].

    Raises `EstimateError` for no looks, looks that do not ascend, or a total outside (0, 0.5).

    >>> [round(level, 4) for level in spending(0.05, [80, 120, 160, 200])]
    [0.02, 0.0185, 0.0219, 0.0258]
    """
    if not looks:
        raise EstimateError("expected at least one look, got none")
    return nominal_levels([total * look / looks[-1] for look in looks], looks)


def nominal_levels(spent: Sequence[float], information: Sequence[float]) -> tuple[float, ...]:
    """
    Return the one-sided level of each look so that the errors up to each look are `spent`.

    The standardised means at the looks are those of a random walk observed at `information` (items, or what weighs as
    many); the probability of a first crossing at each look is integrated over the walk's density (Armitage, McPherson &
    Rowe 1969). Levels are in (0, 0.5).

    Raises `EstimateError` for no looks, information that does not ascend, or errors that do not ascend within (0, 0.5).

    >>> [round(level, 4) for level in nominal_levels([0.02, 0.025, 0.03, 0.035, 0.05], [80, 120, 160, 200, 295])]
    [0.02, 0.0112, 0.0117, 0.0131, 0.0259]
    """
    _check_looks(information, len(spent))
    if not all(a < b for a, b in zip([0.0, *spent], [*spent, 0.5], strict=True)):
        raise EstimateError(f"expected errors that ascend between 0 and 0.5, got {list(spent)}")
    walk = _Walk()
    levels = []
    for target, time in zip(spent, information, strict=True):
        bound = _bound_that_spends(walk, target, time)
        levels.append(_upper(bound))
        walk = _advance(walk, time, bound)
    return tuple(levels)


def total_errors(levels: Sequence[float], information: Sequence[float]) -> tuple[float, ...]:
    """
    Return the probability of a false crossing up to each look, when each look is taken at its level.

    The inverse of `nominal_levels`. In [0, 1].

    Raises `EstimateError` for no looks, information that does not ascend, or levels outside (0, 0.5).

    >>> [round(error, 3) for error in total_errors([0.0201, 0.0185, 0.0218, 0.0259], [80, 120, 160, 200])]
    [0.02, 0.03, 0.04, 0.05]
    """
    _check_looks(information, len(levels))
    if not all(0 < level < 0.5 for level in levels):
        raise EstimateError(f"expected levels between 0 and 0.5, got {list(levels)}")
    walk = _Walk()
    errors = []
    for level, time in zip(levels, information, strict=True):
        bound = -NormalDist().inv_cdf(level)
        errors.append(walk.spent + _crossing(walk, time, bound))
        walk = _advance(walk, time, bound)
    return tuple(errors)


def first_crossing(
    values: Sequence[float],
    limit: float,
    direction: Direction,
    low: float,
    high: float,
    *,
    plan: GroupPlan = TWO_STAGE,
    topped: Sequence[float] | None = None,
    closed: bool = False,
) -> tuple[Result, int]:
    """
    Return the outcome of the claim `mean <direction> limit` and the number of items at the look that decides it.

    `values` are the item values so far, in the order drawn, in [low, high]; at each look of the plan that they reach,
    the padded t of the first items is compared with the limit at the look's levels. `topped` are the items' values
    after the top-up, once there are any, for the plan's topped-up look. `closed` says that no more items will come: the
    last look of the first stage is then taken at the items at hand, which errs less than planned. "UNDECIDED" with the
    number of items so far if no look decides (yet).

    Items are independent of each other. A false pass over all looks has probability at most .05, a false fail too.
    Smallest n: that of the plan's first look.

    Raises `EstimateError` for no values, or values outside [low, high].

    >>> first_crossing([0.0] * 200, 0.05, "<=", -0.5, 1.0, plan=TWO_PLUS_TWO)
    ('PASS', 80)
    >>> first_crossing([0.0, 1.0] * 20, 0.05, "<=", -0.5, 1.0, plan=TWO_PLUS_TWO)
    ('FAIL', 40)
    """
    if not values:
        raise EstimateError("expected at least one item value, got none")
    for look in _reached(plan, len(values), None if topped is None else len(topped), closed):
        seen = topped if look.topped and topped is not None else values
        outcome = _verdict(seen[: look.n], limit, direction, look, (low, high))
        if outcome != "UNDECIDED":
            return outcome, look.n
    return "UNDECIDED", len(values) if topped is None else len(topped)


def repeated_interval(
    values: Sequence[float], direction: Direction, low: float, high: float, look: Look
) -> tuple[float, float]:
    """
    Return bounds for the mean at a look; they hold at whichever look the data stopped.

    The bound that can prove the claim is taken at the look's level for a pass, the other at its level for a fail, so
    that over all looks each errs with probability at most .05 (Jennison & Turnbull 1989), unlike a fixed interval after
    a stop. Where a look spends nothing on a side, the bound is the end of the range. With "abs<=" both sides can do
    both: each bound takes the smaller of the levels. Items are independent. Smallest n: 2.

    Raises `EstimateError` for fewer than two values or values outside the range.

    >>> repeated_interval([0.0] * 40, "<=", -0.5, 1.0, TWO_PLUS_TWO.looks[0])[1]
    1.0
    >>> lower, upper = repeated_interval([0.0] * 80, "<=", -0.5, 1.0, TWO_PLUS_TWO.looks[1])
    >>> round(lower, 3), round(upper, 3)
    (-0.027, 0.048)
    """
    if direction == "abs<=":
        both = None if look.prove is None or look.disprove is None else min(look.prove, look.disprove)
        return _low(values, low, high, both), _high(values, low, high, both)
    upper, lower = (look.prove, look.disprove) if direction == "<=" else (look.disprove, look.prove)
    return _low(values, low, high, lower), _high(values, low, high, upper)


def _reached(plan: GroupPlan, n: int, n_topped: int | None, closed: bool) -> list[Look]:
    first = [look for look in plan.looks if not look.topped]
    reached = [look for look in first if look.n <= n]
    if (closed or n_topped is not None) and len(reached) < len(first) and n >= 2:
        reached.append(replace(first[len(reached)], n=n))
    if n_topped is not None:
        reached += [replace(look, n=min(look.n, n_topped)) for look in plan.looks if look.topped]
    return reached


def _verdict(
    values: Sequence[float], limit: float, direction: Direction, look: Look, ends: tuple[float, float]
) -> Result:
    low, high = ends
    proof_low, proof_high = _low(values, low, high, look.prove), _high(values, low, high, look.prove)
    counter_low, counter_high = _low(values, low, high, look.disprove), _high(values, low, high, look.disprove)
    match direction:
        case "<=":
            proven, disproven = proof_high <= limit, counter_low > limit
        case ">=":
            proven, disproven = proof_low >= limit, counter_high < limit
        case "abs<=":
            proven = -limit <= proof_low and proof_high <= limit
            disproven = counter_low > limit or counter_high < -limit
    if look.prove is not None and proven:
        return "PASS"
    return "FAIL" if look.disprove is not None and disproven else "UNDECIDED"


def _low(values: Sequence[float], low: float, high: float, level: float | None) -> float:
    return low if level is None else padded_t(values, low, high, level)[0]


def _high(values: Sequence[float], low: float, high: float, level: float | None) -> float:
    return high if level is None else padded_t(values, low, high, level)[1]


_HALF_POINTS = 150
"""Half the number of intervals of Simpson's rule: errors of the levels stay below .00002."""


@dataclass(frozen=True, slots=True)
class _Walk:
    """The walk that has not crossed yet: its density at points, with Simpson's weights, and the error spent so far."""

    time: float = 0.0
    points: tuple[float, ...] = (0.0,)
    masses: tuple[float, ...] = (1.0,)
    spent: float = 0.0


def _upper(z: float) -> float:
    return 0.5 * erfc(z / sqrt(2))


def _crossing(walk: _Walk, time: float, bound: float) -> float:
    """Return the probability that the walk first exceeds `bound` standard deviations at `time`."""
    scale, edge = sqrt(time - walk.time), bound * sqrt(time)
    return sum(mass * _upper((edge - point) / scale) for point, mass in zip(walk.points, walk.masses, strict=True))


def _bound_that_spends(walk: _Walk, target: float, time: float) -> float:
    low, high = -1.0, 9.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if walk.spent + _crossing(walk, time, middle) > target else (low, middle)
    return (low + high) / 2


def _advance(walk: _Walk, time: float, bound: float) -> _Walk:
    """Return the walk at `time`, without the paths that crossed."""
    lowest, highest = -7 * sqrt(time), bound * sqrt(time)
    step = (highest - lowest) / (2 * _HALF_POINTS)
    points = tuple(lowest + step * i for i in range(2 * _HALF_POINTS + 1))
    scale = sqrt(time - walk.time)
    masses = []
    for i, point in enumerate(points):
        weight = step / 3 * (1 if i in (0, 2 * _HALF_POINTS) else 4 if i % 2 else 2)
        density = sum(m * exp(-(((point - p) / scale) ** 2) / 2) for p, m in zip(walk.points, walk.masses, strict=True))
        masses.append(weight * density / (scale * sqrt(2 * pi)))
    return _Walk(time, points, tuple(masses), walk.spent + _crossing(walk, time, bound))


def _check_looks(information: Sequence[float], expected: int) -> None:
    if not information or len(information) != expected:
        raise EstimateError(f"expected information for each look, got {len(information)} for {expected} looks")
    if not all(isfinite(b) and a < b for a, b in zip([0.0, *information], information, strict=False)):
        raise EstimateError(f"expected looks that ascend, got {list(information)}")
