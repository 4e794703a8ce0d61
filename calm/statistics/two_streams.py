"""
Two streams of yes-or-no items, compared while they come: has the second more successes than the first?

| name | meaning |
|---|---|
| `Block` | some items of both streams that came together |
| `evidence` | the log e-value after each block, against "the second rate exceeds the first by at most `gap`" |
| `gap_bounds` | bounds for the second rate minus the first that hold whenever one looks |

Where the streams do not differ, the e-value ever reaches 1 / level with probability at most `level`, whatever the
common rate is and whenever one stops (Turner, Ly & Grunwald 2024, for blocks of two Bernoulli streams; bounds as in
Turner & Grunwald 2023). Nothing is estimated for this: the guesses of the rates only decide how soon it gets there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final

from calm.errors import EstimateError

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


def evidence(blocks: Sequence[Block], noise: float = 0.1, gap: float = 0.0, second: float | None = None) -> list[float]:
    """
    Return the natural logarithm of the e-value after each block, against p2 - p1 <= gap.

    Each block multiplies it by q1(y) q2(y) / (r1(y) r2(y)): q are guesses of the two rates from the blocks before
    (at first `noise`, and `second` or else 1 - `noise`), r the rates with r2 - r1 = gap that are nearest to them
    (Kullback-Leibler). Where the guesses do not exceed the gap, the block changes nothing. The rates may differ from
    block to block as long as p2 - p1 <= gap in each. `noise` is in (0, 0.5), `gap` in (-1, 1), `second` in (0, 1).
    Smallest n: one block.

    Raises `EstimateError` for no blocks, or numbers outside their range.

    >>> [round(e, 2) for e in evidence([Block(0, 1, 1, 1)] * 3, noise=0.05)]
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
        low, high = (middle, high) if max(evidence(blocks, noise, middle)) >= wanted else (low, middle)
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
    """Return the first rate of the nearest pair of rates that lie `gap` apart."""
    if gap == 0.0:
        return (n1 * q1 + n2 * q2) / (n1 + n2)
    low, high = max(0.0, -gap), min(1.0, 1.0 - gap)
    for _ in range(60):  # the divergence is convex: its slope changes sign once
        r = (low + high) / 2
        slope = n1 * ((1 - q1) / (1 - r) - q1 / r) + n2 * ((1 - q2) / (1 - r - gap) - q2 / (r + gap))
        low, high = (r, high) if slope < 0 else (low, r)
    return (low + high) / 2
