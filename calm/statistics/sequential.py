"""
Stopping early on means of item values: the padded t, looked at several times.

| name | meaning |
|---|---|
| `Look`, `GroupPlan` | at how many items a claim is looked at, and at which levels |
| `plan_for` | the looks of the gate for a number of items |
| `nominal_levels` | levels with the wanted total error over all looks |

Items come in an order drawn beforehand (a seeded shuffle), never sorted by their properties. For rates of yes-or-no
items see `calm.statistics.sprt`, for data added without a plan `calm.statistics.betting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, erfc, exp, isfinite, pi, sqrt
from typing import Literal

from calm.errors import EstimateError

Direction = Literal["<=", ">=", "abs<="]

TOPPED_UP = 2.0
"""How many times the items a topped-up look weighs as much as: each item has twice the asks."""
FEW = 100
"""Items below which there is nothing to gain by looking before the end."""
MANY = 400
"""Items from which on the first look is at an eighth of them, not at a quarter."""


@dataclass(frozen=True, slots=True)
class Look:
    """
    A look at the first `n` items.

    `prove` and `disprove` are the one-sided levels of a pass and of a fail. A `topped` look uses the items' values
    after more asks.
    """

    n: int
    prove: float
    disprove: float
    topped: bool = False


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The looks of a claim, in order."""

    looks: tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class _Spending:
    """The looks as shares of all items, and the errors of a pass and of a fail that are spent up to each."""

    shares: tuple[float, ...]
    prove: tuple[float, ...]
    disprove: tuple[float, ...]


_ONCE = _Spending((1.0,), (0.05,), (0.05,))
_TOPPED = _Spending((1.0, TOPPED_UP), (0.03, 0.05), (0.03, 0.05))
_LOOKS = _Spending((0.25, 0.5, 0.75, 1.0), (0.009, 0.022, 0.034, 0.05), (0.003, 0.010, 0.020, 0.05))
_LOOKS_TOPPED = _Spending(
    (0.25, 0.5, 0.75, 1.0, TOPPED_UP), (0.009, 0.022, 0.030, 0.034, 0.05), (0.003, 0.006, 0.010, 0.015, 0.05)
)
_EARLY = _Spending((0.125, 0.25, 0.5, 1.0), _LOOKS.prove, _LOOKS.disprove)
_EARLY_TOPPED = _Spending((0.125, 0.25, 0.5, 1.0, TOPPED_UP), _LOOKS_TOPPED.prove, _LOOKS_TOPPED.disprove)
"""
Each spends .05 in all. A pass at the first look gets what 47 of 50 items without any movement need for a limit of .10.
Early fails save little, as a biased judge is run seldom, so most of their error is kept for the last look. Found by
simulation; `python -m benchmarks.calibration` shows what follows.
"""


def plan_for(n: int, *, sequential: bool, staged: bool) -> GroupPlan:
    """
    Return the looks for n items.

    `sequential`: at 25, 50, 75 and 100 % of the items (from `MANY` on earlier, below `FEW` only at the end), else at
    the end alone. `staged`: what is undecided at the end is looked at again after more asks of each item. A pass and a
    fail each err with probability at most .05 over all looks. A look at which n is too small to prove anything does no
    harm: its share of the error is lost.

    >>> [(look.n, look.topped) for look in plan_for(200, sequential=True, staged=True).looks]
    [(50, False), (100, False), (150, False), (200, False), (200, True)]
    >>> [round(look.prove, 3) for look in plan_for(60, sequential=True, staged=True).looks]
    [0.03, 0.033]
    """
    if not sequential or n < FEW:
        spending = _TOPPED if staged else _ONCE
    elif n < MANY:
        spending = _LOOKS_TOPPED if staged else _LOOKS
    else:
        spending = _EARLY_TOPPED if staged else _EARLY
    looks = [
        Look(min(n, ceil(n * share - 1e-9)), prove, disprove, topped=share > 1)
        for share, prove, disprove in zip(spending.shares, *_levels(spending), strict=True)
    ]
    return GroupPlan(tuple(looks))


@cache
def _levels(spending: _Spending) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the levels of a pass and of a fail at each look."""
    return nominal_levels(spending.prove, spending.shares), nominal_levels(spending.disprove, spending.shares)


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


_HALF_POINTS = 60
"""Half the number of intervals of Simpson's rule: errors of the levels stay below .0001."""


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
