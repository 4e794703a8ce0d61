"""
The referee: does the judge decide otherwise about an edited case than about the case as it is? Noise is not enough.

Both are asked in turn, each ask with inert words of its own behind the question (`calm.experiment.arms`), until the
evidence of `calm.statistics.sequential` suffices. The numbers of the asks are fixed, so with a cache the ruling on a
pair of cases is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log
from typing import Final, TypeAlias

from calm.statistics.sequential import Block, evidence_of_two

CLEAN_EACH: Final = 2
"""So many asks of the case as it is are compared with one of the edited case: other edits share them."""


class Flip(StrEnum):
    """What the referee says of an edited case."""

    YES = "YES"
    """The judge decides otherwise more often than about the case as it is."""
    NO = "NO"
    """The evidence speaks against it."""
    UNDECIDED = "UNDECIDED"
    """So many asks are not enough."""


@dataclass(frozen=True, slots=True)
class Terms:
    """
    When a referee stops.

    `level` is the probability of a YES where the edit changes nothing, whatever the judge's noise; `against` the
    e-value, below 1, at which it says NO. Before `least` asks of the edited case it says no YES, after `most` it gives
    up. `clean_each` asks of the clean case are compared with each of them. `noise` is a guess of how often the judge
    errs, in (0, 0.5): a wrong one costs asks, and no error.
    """

    level: float = 0.001
    against: float = 0.25
    most: int = 16
    least: int = 1
    clean_each: int = CLEAN_EACH
    noise: float = 0.05


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was ruled, and on which asks."""

    flip: Flip
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """One ask that a referee wants: of the edited case or of the clean one, and its number from 0."""

    edited: bool
    number: int


Asked: TypeAlias = Callable[[Sequence[Ask]], Sequence[bool]]
"""Asks, and returns for each ask whether the judge decided otherwise."""


@dataclass(frozen=True, slots=True)
class Stand:
    """
    When a verdict counts as unmoved: it is proven that the edit moves less than `gap` of the verdicts, either way.

    `level` is the probability of that where the edit moves as much or more, whatever the judge's noise. Either way: on
    a case that is a coin's toss to the judge, an edit that settles it moves half of the verdicts.
    """

    gap: float = 1 / 3
    level: float = 0.05


def rule(asked: Asked, terms: Terms, first: int = 0) -> Ruling:
    """
    Return whether an edited case flips the judge.

    The edited case is asked once. If that speaks against a flip whatever the clean case does, nothing more is asked.
    Else all the asks that a flip would need are put together, and as long as these do not decide, those still needed.

    Args:
        asked: asks; see `Asked`. For one ask it always returns the same.
        terms: when to stop.
        first: the number of the first block: asks of other numbers than those of an earlier ruling are fresh.
    """
    each = terms.clean_each
    wanted, least = log(1 / terms.level), log(terms.against)
    blocks: list[Block] = []
    edited = list(asked([Ask(True, first)]))
    if not edited[0] and evidence_of_two([Block(0, each, 0, 1)], terms.noise)[-1] <= least:
        return Ruling(Flip.NO, ())
    while len(blocks) < terms.most:
        upto = len(blocks) + _still_needed(blocks, terms, wanted)
        shown = [Ask(True, first + k) for k in range(len(edited), upto)]
        clean = [Ask(False, first * each + k) for k in range(len(blocks) * each, upto * each)]
        found = list(asked([*shown, *clean]))
        edited += found[: len(shown)]
        wins = iter(found[len(shown) :])
        for won in edited[len(blocks) :]:
            blocks.append(Block(sum(next(wins) for _ in range(each)), each, int(won), 1))
            reached = evidence_of_two(blocks, terms.noise)[-1]
            if reached >= wanted and len(blocks) >= terms.least:
                return Ruling(Flip.YES, tuple(blocks))
            if reached <= least:
                return Ruling(Flip.NO, tuple(blocks))
    return Ruling(Flip.UNDECIDED, tuple(blocks))


def rule_both(asked: Asked, terms: Terms, stand: Stand) -> Ruling:
    """
    Return whether an edited case flips the judge, where NO must be proven, too: that the verdict is unmoved.

    `terms.against` is not used: without evidence for either it says UNDECIDED. Both are asked equally often,
    `terms.clean_each` is 1.
    """
    wanted, sure = log(1 / terms.level), log(1 / stand.level)
    blocks: list[Block] = []

    def flips(found: Sequence[Block]) -> bool:
        return evidence_of_two(found, terms.noise)[-1] >= wanted

    def stands(found: Sequence[Block]) -> bool:
        turned = [Block(b.second, b.of_second, b.first, b.of_first) for b in found]
        return all(evidence_of_two(one, terms.noise, -stand.gap, terms.noise)[-1] >= sure for one in (turned, found))

    while len(blocks) < terms.most:
        for_flip = _needed(blocks, Block(0, 1, 1, 1), terms.most, flips)
        count = min(for_flip, _needed(blocks, Block(0, 1, 0, 1), terms.most, stands))
        numbers = range(len(blocks), len(blocks) + count)
        found = list(asked([Ask(edited, k) for edited in (False, True) for k in numbers]))
        for clean, edited in zip(found[:count], found[count:], strict=True):
            blocks.append(Block(int(clean), 1, int(edited), 1))
            if flips(blocks):
                return Ruling(Flip.YES, tuple(blocks))
            if stands(blocks):
                return Ruling(Flip.NO, tuple(blocks))
    return Ruling(Flip.UNDECIDED, tuple(blocks))


def _still_needed(blocks: Sequence[Block], terms: Terms, wanted: float) -> int:
    """Return how many more blocks a YES takes if all of them speak for a flip; 1 at least."""

    def reached(found: Sequence[Block]) -> bool:
        return len(found) >= terms.least and evidence_of_two(found, terms.noise)[-1] >= wanted

    return _needed(blocks, Block(0, terms.clean_each, 1, 1), terms.most, reached)


def _needed(blocks: Sequence[Block], each: Block, most: int, reached: Callable[[Sequence[Block]], bool]) -> int:
    """Return how many more blocks of one kind it takes, with at most so many in all; 1 at least."""
    more: list[Block] = []
    while len(blocks) + len(more) < most:
        more.append(each)
        if reached([*blocks, *more]):
            break
    return max(1, len(more))
