"""Stopping early: the padded t at several looks, bets on bounded values at any time, and two streams of yes or no."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import ceil, erfc, exp, inf, isfinite, log, log1p, pi, sqrt
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
        levels.append(0.5 * erfc(bound / sqrt(2)))
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
    crossing = 0.5 * sum([m * erfc(z) for z, m in _distances(walk, time, bound)])
    return _Walk(time, points, tuple(masses), walk.spent + crossing)


def _check_looks(information: Sequence[float], expected: int) -> None:
    if not information or len(information) != expected:
        raise EstimateError(f"expected information for each look, got {len(information)} for {expected} looks")
    if not all(isfinite(b) and a < b for a, b in zip([0.0, *information], information, strict=False)):
        raise EstimateError(f"expected looks that ascend, got {list(information)}")


Result = Literal["PASS", "FAIL", "UNDECIDED"]

_BOLDEST = 0.9
"""The share of the capital that a bet can lose at most."""
_FIRST_VARIANCE = 0.03
"""The variance assumed before the first item, of values in [0, 1]; it counts as one item."""
_GRID = 256
"""The number of means tried from end to end before halving narrows a bound."""


def capital(values: Sequence[float], mean: float, bets: Sequence[float]) -> list[float]:
    """
    Return the logarithm of the capital after each item, 0 at the start.

    Each item multiplies the capital by 1 + bet * (value - mean) (Waudby-Smith & Ramdas 2024). Values and mean lie in
    [0, 1]; a bet may depend on the items before it, and is positive if it is on a greater mean. Under the null the
    expected value of each item, given those before it, is `mean`, or lies on the other side of it than the bets.
    Smallest n: 1.

    Raises `EstimateError` for no values, another number of bets, or a bet that could lose more than everything.

    >>> [round(log_capital, 3) for log_capital in capital([1.0, 0.0], 0.5, [1.0, 1.0])]  # 1.5, then 1.5 * 0.5
    [0.405, -0.288]
    """
    if not values or len(values) != len(bets):
        raise EstimateError(f"expected one bet a value, got {len(values)} values and {len(bets)} bets")
    total = 0.0
    grown = []
    for value, bet in zip(values, bets, strict=True):
        factor = bet * (value - mean)
        if not factor > -1:
            raise EstimateError(f"expected bets that leave some capital, got bet={bet!r} at value={value!r}")
        total += log1p(factor)
        grown.append(total)
    return grown


def kelly_bets(values: Sequence[float], mean: float) -> list[float]:
    """
    Return the bet before each item that plug-in Kelly makes against `mean`.

    (m - mean) / (v + (m - mean)^2) with m and v the mean and variance of the items before (Kelly 1956;
    Waudby-Smith & Ramdas 2024), where one item at `mean` is assumed beforehand; limited so that no item can cost more
    than .9 of the capital. Values and mean lie in [0, 1]. Smallest n: 1.

    Raises `EstimateError` for no values, or mean outside (0, 1).

    >>> [round(bet, 2) for bet in kelly_bets([1.0, 1.0, 1.0], 0.5)]
    [0.0, 1.8, 1.8]
    """
    if not values or not 0 < mean < 1:
        raise EstimateError(f"expected values and a mean between 0 and 1, got n={len(values)}, mean={mean!r}")
    return list(_bets(values, mean))


def evidence(values: Sequence[float], mean: float, low: float, high: float) -> tuple[float, float]:
    """
    Return the greatest log capital ever reached on a mean above `mean`, and on one below it; both at least 0.

    One at log(1 / level) or more disproves at `level` that the mean is at most (at least) `mean`. Item values lie in
    [low, high] and are independent, or have the same expectation given the items before. Smallest n: 1.

    Raises `EstimateError` for no values, values outside the range, or a mean not inside it.

    >>> above, below = evidence([0.0] * 66, 0.05, -0.5, 1.0)
    >>> below >= log(1 / 0.05) > above
    True
    """
    if not values:
        raise EstimateError("expected at least one item value, got none")
    if not all(isfinite(v) and low - 1e-9 <= v <= high + 1e-9 for v in values):
        raise EstimateError(f"expected values in [{low}, {high}], got {min(values)} to {max(values)}")
    if not low < mean < high:
        raise EstimateError(f"expected a mean inside ({low}, {high}), got mean={mean!r}")
    above, below = _paths(values, mean, low, high)
    return max(0.0, *above), max(0.0, *below)


def decide_anytime(
    values: Sequence[float], limit: float, direction: Direction, low: float, high: float, *, level: float = 0.05
) -> tuple[Result, int]:
    """
    Return the outcome of the claim `mean <direction> limit` and the number of items at which it was decided.

    Item values come in the order in which they were asked, in [low, high]; the first side to reach a capital of
    1 / level decides. A false pass has probability at most `level` whenever one looks, a false fail too (with "abs<="
    at most twice that). Items are independent. Smallest n: 1.

    Raises `EstimateError` for no values, values outside the range, or a limit not inside it.

    >>> decide_anytime([0.0] * 200, 0.05, "<=", -0.5, 1.0)
    ('PASS', 66)
    """
    limits = (-limit, limit) if direction == "abs<=" else (limit, limit)
    evidence(values[:1], limits[0], low, high)  # refuses what cannot be bet on
    evidence(values, limits[1], low, high)
    wanted = log(1 / level)
    under, over = (_crossings(_paths(values, edge, low, high), wanted) for edge in limits)
    above_lower, below_lower = under
    above_upper, below_upper = over
    match direction:
        case "<=":
            passed, failed = below_upper, above_upper
        case ">=":
            passed, failed = above_upper, below_upper
        case "abs<=":
            passed, failed = max(above_lower, below_upper), min(below_lower, above_upper)
    first = min(passed, failed)
    if first > len(values):
        return "UNDECIDED", len(values)
    return ("PASS" if passed < failed else "FAIL"), first


def confidence_sequence(
    values: Sequence[float], low: float, high: float, *, level: float = 0.05
) -> tuple[float, float]:
    """
    Return a lower and an upper bound for the mean that hold at every number of items at once.

    Each bound alone holds with probability 1 - level: it is the end of the means that no bettor has disproven
    (`evidence` inverted, in [low, high]). Item values lie in [low, high] and are independent. Smallest n: 1. What was
    once disproven stays so: of values that drift, a bound may leave out the average, or the bounds may cross.

    Raises `EstimateError` for no values or values outside the range.

    >>> lower, upper = confidence_sequence([0.0] * 200, -0.5, 1.0)
    >>> -0.02 < lower < 0 < upper < 0.02
    True
    """
    wanted, width = log(1 / level), high - low
    evidence(values, low + width / 2, low, high)  # refuses what cannot be bet on
    scaled = [(value - low) / width for value in values]

    def disproven(place: float, side: int) -> bool:
        centre = (low + place * width - low) / width
        total = 0.0
        for value, bet in zip(scaled, _bets(scaled, centre), strict=True):
            total += log1p((max(bet, 0.0) if side == 0 else min(bet, 0.0)) * (value - centre))
            if total >= wanted:  # means far from the true one are disproven by the first few items
                return True
        return False

    return (
        low + width * _edge(lambda place: disproven(place, 0)),
        high - width * _edge(lambda place: disproven(1 - place, 1)),
    )


def _bets(values: Sequence[float], mean: float) -> Iterator[float]:
    total, squares = mean, _FIRST_VARIANCE
    for count, value in enumerate(values, start=1):
        gap = total / count - mean
        bet = gap / (squares / count + gap * gap)
        yield min(max(bet, -_BOLDEST / (1 - mean)), _BOLDEST / mean)
        total += value
        squares += (value - total / (count + 1)) ** 2


def _paths(values: Sequence[float], mean: float, low: float, high: float) -> tuple[list[float], list[float]]:
    width = high - low
    scaled, centre = [(v - low) / width for v in values], (mean - low) / width
    bets = kelly_bets(scaled, centre)
    return capital(scaled, centre, [max(b, 0.0) for b in bets]), capital(scaled, centre, [min(b, 0.0) for b in bets])


def _crossings(paths: tuple[list[float], list[float]], wanted: float) -> tuple[int, int]:
    above, below = (next((i for i, c in enumerate(path, start=1) if c >= wanted), len(path) + 1) for path in paths)
    return above, below


def _edge(disproven: Callable[[float], bool]) -> float:
    """Return the first place in [0, 1], from 0 on, that is not disproven, a little before it rather than after."""
    last = 0.0
    for step in range(1, _GRID):
        place = step / _GRID
        if not disproven(place):
            break
        last = place
    else:
        return last
    for _ in range(12):
        middle = (last + place) / 2
        last, place = (middle, place) if disproven(middle) else (last, middle)
    return last


WEIGHT: Final = 3.0
"""So many items the first guess of a rate counts as, beside the items seen."""
_NEAREST: Final = 0.01
"""A guess of a rate comes no nearer to 0 and 1."""
_HALVINGS: Final = 40


@dataclass(frozen=True, slots=True)
class Block:
    """Successes and items of the first and of the second stream; each has one item at least."""

    first: int
    of_first: int
    second: int
    of_second: int

    def __post_init__(self) -> None:
        if not (0 <= self.first <= self.of_first and 0 <= self.second <= self.of_second):
            raise EstimateError(f"expected successes among the items, got {self!r}")
        if min(self.of_first, self.of_second) < 1:
            raise EstimateError(f"expected an item of each stream at least, got {self!r}")


def evidence_of_two(
    blocks: Sequence[Block], noise: float = 0.1, gap: float = 0.0, second: float | None = None
) -> list[float]:
    """
    Return the natural logarithm of the e-value after each block, against p2 - p1 <= gap.

    Each block multiplies it by q1(y) q2(y) / (r1(y) r2(y)): q are guesses of the two rates from the blocks before
    (at first `noise`, and `second` or else 1 - `noise`), r the rates with r2 - r1 = gap that are nearest to them
    (Kullback-Leibler). Where the guesses do not exceed the gap, the block changes nothing. The rates may differ from
    block to block as long as p2 - p1 <= gap in each. `noise` is in (0, 0.5), `gap` in (-1, 1), `second` in (0, 1).
    Smallest n: one block.

    Raises `EstimateError` for no blocks, or numbers outside their range.

    >>> [round(e, 2) for e in evidence_of_two([Block(0, 1, 1, 1)] * 3, noise=0.05)]
    [1.28, 2.59, 3.92]
    """
    if not blocks or not 0 < noise < 0.5 or not -1 < gap < 1:
        raise EstimateError(f"expected blocks, noise in (0, 0.5) and a gap in (-1, 1), got {noise!r} and {gap!r}")
    total, grown = 0.0, []
    for block, guess in zip(blocks, _guesses(blocks, noise, 1 - noise if second is None else second), strict=True):
        total += _factor(block, guess, gap)
        grown.append(total)
    return grown


def gap_bounds(blocks: Sequence[Block], noise: float = 0.1, level: float = 0.05) -> tuple[float, float]:
    """
    Return a lower and an upper bound for p2 - p1, each of which holds with 1 - level whenever one looks.

    The lower bound is the largest gap that the evidence disproves, the upper one the same with the streams exchanged.
    In [-1, 1]. Smallest n: one block. Raises `EstimateError` as `evidence` does.

    >>> low, high = gap_bounds([Block(0, 1, 1, 1)] * 8, noise=0.05)
    >>> round(low, 2), high
    (0.61, 1.0)
    """
    wanted = log(1 / level)
    turned = [Block(b.second, b.of_second, b.first, b.of_first) for b in blocks]
    return _lower(blocks, noise, wanted), -_lower(turned, noise, wanted)


def _lower(blocks: Sequence[Block], noise: float, wanted: float) -> float:
    """Return the largest gap that is disproven at any block, from below; -1 where none is."""
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if max(evidence_of_two(blocks, noise, middle)) >= wanted else (low, middle)
    return low if low > -1 + 1e-9 else -1.0


def _guesses(blocks: Sequence[Block], one: float, two: float) -> Iterator[tuple[float, float]]:
    """Yield the guess of both rates before each block; the first ones are given."""
    first, of_first, second, of_second = WEIGHT * one, WEIGHT, WEIGHT * two, WEIGHT
    for block in blocks:
        yield _inside(first / of_first), _inside(second / of_second)
        first, of_first = first + block.first, of_first + block.of_first
        second, of_second = second + block.second, of_second + block.of_second


def _inside(rate: float) -> float:
    return min(max(rate, _NEAREST), 1 - _NEAREST)


def _factor(block: Block, guess: tuple[float, float], gap: float) -> float:
    q1, q2 = guess
    if q2 - q1 <= gap:
        return 0.0
    r1 = _nearest(q1, q2, block.of_first, block.of_second, gap)
    r2 = r1 + gap
    return (
        block.first * log(q1 / r1)
        + (block.of_first - block.first) * log((1 - q1) / (1 - r1))
        + block.second * log(q2 / r2)
        + (block.of_second - block.second) * log((1 - q2) / (1 - r2))
    )


@lru_cache(maxsize=65_536)
def _nearest(q1: float, q2: float, n1: int, n2: int, gap: float) -> float:
    if gap == 0.0:
        return (n1 * q1 + n2 * q2) / (n1 + n2)
    low, high = max(0.0, -gap), min(1.0, 1.0 - gap)
    for _ in range(60):  # the divergence is convex: its slope changes sign once
        r = (low + high) / 2
        slope = n1 * ((1 - q1) / (1 - r) - q1 / r) + n2 * ((1 - q2) / (1 - r - gap) - q2 / (r + gap))
        low, high = (r, high) if slope < 0 else (low, r)
    return (low + high) / 2
