"""
Replies that differ from the usual one: how unlikely so many are, and whether the wording of a question explains them.

| function | what it gives |
|---|---|
| `at_least` | probability of so many dissents or more, if each ask dissents with at most a known probability |
| `at_least_in_shares` | the same where an ask can dissent in part, whatever its parts depend on |
| `between` | what two asks of different wordings differ by, beyond two asks of the same wording |
| `turns_on_wording` | that excess, and how often lots make one as large |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, floor, log
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from calm.errors import EstimateError
from calm.statistics.beta import betainc
from calm.statistics.power import uniforms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
else:
    Floats = Any

EQUAL = 1e-12
"""Sums of the same distances in another order differ by less."""


def at_least(dissents: int, asks: int, rate: float) -> float:
    """
    Return the probability of `dissents` or more among independent asks that dissent with probability `rate`, in (0, 1).

    It bounds the probability for asks that each dissent with at most that probability. If dissents are counted from the
    most frequent reply, and not from the one that is expected, there are fewer of them; so the bound holds then, too.

    Raises `EstimateError` for counts that cannot be, or a rate outside (0, 1).

    >>> round(at_least(8, 24, 0.1), 5), at_least(0, 24, 0.1)
    (0.00168, 1.0)
    """
    if not 0 <= dissents <= asks or not 0 < rate < 1:
        raise EstimateError(f"expected 0 <= dissents <= asks and a rate in (0, 1), got {dissents}, {asks}, {rate!r}")
    return 1.0 if dissents == 0 else betainc(dissents, asks - dissents + 1, rate)


def at_least_in_shares(dissent: float, asks: int, rate: float) -> float:
    """
    Return a bound of the probability that shares in [0, 1], one an ask and with means of at most `rate`, sum up so far.

    The bound is e times the binomial one, log-linear between whole numbers (Bentkus 2004, Annals of Probability 32). It
    needs independent asks, and nothing of the parts that a share is made of.

    >>> round(at_least_in_shares(8.0, 24, 0.1), 5), at_least_in_shares(1.0, 24, 0.1)
    (0.00458, 1.0)
    """
    below = floor(dissent + EQUAL)
    low = at_least(below, asks, rate)
    if below == asks or dissent - below < EQUAL:
        return min(1.0, e * low)
    high = at_least(below + 1, asks, rate)
    return min(1.0, e * low * float((high / low) ** (dissent - below)))


@dataclass(frozen=True, slots=True)
class Block:
    """
    One question: the distance in [0, 1] of each two asks of it, and the wording of each ask, counted from 0.

    `rounds` says in which round each was asked, if the replies of one decided whether there was another.
    """

    apart: Floats
    wordings: tuple[int, ...]
    rounds: tuple[int, ...] = ()


def between(block: Block) -> float | None:
    """
    Return what two asks of different wordings differ by beyond two of the same one, in [-1, 1]; its mean is 0 if
    wordings do not count.

    For verdicts that are equal or not this is the mean squared difference of two wordings' shares, summed over the
    verdicts and halved. It is estimated without bias. None: fewer than two wordings were asked twice.

    >>> import numpy as np
    >>> said = np.array([0, 0, 1, 1])
    >>> between(Block(np.abs(said[:, None] - said) * 1.0, (0, 0, 1, 1)))
    1.0
    """
    found = _excess([block], [_members(block)[None]])
    return None if found is None else float(found[0])


def turns_on_wording(blocks: Sequence[Block], rng: Random, lots: int = 1999) -> tuple[float, float] | None:
    """
    Return the mean excess of `between` over some questions, and its p-value by lots within each question.

    The lots give the asks of each round of a question to its wordings at random. The p-value, (1 + as large) /
    (1 + lots), is exact if a wording changes nothing: then all these ways are equally likely, also where a round is
    made because the replies of the one before differed. None: as in `between`.
    """
    import numpy as np

    fit = [block for block in blocks if _fits(block)]
    if not fit:
        return None
    members = []
    for block in fit:
        own = _members(block)
        rounds = np.array(block.rounds or (0,) * len(block.wordings))
        drawn = np.argsort(uniforms(rng, (lots, len(rounds))) + rounds, axis=1)  # round by round
        given = np.empty((lots, *own.shape))
        given[:, np.argsort(rounds, kind="stable")] = own[drawn]
        members.append(np.concatenate([own[None], given]))
    found = _excess(fit, members)
    if found is None:
        return None
    as_large = int((found[1:] >= found[0] - EQUAL).sum())
    return float(found[0]), (1 + as_large) / (1 + lots)


def least_asks(rate: float, wanted: float) -> int:
    """
    Return the fewest asks of a question of which so many can dissent that it is as unlikely as `wanted`.

    Half of the asks can dissent at most, where there are two replies.

    >>> least_asks(0.1, 0.001)
    12
    """
    if not 0 < wanted < 1:
        raise EstimateError(f"expected a probability in (0, 1), got {wanted!r}")
    asks = max(2, floor(log(wanted) / log(rate)))
    while at_least(asks // 2, asks, rate) > wanted:
        asks += 1
    return asks


def _fits(block: Block) -> bool:
    counts = [block.wordings.count(one) for one in set(block.wordings)]
    return len(counts) > 1 and min(counts) > 1


def _members(block: Block) -> Floats:
    """Return a row for each ask with a 1 in the column of its wording."""
    import numpy as np

    members: Floats = np.eye(max(block.wordings) + 1)[np.array(block.wordings)]
    return members


def _excess(blocks: Sequence[Block], members: Sequence[Floats]) -> Floats | None:
    """Return the mean excess of some questions, for each way to give the asks to wordings."""
    import numpy as np

    found = []
    for block, given in zip(blocks, members, strict=True):
        if not _fits(block):
            return None
        sizes = given[0].sum(axis=0)
        kept = sizes > 0
        sums = np.einsum("bia,ij,bjc->bac", given[:, :, kept], block.apart, given[:, :, kept], optimize=True)
        counts = sizes[kept]
        within = np.einsum("baa->ba", sums) / (counts * (counts - 1))
        across = sums / np.outer(counts, counts)
        upper = np.triu_indices(len(counts), 1)
        found.append(across[:, upper[0], upper[1]].mean(axis=1) - within.mean(axis=1))
    total: Floats = np.mean(found, axis=0)
    return total
