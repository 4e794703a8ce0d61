"""
Stopping early on means of item values: the padded t, looked at several times.

| name | meaning |
|---|---|
| `Look`, `GroupPlan` | at how many items a claim is looked at, and at which levels |
| `plan_for` | the looks of the gate for a number of items |
| `nominal_levels` | levels with the wanted total error over all looks |

Items come in an order drawn beforehand (a seeded shuffle), never sorted by their properties. For data added without a
plan see `calm.statistics.betting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, erfc, exp, inf, isfinite, pi, sqrt
from typing import Final, Literal

from calm.errors import EstimateError

Direction = Literal["<=", ">=", "abs<="]

TOPPED_UP: Final = (1.9, 2.4)
"""
How many times as much a look weighs after each top-up: the first doubles the asks of an item in the arms compared, the
second those of the shared arms again.
"""
FIRST: Final = 45
"""Items at the first look: with none moved they prove a limit of .10 at its level."""
SOON: Final = 1.75
"""Where the first look comes early, the next come at so many times as many items each, until `SOON` times `FIRST`."""
APART: Final = 1.25
"""How many times as many items the last look has at least as the one before it."""
MANY: Final = 400
"""Items from which on looks at fifths of them would come too late."""
SPENT: Final = 0.05
"""The error of a pass, and of a fail, over all looks."""
FIRST_PASS: Final = 0.0115
"""The error of a pass that is spent at the first of several looks: .9 ** 45 is less."""
_BEFORE_TOP_UPS: Final = (0.037, 0.012)
"""The errors of a pass and of a fail that are spent before the first top-up, where several looks come before it."""
_ONE_LOOK: Final = 0.03
"""The error of either that is spent before the first top-up, where one look comes before it."""
_BETWEEN: Final = (0.043, 0.020)
"""The errors of a pass and of a fail that are spent up to the first of two top-ups."""


@dataclass(frozen=True, slots=True)
class Look:
    """
    A look at the first `n` items.

    `prove` and `disprove` are the one-sided levels of a pass and of a fail. A look after `topped` top-ups uses the
    items' values after more asks.
    """

    n: int
    prove: float
    disprove: float
    topped: int = 0


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The looks of a claim, in order."""

    looks: tuple[Look, ...]


def plan_for(n: int, *, sequential: bool, top_ups: int, first: int = FIRST) -> GroupPlan:
    """
    Return the looks for n items.

    `sequential`: at `first` items (if that is fewer than `FIRST`, then at `SOON` times as many, and again), at each
    fifth from the second on (from `MANY` items at 100, 200, 400, ...) and at the end, but at none that the end follows
    too soon to add to it. Else at the end alone. What is undecided at the end is looked at again
    after each of so many `top_ups`, 0 to 2. A pass and a fail each err with probability at most .05 over all looks.
    Early fails save little, as a biased judge is run seldom, so most of their error is kept for the last look. A look
    at which too few items have a value to prove anything does no harm: its share of the error is lost.

    >>> [(look.n, look.topped) for look in plan_for(200, sequential=True, top_ups=2).looks]
    [(45, 0), (80, 0), (120, 0), (160, 0), (200, 0), (200, 1), (200, 2)]
    >>> [round(look.prove, 4) for look in plan_for(60, sequential=True, top_ups=2).looks]
    [0.0115, 0.0345, 0.0129, 0.0174]
    """
    ends = _ends(n, first) if sequential else (n,)
    shares = tuple(round(end / n, 2) for end in ends)  # levels for 199 items are those for 200
    if len({0.0, *shares}) <= len(shares):  # the first looks at very many items are at less than a hundredth of them
        shares = tuple(end / n for end in ends)
    levels = zip(*_levels(shares, top_ups), strict=True)
    tops = (*((end, 0) for end in ends), *((n, number) for number in range(1, top_ups + 1)))
    return GroupPlan(
        tuple(Look(end, prove, fail, topped=topped) for (end, topped), (prove, fail) in zip(tops, levels, strict=True))
    )


def _ends(n: int, first: int) -> tuple[int, ...]:
    """Return the numbers of items at which several looks are taken: at fifths of few items, else each time twice."""
    if n < MANY:
        marks = [ceil(n * share - 1e-9) for share in (0.4, 0.6, 0.8)]
    else:
        marks = [100 * 2**k for k in range(n.bit_length()) if 100 * 2**k <= 0.8 * n]
    soon = [ceil(first * SOON**k) for k in (1, 2) if first * SOON**k < SOON * FIRST and first < FIRST]
    early = [first, *soon, *(mark for mark in marks if mark > 1.3 * max([first, *soon]))]
    return (*(end for end in early if APART * end <= n), n)


@cache
def _levels(shares: tuple[float, ...], top_ups: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the levels of a pass and of a fail at looks at these shares of all items, and after each top-up."""
    between, end = (list(_BETWEEN) if top_ups > 1 else []), ([SPENT] if top_ups else [])
    information = [*shares, *TOPPED_UP[:top_ups]]
    found = []
    for side, before in enumerate(_BEFORE_TOP_UPS):
        most = before if top_ups else SPENT
        if len(shares) == 1:
            spent = [_ONE_LOOK if top_ups else SPENT]
        elif side == 0:
            first, rest = shares[0], most - FIRST_PASS
            spent = [FIRST_PASS + rest * sqrt((share - first) / (1 - first)) for share in shares]
        else:
            spent = [most * share ** (1 if top_ups else 2) for share in shares]
        middle = [max(between[side], 0.04 if len(shares) == 1 else 0.0)] if between else []
        found.append(nominal_levels([*spent, *middle, *end], information))
    return found[0], found[1]


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
        if len(levels) < len(spent):
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
    return 0.5 * sum([m * erfc(z) for z, m in _distances(walk, time, bound)])


def _distances(walk: _Walk, time: float, bound: float) -> list[tuple[float, float]]:
    """Return how far each point is below a bound, as `erfc` takes it, with its mass."""
    scale, edge = sqrt(2 * (time - walk.time)), bound * sqrt(time)
    return [((edge - point) / scale, mass) for point, mass in zip(walk.points, walk.masses, strict=True)]


def _bound_that_spends(walk: _Walk, target: float, time: float) -> float:
    """Return the bound by Newton's method, and by halves where that leaves the bounds that are known or goes slowly."""
    low, high, bound = -1.0, 9.0, 2.0
    slope, step = sqrt(time / (2 * pi * (time - walk.time))), high - low
    for _ in range(100):
        far = _distances(walk, time, bound)
        excess = walk.spent + 0.5 * sum([m * erfc(z) for z, m in far]) - target
        low, high = (bound, high) if excess > 0 else (low, bound)
        steep = slope * sum([m * exp(-z * z) for z, m in far])
        better = bound + excess / steep if steep > 0 else inf
        if not (low <= better <= high and abs(better - bound) <= step / 2):
            better = (low + high) / 2
        step = abs(better - bound)
        if step < 1e-13:
            return better
        bound = better
    return bound


def _advance(walk: _Walk, time: float, bound: float) -> _Walk:
    """Return the walk at `time`, without the paths that crossed."""
    lowest, highest = -7 * sqrt(time), bound * sqrt(time)
    step = (highest - lowest) / (2 * _HALF_POINTS)
    points = tuple(lowest + step * i for i in range(2 * _HALF_POINTS + 1))
    scale = sqrt(2 * (time - walk.time))
    before = [(point / scale, mass) for point, mass in zip(walk.points, walk.masses, strict=True)]
    masses = []
    for i, point in enumerate(points):
        weight = step / 3 * (1 if i in (0, 2 * _HALF_POINTS) else 4 if i % 2 else 2)
        here = point / scale
        density = sum([m * exp(-(here - p) * (here - p)) for p, m in before])
        masses.append(weight * density / (scale * sqrt(pi)))
    return _Walk(time, points, tuple(masses), walk.spent + _crossing(walk, time, bound))


def _check_looks(information: Sequence[float], expected: int) -> None:
    if not information or len(information) != expected:
        raise EstimateError(f"expected information for each look, got {len(information)} for {expected} looks")
    if not all(isfinite(b) and a < b for a, b in zip([0.0, *information], information, strict=False)):
        raise EstimateError(f"expected looks that ascend, got {list(information)}")
