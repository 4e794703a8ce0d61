"""
Graded self-evaluation in two framings ("Investigating Bias in LLM Self-Evaluation", ELTE thesis 2025).

Every model writes a text for every item and scores all texts, once asked how good they are and once how bad. For judge
m and item i, where m scored its own text:

    S_i  own       the score that m gives its own text
    R_i  received  the mean score that the other judges give m's text
    G_i  given     the mean score that m gives the other generators' texts

t_R > 0: m rates its text above its peers' rating of it. t_G > 0: m rates its text above those of its peers. S - R keeps
m's leniency and S - G keeps the worth of m's text, so neither is self-preference by itself: only `score_excess` is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from random import Random

import numpy as np

from calm.core.claims import Estimate
from calm.errors import EstimateError
from calm.selfpreference.contrasts import (
    DRAWS,
    Bools,
    Floats,
    Grid,
    Target,
    estimate_difference,
    excess,
    resampled,
    too_few,
)
from calm.statistics.multiplicity import holm
from calm.statistics.paired import paired_t


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """
    Scores by judge, generator and item: shape [judges, generators, items], NaN where there is none.

    `low` and `high` are the ends of the scale; the high end is the good one (see `mapped_back`). `truth` holds the true
    worth of each text by generator and item, NaN where it is not known; only its order counts, so any scale will do.
    """

    grid: Grid
    items: tuple[str, ...]
    scores: Floats
    low: float
    high: float
    truth: Floats | None = None

    def __post_init__(self) -> None:
        shape = (len(self.grid.judges), len(self.grid.generators), len(self.items))
        if self.scores.shape != shape:
            raise EstimateError(f"expected scores of shape {shape}, got {self.scores.shape}")
        if self.truth is not None and self.truth.shape != shape[1:]:
            raise EstimateError(f"expected the truth of shape {shape[1:]}, got {self.truth.shape}")
        if not self.low < self.high:
            raise EstimateError(f"expected a scale from low to high, got low={self.low!r}, high={self.high!r}")
        known = self.scores[~np.isnan(self.scores)]
        if known.size and not (known.min() >= self.low and known.max() <= self.high):
            raise EstimateError(
                f"expected scores from {self.low:g} to {self.high:g}, got {known.min():g} to {known.max():g}"
            )


def score_table(
    rows: Iterable[tuple[str, str, str, float]],
    families: Mapping[str, str],
    *,
    low: float,
    high: float,
    truth: Mapping[tuple[str, str], float] | None = None,
    names: tuple[Iterable[str], Iterable[str]] = ((), ()),
) -> ScoreTable:
    """
    Return the table of rows of judge, generator, item and score, in their order of appearance.

    An absent row is a missing score. `truth` gives the true worth by generator and item; `names` the judges and the
    generators that are in the table even without a score. Raises `EstimateError` for no rows, or two scores of one text
    by one judge.
    """
    judges, generators = ({name: place for place, name in enumerate(dict.fromkeys(part))} for part in names)
    items: dict[str, int] = {}
    found: dict[tuple[int, int, int], float] = {}
    for judge, generator, item, score in rows:
        key = (
            judges.setdefault(judge, len(judges)),
            generators.setdefault(generator, len(generators)),
            items.setdefault(item, len(items)),
        )
        if key in found:
            raise EstimateError(f"expected one score a text, got two by {judge!r} of {generator!r} on {item!r}")
        found[key] = score
    if not found:
        raise EstimateError("expected at least one score, got none")
    scores = np.full((len(judges), len(generators), len(items)), np.nan)
    places = np.array(list(found), dtype=np.intp)
    scores[places[:, 0], places[:, 1], places[:, 2]] = list(found.values())
    worth = None
    if truth:
        worth = np.array([[truth.get((g, i), np.nan) for i in items] for g in generators], dtype=np.float64)
    return ScoreTable(Grid(tuple(judges), tuple(generators), families), tuple(items), scores, low, high, worth)


def mapped_back(table: ScoreTable) -> ScoreTable:
    """
    Return a table of raw scores in negative framing (low is good) on the standard scale: low + high - score.

    >>> grid = Grid(("a",), ("a",), {"a": "A"})
    >>> mapped_back(ScoreTable(grid, ("1", "2"), np.array([[[2.0, np.nan]]]), 1, 5)).scores.tolist()
    [[[4.0, nan]]]
    """
    return replace(table, scores=table.low + table.high - table.scores)


@dataclass(frozen=True, slots=True)
class Spread:
    """
    The mean over items and the sample standard deviation (ddof = 1) of the item values.

    The standard error of the mean is sd / sqrt(n): the thesis prints sd after a plus-minus sign and calls it that.
    """

    mean: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    A paired, two-sided t test: mean difference with its confidence interval (1 - alpha), t, df, p and effect sizes.

    `d_z` is the mean in standard deviations of the differences, `g_z` the same corrected for small samples. `p_holm` is
    p adjusted for all judges of the table by Holm's procedure, None where that was not asked for.
    """

    mean: float
    low: float
    high: float
    t: float
    df: int
    p: float
    d_z: float
    g_z: float
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class SelfEvaluation:
    """What a judge gives itself, what it receives and what it gives the others, over the n items that it scored."""

    judge: str
    n: int
    own: Spread
    received: Spread
    given: Spread
    own_minus_received: Comparison
    own_minus_given: Comparison


def self_evaluation(table: ScoreTable, judge: str, *, alpha: float = 0.05) -> SelfEvaluation:
    """
    Return S, R and G of a judge with both paired t tests.

    Means are over the available cases: a missing score of a peer shrinks the divisor, and an item counts if the judge
    scored its own text and at least one peer has a score. Only models that both judge and write are peers; a generator
    that is no judge (`human`) is in no mean. Two-sided; the interval uses Student's quantile.

    Raises `EstimateError` where the judge wrote nothing, no item is left, or all differences are equal.

    >>> grid = Grid(("a", "b"), ("a", "b"), {"a": "A", "b": "B"})
    >>> scores = np.array([[[5, 5, 4, 5], [3, 4, 3, 2]], [[3, 4, 3, 4], [4, 4, 4, 4]]], dtype=float)
    >>> found = self_evaluation(ScoreTable(grid, ("1", "2", "3", "4"), scores, 1, 5), "a")
    >>> found.own.mean, found.received.mean, found.given.mean, round(found.own_minus_received.t, 2)
    (4.75, 3.5, 3.0, 5.0)
    """
    grid, row = table.grid, table.grid.row(judge)
    own_column = grid.columns(judge, "self")[0]
    peers = [name for name in grid.generators if name in grid.judges and name != judge]
    if not peers:
        raise EstimateError(f"expected other models that both judge and write beside {judge!r}, got none")
    own = table.scores[row, own_column]
    received = _available_mean(table.scores[[grid.row(p) for p in peers], own_column])
    given = _available_mean(table.scores[row][[grid.generators.index(p) for p in peers]])
    kept = ~np.isnan(own)
    return SelfEvaluation(
        judge,
        int(kept.sum()),
        _spread(own[kept], judge),
        _spread(received[kept], judge),
        _spread(given[kept], judge),
        _compared(own[kept] - received[kept], alpha),
        _compared(own[kept] - given[kept], alpha),
    )


def self_evaluations(
    table: ScoreTable, judges: Sequence[str] | None = None, *, alpha: float = 0.05, adjust: bool = False
) -> tuple[SelfEvaluation, ...]:
    """
    Return the self-evaluation of several judges (all that also write); with `adjust`, each test also by Holm.

    S - R and S - G are each a family of tests.
    """
    chosen = judges or [j for j in table.grid.judges if j in table.grid.generators]
    found = [self_evaluation(table, judge, alpha=alpha) for judge in chosen]
    if not adjust:
        return tuple(found)
    by_received = holm([one.own_minus_received.p for one in found])
    by_given = holm([one.own_minus_given.p for one in found])
    return tuple(
        replace(
            one,
            own_minus_received=replace(one.own_minus_received, p_holm=p_received),
            own_minus_given=replace(one.own_minus_given, p_holm=p_given),
        )
        for one, p_received, p_given in zip(found, by_received, by_given, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Means:
    """
    The mean scores by judge and generator, as observed and in resampled sets of items.

    `usable` cells have data in every resampled set. One with fewer is in no mean, and takes no other with it.
    """

    observed: Floats
    replicates: Floats
    usable: Bools


def resampled_means(table: ScoreTable, rng: Random, draws: int = DRAWS) -> Means:
    """Return the mean scores with those of resampled sets of items; missing scores leave their cell's mean."""
    known = ~np.isnan(table.scores)
    values = np.where(known, table.scores, 0.0)
    weights = resampled(rng, len(table.items), draws)
    totals = np.einsum("bn,jgn->bjg", weights, values, optimize=True)
    counts = np.einsum("bn,jgn->bjg", weights, known.astype(np.float64), optimize=True)
    usable: Bools = np.asarray((counts > 0).all(axis=0))
    observed = _cell_means(values.sum(axis=2), known.sum(axis=2), usable)
    return Means(observed, _cell_means(totals, counts, usable), usable)


def score_excess(
    table: ScoreTable,
    judge: str,
    rng: Random | Means,
    *,
    target: Target = "self",
    outsiders: Sequence[str] | None = None,
    level: float = 0.05,
    draws: int = DRAWS,
    of_scale: bool = False,
) -> Estimate:
    """
    Return the double-centred excess of a judge's scores for its own answers, with two one-sided bounds at `level`.

    In points of the scale, or as a share of it (`of_scale`); 0 for a judge that is only lenient, or only good. See
    `contrasts` for its definition: self and family cells are in no margin. Items are resampled whole; missing scores
    leave their cell's mean. Name an `outsiders` judge for the excess over a neutral one alone. `resampled_means`, which
    serve all judges of a table, may replace `rng`.

    Raises `EstimateError` where the judge wrote nothing, there is no outsider, or nothing varies.
    """
    unit = table.high - table.low if of_scale else 1.0
    means = rng if isinstance(rng, Means) else resampled_means(table, rng, draws)

    def contrast(cells: Floats) -> Floats:
        return excess(cells, table.grid, judge, target=target, usable=means.usable, outsiders=outsiders) / unit

    value = float(contrast(means.observed))
    found = estimate_difference(value, contrast(means.replicates), len(table.items), level)
    return replace(found, excluded=too_few(table.grid, judge, target, means.usable, ~np.isnan(table.scores)))


def _cell_means(totals: Floats, counts: Floats, usable: Bools) -> Floats:
    """Return totals / counts; NaN where a sample drew none of a cell's items, 0 for cells that are never used."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(usable, totals / counts, 0.0)


def _available_mean(scores: Floats) -> Floats:
    """Return the mean over the first axis of what is not missing; NaN where all is."""
    known = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, scores, 0.0).sum(axis=0) / known.sum(axis=0), dtype=np.float64)


def _spread(values: Floats, judge: str) -> Spread:
    values = values[~np.isnan(values)]
    if values.size < 2:
        raise EstimateError(f"expected at least 2 items that {judge!r} and a peer scored, got n={values.size}")
    return Spread(float(values.mean()), float(values.std(ddof=1)), values.size)


def _compared(differences: Floats, alpha: float) -> Comparison:
    from scipy.special import stdtrit

    values = differences[~np.isnan(differences)].tolist()
    test = paired_t(values)
    half = float(stdtrit(test.df, 1 - alpha / 2)) * float(np.std(values, ddof=1)) / sqrt(len(values))
    return Comparison(test.mean, test.mean - half, test.mean + half, test.t, test.df, test.p, test.d_z, test.g_z)
