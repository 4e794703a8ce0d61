"""
Does a judge prefer the answers that it finds likely? (arXiv 2410.21819, section 5)

Each answer's perplexity is the judge's, given the question, from a server's prompt log-probabilities or from a local
model. Win rates by the difference in log-perplexity are then compared between judge and people, and between pairs with
and without one of the judge's own answers. The paper does not give bins, clipping and scale. Here bins have equal
counts unless edges are named, and differences are of logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from calm.errors import EstimateError
from calm.plugins.self_preference.contrasts import Bools, Floats
from calm.statistics.intervals import wilson

LogPerplexities: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Log-perplexities of answers in nats a token, by the judge whose model was asked, by item and by author."""


@dataclass(frozen=True, slots=True)
class Bin:
    """
    A bin of differences: from `low` to `high`, its n pairs, the mean difference, and the share in which A won.

    `rate_low` and `rate_high` are Wilson's 95 % interval. A bin without pairs has no rate.
    """

    low: float
    high: float
    n: int
    difference: float | None = None
    rate: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None


@dataclass(frozen=True, slots=True)
class Curves:
    """Win rates of answer A by log-perplexity(A) - log-perplexity(B): by judge and people, and by the author of A."""

    judge: tuple[Bin, ...]
    human: tuple[Bin, ...]
    own: tuple[Bin, ...]
    others: tuple[Bin, ...]


def edges_of(differences: Floats, bins: int = 10) -> Floats:
    """
    Return the edges of bins that hold equal numbers of differences; equal edges are merged.

    >>> edges_of(np.arange(9.0), 2).tolist()
    [0.0, 4.0, 8.0]
    """
    if bins < 1 or differences.size == 0:
        raise EstimateError(f"expected at least one bin and one pair, got {bins} and {differences.size}")
    if not np.isfinite(differences).all():
        raise EstimateError("expected finite differences of log-perplexity, got infinity or NaN")
    edges = np.unique(np.quantile(differences, np.linspace(0, 1, bins + 1)))
    return edges if edges.size > 1 else np.array([edges[0], edges[0]])


def win_curve(differences: Floats, won: Floats, edges: Floats) -> tuple[Bin, ...]:
    """
    Return the win rate of A by bin of the difference in log-perplexity.

    `won` is 1 where A won, 0 where B won, 1/2 for a tie, NaN where there is no verdict (left out). A bin holds its
    lower edge, the last one both. Pairs are independent.

    >>> found = win_curve(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.0, 1.0]), np.array([-2.0, 0.0, 2.0]))
    >>> [(b.n, b.rate) for b in found]
    [(2, 1.0), (2, 0.5)]
    """
    if differences.shape != won.shape:
        raise EstimateError(f"expected as many outcomes as differences, got {won.shape} and {differences.shape}")
    last = edges.size - 2
    places = np.clip(np.searchsorted(edges, differences, side="right") - 1, -1, last + 1)
    places = np.where(differences == edges[-1], last, places)
    found = []
    for place in range(last + 1):
        chosen = (places == place) & ~np.isnan(won)
        n = int(chosen.sum())
        ends = float(edges[place]), float(edges[place + 1])
        if not n:
            found.append(Bin(*ends, 0))
            continue
        wins = float(won[chosen].sum())
        bounds = wilson(wins, n, 0.05, sides=2)
        found.append(Bin(*ends, n, float(differences[chosen].mean()), wins / n, *bounds))
    return tuple(found)


def curves(
    log_perplexity_a: Floats, log_perplexity_b: Floats, judged: Floats, human: Floats, own_a: Bools, *, bins: int = 10
) -> Curves:
    """
    Return the four win-rate curves over shared bins.

    Args:
        log_perplexity_a: of answer A under the judge, shape [pairs]; likewise `log_perplexity_b`.
        judged: 1 where the judge prefers A, 0 where B, 1/2 for a tie, NaN without a verdict.
        human: the same by people; NaN where there is no label.
        own_a: whether A is the judge's own answer. Pairs with an own answer put it first; all others have none.
        bins: how many bins of equal counts, over all pairs.

    A judge that follows perplexity alone has the same curve on its own and on others' answers, steeper than that of
    people. A judge that knows its own answers has a higher curve on them at the same difference.
    """
    differences = log_perplexity_a - log_perplexity_b
    edges = edges_of(differences, bins)
    return Curves(
        win_curve(differences, judged, edges),
        win_curve(differences, human, edges),
        win_curve(differences[own_a], judged[own_a], edges),
        win_curve(differences[~own_a], judged[~own_a], edges),
    )
