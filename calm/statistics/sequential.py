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
from math import erfc, exp, isfinite, pi, sqrt
from typing import Final, Literal

from calm.errors import EstimateError

Direction = Literal["<=", ">=", "abs<="]

TOPPED_UP: Final = 2.0
"""How many times the items a topped-up look weighs as much as: each item has twice the asks."""
FIRST: Final = 45
"""Items at the first look: with none moved they prove a limit of .10 at its level."""
FEW: Final = 100
"""Items below which there is nothing to gain by looking before the end."""
SPENT: Final = 0.05
"""The error of a pass, and of a fail, over all looks."""
_TOPPED: Final = 0.03
"""The error of either that is spent before the top-up, where there is one look before it."""
_FIRST_PASS: Final = 0.0115
"""The error of a pass that is spent at the first of several looks: .9 ** 45 is less."""
_BEFORE_TOP_UP: Final = (0.034, 0.015)
"""The errors of a pass and of a fail that are spent before the top-up, where several looks come before it."""


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


def plan_for(n: int, *, sequential: bool, staged: bool) -> GroupPlan:
    """
    Return the looks for n items.

    `sequential`: at `FIRST`, 100, 200, 400, ... items and at the end (below `FEW` only at the end), else at the end
    alone. `staged`: what is undecided at the end is looked at again after more asks of each item. A pass and a fail
    each err with probability at most .05 over all looks. Early fails save little, as a biased judge is run seldom, so
    most of their error is kept for the last look. A look at which too few items have a value to prove anything does no
    harm: its share of the error is lost.

    >>> [(look.n, look.topped) for look in plan_for(200, sequential=True, staged=True).looks]
    [(45, False), (100, False), (150, False), (200, False), (200, True)]
    >>> [round(look.prove, 3) for look in plan_for(60, sequential=True, staged=True).looks]
    [0.03, 0.031]
    """
    ends = _ends(n) if sequential and n >= FEW else (n,)
    shares = tuple(round(end / n, 2) for end in ends)  # levels for 199 items are those for 200
    levels = zip(*_levels(shares, staged), strict=True)
    tops = (*((end, False) for end in ends), *([(n, True)] if staged else []))
    return GroupPlan(
        tuple(Look(end, prove, fail, topped=topped) for (end, topped), (prove, fail) in zip(tops, levels, strict=True))
    )


def _ends(n: int) -> tuple[int, ...]:
    """Return the numbers of items at which several looks are taken."""
    marks = [100 * 2**k for k in range(n.bit_length()) if 100 * 2**k <= 0.8 * n]
    between = [3 * n // 4] if 2 * FEW - 20 <= n < 4 * FEW else []
    return (FIRST, *sorted({*marks[: 1 if between else None], *between}), n)


@cache
def _levels(shares: tuple[float, ...], staged: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the levels of a pass and of a fail at looks at these shares of all items, and after the top-up."""
    most, least = _BEFORE_TOP_UP if staged else (SPENT, SPENT)
    if len(shares) == 1:
        proven, disproven = ([_TOPPED], [_TOPPED]) if staged else ([SPENT], [SPENT])
    else:
        first = shares[0]
        proven = [_FIRST_PASS + (most - _FIRST_PASS) * sqrt((share - first) / (1 - first)) for share in shares]
        disproven = [least * share ** (1 if staged else 2) for share in shares]
    more, end = ([TOPPED_UP], [SPENT]) if staged else ([], [])
    information = [*shares, *more]
    return nominal_levels([*proven, *end], information), nominal_levels([*disproven, *end], information)


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
