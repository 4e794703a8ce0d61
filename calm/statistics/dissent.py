"""
Replies that differ from the usual one: how unlikely so many are, and whether the wording of a question explains them.

| function | what it gives |
|---|---|
| `at_least` | probability of so many dissents or more, if each ask dissents with at most a known probability |
| `at_least_in_shares` | the same where an ask can dissent in part, whatever its parts depend on |
| `more_than` | whether more than so many of some questions are unlikely to agree, from a p-value of each |
| `between` | what two asks of different wordings differ by, beyond two asks of the same wording |
| `turns_on_wording` | that excess, and how often lots make one as large |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, exp, floor, fsum, lgamma, log
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from calm.errors import EstimateError
from calm.statistics.intervals import betainc
from calm.statistics.power import uniforms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
else:
    Floats = Any

LOTS, FEW_LOTS = 19_999, 499
"""So many lots tell a p-value of 1 in 20,000; the few are enough to see one that is far from any level."""
LIKELY = 0.05
TINY = 5e-324
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


def more_than(spared: int, p_values: Sequence[float]) -> float:
    """
    Return the p-value of the hypothesis that at most `spared` of some independent questions are not as supposed.

    The smallest p-values, as many as are spared, are left out, and Fisher's method combines the others: a partial
    conjunction (Benjamini & Heller 2008, Biometrics 64). A p-value of 0 counts as the smallest number above 0.

    Raises `EstimateError` if no p-value would be left.

    >>> more_than(0, [0.03]), round(more_than(1, [1e-9, 0.2, 0.1]), 4)
    (0.03, 0.0982)
    """
    kept = sorted(p_values)[spared:]
    if not kept or spared < 0:
        raise EstimateError(f"expected more p-values than are spared, got {len(p_values)} and spared={spared}")
    if len(kept) == 1:
        return kept[0]
    half = -fsum(log(max(p, TINY)) for p in kept)
    terms = (
        exp(count * log(half) - half - lgamma(count + 1)) if half else float(not count) for count in range(len(kept))
    )
    return min(1.0, fsum(terms))


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
    return float(_excess(block, _members(block)[None])[0]) if _fits(block) else None


def turns_on_wording(blocks: Sequence[Block], rng: Random, lots: int = LOTS) -> tuple[float, float] | None:
    """
    Return the mean excess of `between` over some questions, and its p-value by lots within each question.

    The lots give the asks of each round of a question to its wordings at random. The p-value, (1 + as large) /
    (1 + lots), is exact if a wording changes nothing: then all these ways are equally likely, also where a round is
    made because the replies of the one before differed. A few lots are drawn first; if they give more than `LIKELY`,
    that is the answer, and no smaller p-value is made more likely by it. None: as in `between`.
    """
    fit = [block for block in blocks if _fits(block)]
    if not fit:
        return None
    few = _drawn(fit, rng, FEW_LOTS)
    return few if few[1] > LIKELY else _drawn(fit, rng, lots)


def _drawn(blocks: Sequence[Block], rng: Random, lots: int) -> tuple[float, float]:
    total = _by_lots(blocks[0], rng, lots)
    for block in blocks[1:]:
        total += _by_lots(block, rng, lots)
    as_large = int((total[1:] >= total[0] - EQUAL).sum())
    return float(total[0]) / len(blocks), (1 + as_large) / (1 + lots)


def _by_lots(block: Block, rng: Random, lots: int) -> Floats:
    """Return the excess of a question as it was asked, and behind it that of each way to give its asks to wordings."""
    import numpy as np

    own = _members(block)
    rounds = np.array(block.rounds or (0,) * len(block.wordings))
    drawn = np.argsort(uniforms(rng, (lots, len(rounds))) + rounds, axis=1)  # round by round
    given = np.empty((lots + 1, *own.shape))
    given[0] = own
    given[1:, np.argsort(rounds, kind="stable")] = own[drawn]
    return _excess(block, given)


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
    """Return a row for each ask with a 1 in the column of its wording; a wording without asks has no column."""
    import numpy as np

    kinds = sorted(set(block.wordings))
    members: Floats = np.eye(len(kinds))[[kinds.index(one) for one in block.wordings]]
    return members


def _excess(block: Block, given: Floats) -> Floats:
    import numpy as np

    counts = given[0].sum(axis=0)
    near: Floats = np.matmul(block.apart, given)
    sums = np.matmul(given.transpose(0, 2, 1), near)
    within = np.einsum("baa->ba", sums) / (counts * (counts - 1))
    one, other = np.triu_indices(len(counts), 1)
    across = sums[:, one, other] / (counts[one] * counts[other])
    excess: Floats = across.mean(axis=1) - within.mean(axis=1)
    return excess
