"""
Peer rank: reviewers that are contestants themselves weigh as much as they win in the eyes of all (arXiv:2307.02762).

A weight is the contestant's win rate, in which each reviewer counts with its own weight; this is repeated up to a fixed
point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

CAP = 100
CLOSE = 1e-9

Wins = Mapping[int, Mapping[int, float]]
"""By reviewer, by contestant: the contestant's win rate as that reviewer sees it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of members, which sum to one; after how many rounds, and whether they had converged."""

    values: tuple[float, ...]
    rounds: int
    converged: bool


def peer_rank(wins: Wins, members: int, *, cap: int = CAP) -> Weights:
    """
    Return the weights that follow from win rates: a fixed point, or equal weights if there is none in `cap` rounds.

    The members are reviewers and the first contestants, 0 to `members` - 1. There is no smallest n.

    >>> rates = {0: 1.0, 1: 0.5, 2: 0.0}
    >>> [round(w, 3) for w in peer_rank({0: rates, 1: rates, 2: rates}, 3).values]
    [0.667, 0.333, 0.0]
    """
    equal = (1.0 / members,) * members
    weights = equal
    for turn in range(1, cap + 1):
        rates = [weighted_rate(wins, weights, j) or 0.0 for j in range(members)]
        total = fsum(rates)
        if not total > 0:
            return Weights(equal, turn, converged=False)
        after = tuple(rate / total for rate in rates)
        if max(abs(a - b) for a, b in zip(weights, after, strict=True)) < CLOSE:
            return Weights(after, turn, converged=True)
        weights = after
    return Weights(equal, cap, converged=False)


def weighted_rate(wins: Wins, weights: Sequence[float], contestant: int) -> float | None:
    """
    Return a contestant's win rate, in which each reviewer counts with its weight; None where no weight reviewed it.

    >>> weighted_rate({0: {2: 1.0}, 1: {2: 0.5}}, (0.75, 0.25), 2)
    0.875
    """
    known = [(weights[i], rates[contestant]) for i, rates in wins.items() if contestant in rates]
    total = fsum(w for w, _ in known)
    return fsum(w * rate for w, rate in known) / total if total > 0 else None
