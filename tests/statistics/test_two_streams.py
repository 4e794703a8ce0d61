"""Two streams: the e-value errs as seldom as it says, at any rate, and its bounds cover whenever one looks."""

from math import log
from random import Random

import pytest

from calm.errors import EstimateError
from calm.statistics.sequential import Block, gap_bounds
from calm.statistics.sequential import evidence_of_two as evidence


def blocks(rng, first, second, count=24, each=2):
    """Return blocks of two streams with these rates."""
    return [
        Block(sum(rng.random() < first for _ in range(each)), each, int(rng.random() < second), 1) for _ in range(count)
    ]


def exact_error(rate, noise, level, count):
    """Return the probability that the e-value of blocks of one against one reaches 1 / level, path by path."""
    wanted, alive, crossed = log(1 / level), {(): 1.0}, 0.0
    for _ in range(count):
        grown = {}
        for path, weight in alive.items():
            for first in (0, 1):
                for second in (0, 1):
                    chance = weight * (rate if first else 1 - rate) * (rate if second else 1 - rate)
                    longer = (*path, Block(first, 1, second, 1))
                    if evidence(longer, noise)[-1] >= wanted:
                        crossed += chance
                    else:
                        grown[longer] = chance
        alive = grown
    return crossed


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("noise", [0.02, 0.25])
def test_the_error_is_at_most_the_level(rate, noise):
    """All 4 ** 6 paths of six blocks: what ever crosses weighs at most the level."""
    assert 0 < exact_error(rate, noise, 0.2, 6) <= 0.2


def test_the_bounds_cover():
    """400 pairs of streams at a level of .05: the chance of more than 45 misses is below one in a million."""
    rng = Random(5)
    missed = [0, 0]
    for _ in range(400):
        low, high = gap_bounds(blocks(rng, 0.2, 0.6, 12))
        missed[0] += low > 0.4
        missed[1] += high < 0.4

    assert max(missed) <= 45


def test_a_bound_agrees_with_the_evidence():
    """The lower bound lies above 0 where the evidence against no gap is past the level, and nowhere else."""
    rng = Random(1)
    for _ in range(60):
        some = blocks(rng, 0.1, rng.random(), 6)
        reached = max(evidence(some)) >= log(20)

        assert (gap_bounds(some)[0] > 0) == reached


def test_what_differs_is_found():
    """Eight blocks that all differ prove it beyond .0001."""
    assert evidence([Block(0, 2, 1, 1)] * 8)[-1] > log(10_000)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: evidence([]),
        lambda: evidence([Block(0, 1, 1, 1)], 0.5),
        lambda: Block(2, 1, 0, 1),
        lambda: Block(0, 0, 0, 1),
    ],
)
def test_what_cannot_be_is_refused(bad):
    """No blocks, a noise of a coin, more successes than items, and no items."""
    with pytest.raises(EstimateError, match="expected"):
        bad()
