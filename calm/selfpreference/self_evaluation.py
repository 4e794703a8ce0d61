"""
Graded self-evaluation ("Investigating Bias in LLM Self-Evaluation", ELTE thesis 2025).

Every model writes a text for every item and scores all texts, once asked how good they are and once how bad. For judge
m and item i, where m scored its own text:

    S_i  own       the score that m gives its own text
    R_i  received  the mean score that the other judges give m's text
    G_i  given     the mean score that m gives the other generators' texts

S - R > 0: m rates its text above its peers' rating of it. S - G > 0: m rates its text above those of its peers. S - R
keeps m's leniency and S - G keeps the worth of m's text, so neither is self-preference by itself: only
`framing_scores.score_excess` is. R - G is what the peers think of m's text less what m thinks of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np

from calm.errors import EstimateError
from calm.selfpreference.contrasts import SAME, Floats, unvaried
from calm.selfpreference.framing_scores import ScoreTable
from calm.statistics.multiplicity import holm
from calm.statistics.paired import paired_t


@dataclass(frozen=True, slots=True)
class Spread:
    """
    Mean and sample standard deviation (divisor n - 1) of n item values.

    The thesis prints the latter after a plus-minus sign and calls it a standard error.
    """

    mean: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    A paired, two-sided t test of n differences: their mean and standard deviation, an interval (1 - alpha), t, df, p.

    `d_z` is the mean in standard deviations of the differences, `g_z` the same corrected for small samples. Where all
    differences are equal there is no t; then p is 1 if they are 0, and None otherwise, and the interval is the widest
    that the items not seen allow (`unvaried`).
    """

    mean: float
    sd: float
    low: float
    high: float
    t: float | None
    df: int
    p: float | None
    d_z: float | None = None
    g_z: float | None = None


@dataclass(frozen=True, slots=True)
class SelfEvaluation:
    """
    What a judge gives itself, what it receives and what it gives the others, over the n items that it scored.

    A figure that needs scores of which there are fewer than two is None.
    """

    judge: str
    n: int
    own: Spread
    received: Spread | None
    given: Spread | None
    own_minus_received: Comparison | None
    own_minus_given: Comparison | None
    received_minus_given: Comparison | None


@dataclass(frozen=True, slots=True)
class ItemMeans:
    """S, R and G of a judge by item, each of shape [items]; NaN where there is none."""

    own: Floats
    received: Floats
    given: Floats


def item_means(table: ScoreTable, judge: str) -> ItemMeans:
    """
    Return S, R and G of a judge by item, for the items on which it scored its own text.

    Means are over the available cases: a missing score of a peer shrinks the divisor. Only models that both judge and
    write are peers; a generator that is no judge (`human`) is in no mean.

    Raises `EstimateError` where the judge wrote nothing, or has no peer.
    """
    grid, row = table.grid, table.grid.row(judge)
    own_column = grid.columns(judge, "self")[0]
    peers = [name for name in grid.generators if name in grid.judges and name != judge]
    if not peers:
        raise EstimateError(f"expected other models that both judge and write beside {judge!r}, got none")
    own = table.scores[row, own_column]
    there = ~np.isnan(own)
    received = _available_mean(table.scores[[grid.row(p) for p in peers], own_column])
    given = _available_mean(table.scores[row][[grid.generators.index(p) for p in peers]])
    return ItemMeans(own, np.where(there, received, np.nan), np.where(there, given, np.nan))


def self_evaluation(table: ScoreTable, judge: str, *, alpha: float = 0.05) -> SelfEvaluation:
    """
    Return S, R and G of a judge (see `item_means`) with all paired t tests.

    Two-sided; the intervals use Student's quantile.

    Raises `EstimateError` where the judge wrote nothing, has no peer, or scored fewer than two of its own texts.

    >>> from calm.selfpreference.contrasts import Grid
    >>> grid = Grid(("a", "b"), ("a", "b"), {"a": "A", "b": "B"})
    >>> scores = np.array([[[5, 5, 4, 5], [3, 4, 3, 2]], [[3, 4, 3, 4], [4, 4, 4, 4]]], dtype=float)
    >>> found = self_evaluation(ScoreTable(grid, ("1", "2", "3", "4"), scores, 1, 5), "a")
    >>> found.own.mean, found.received.mean, found.given.mean, round(found.own_minus_received.t, 2)
    (4.75, 3.5, 3.0, 5.0)
    """
    means = item_means(table, judge)
    own, span = _spread(means.own), table.high - table.low
    if own is None:
        raise EstimateError(f"expected at least 2 scores of {judge!r} of its own texts, got fewer")
    return SelfEvaluation(
        judge,
        own.n,
        own,
        _spread(means.received),
        _spread(means.given),
        compared(means.own - means.received, span, alpha),
        compared(means.own - means.given, span, alpha),
        compared(means.received - means.given, span, alpha),
    )


def compared(differences: Floats, span: float, alpha: float = 0.05) -> Comparison | None:
    """
    Return the paired t test of differences in [-span, span], NaN for none; None for fewer than two of them.

    >>> compared(np.array([0.0, 0.0, 0.0]), 4.0).p
    1.0
    """
    from scipy.special import stdtrit

    values = differences[~np.isnan(differences)].tolist()
    if len(values) < 2:
        return None
    mean = fsum(values) / len(values)
    if max(values) - min(values) < SAME:
        mean = 0.0 if abs(mean) < SAME else mean
        low, high = unvaried(mean, span, len(values), alpha / 2)
        return Comparison(mean, 0.0, low, high, None, len(values) - 1, None if mean else 1.0)
    test, sd = paired_t(values), float(np.std(values, ddof=1))
    half = float(stdtrit(test.df, 1 - alpha / 2)) * sd / sqrt(len(values))
    return Comparison(test.mean, sd, test.mean - half, test.mean + half, test.t, test.df, test.p, test.d_z, test.g_z)


def p_holm(found: Sequence[SelfEvaluation], difference: str) -> dict[str, float]:
    """Return the p values of a difference, adjusted by Holm's procedure for all judges that have one."""
    tests: dict[str, Comparison | None] = {one.judge: getattr(one, difference) for one in found}
    known = {judge: test.p for judge, test in tests.items() if test is not None and test.p is not None}
    return dict(zip(known, holm(list(known.values())), strict=True)) if known else {}


def _available_mean(scores: Floats) -> Floats:
    """Return the mean over the first axis of what is not missing; NaN where all is."""
    known = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, scores, 0.0).sum(axis=0) / known.sum(axis=0), dtype=np.float64)


def _spread(values: Floats) -> Spread | None:
    values = values[~np.isnan(values)]
    return Spread(float(values.mean()), float(values.std(ddof=1)), values.size) if values.size > 1 else None


def evaluated(table: ScoreTable, judges: Sequence[str]) -> dict[str, SelfEvaluation | str]:
    """Return the self-evaluation of each judge, or why it has none."""
    found: dict[str, SelfEvaluation | str] = {}
    for judge in judges:
        try:
            found[judge] = self_evaluation(table, judge)
        except EstimateError as error:
            found[judge] = str(error)
    return found
