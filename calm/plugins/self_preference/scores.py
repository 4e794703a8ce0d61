"""
Scores by judge, generator and item: their double-centred excess, and graded self-evaluation.

Scores asked in negative framing (how bad is it) are mapped back first, so that the high end is the good one in every
table.

In graded self-evaluation ("Investigating Bias in LLM Self-Evaluation", ELTE thesis 2025) every model writes a text for
every item and scores all texts, once asked how good they are and once how bad. For judge m and item i, where m scored
its own text:

    S_i  own       the score that m gives its own text
    R_i  received  the mean score that the other judges give m's text
    G_i  given     the mean score that m gives the other generators' texts

S - R > 0: m rates its text above its peers' rating of it. S - G > 0: m rates its text above those of its peers. S - R
keeps m's leniency and S - G keeps the worth of m's text, so neither is self-preference by itself: only
`score_excess` is. R - G is what the peers think of m's text less what m thinks of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from random import Random

import numpy as np

from calm.core.claims import Estimate
from calm.core.order import item_of
from calm.core.verdict import Scale, Score
from calm.errors import EstimateError
from calm.experiment.crossing import Judgment, Wording, author_of
from calm.plugins.self_preference.contrasts import (
    DRAWS,
    SAME,
    Bools,
    Floats,
    Grid,
    Target,
    estimate_difference,
    excess,
    filled,
    mean_known,
    resampled,
    too_few,
    unvaried,
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
    found: dict[tuple[int, ...], float] = {}
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
    scores = filled(found, (len(judges), len(generators), len(items)), np.nan)
    worth = None
    if truth:
        worth = np.array([[truth.get((g, i), np.nan) for i in items] for g in generators], dtype=np.float64)
    return ScoreTable(Grid(tuple(judges), tuple(generators), families), tuple(items), scores, low, high, worth)


def score_table_of(
    judged: Sequence[Judgment],
    families: Mapping[str, str],
    scale: Scale,
    *,
    names: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> ScoreTable:
    """
    Return the table of scores; a verdict that is no score is missing. Verdicts have the high end good already.

    A judge of which no score could be read keeps its row, and an author without a score the column; so do the `names`
    of judges and authors.

    The true worth of a text is its gold score, or the points that it earns by the truth of its criteria.

    Raises `EstimateError` for an answer without an author, or a judge that scored an answer twice.
    """
    scored = [(one, one.verdict.value) for one in judged if isinstance(one.verdict, Score)]
    rows = ((one.judge, author_of(one.case), item_of(one.case), value) for one, value in scored)
    truth = {
        (author_of(case), item_of(case)): worth
        for case in {id(one.case): one.case for one, _ in scored}.values()
        if (worth := case.worth(case.answers[0].id)) is not None
    }
    known = [*names[0], *(one.judge for one in judged)], [*names[1], *(author_of(one.case) for one in judged)]
    return score_table(rows, families, low=scale.low, high=scale.high, truth=truth, names=known)


def score_tables_of(judged: Sequence[Judgment], families: Mapping[str, str], scale: Scale) -> dict[Wording, ScoreTable]:
    """
    Return the table of scores of each wording (see `score_table_of`), all with the same judges and authors.

    A wording in which no score could be read has none.
    """
    names = [one.judge for one in judged], [author_of(one.case) for one in judged]
    by_wording: dict[Wording, list[Judgment]] = {}
    for one in judged:
        by_wording.setdefault(one.wording, []).append(one)
    return {
        wording: score_table_of(some, families, scale, names=names)
        for wording, some in by_wording.items()
        if any(isinstance(one.verdict, Score) for one in some)
    }


def averaged(tables: Sequence[ScoreTable]) -> ScoreTable:
    """
    Return the mean score of each text over tables of the same judges, generators and scale, such as of dimensions.

    A text without a score in one of them has none, and one without a score in all of them no place. The truth is that
    of the first table.
    """
    first, *more = tables
    if not more:
        return first
    items = {item: None for table in tables for item in table.items}
    whole = np.stack([_placed(table.scores, table.items, tuple(items)) for table in tables])
    truth = None if first.truth is None else _placed(first.truth, first.items, tuple(items))
    return ScoreTable(first.grid, tuple(items), whole.mean(axis=0), first.low, first.high, truth)


def _placed(values: Floats, items: Sequence[str], wanted: Sequence[str]) -> Floats:
    """Return values [..., items] in the order of other items, NaN for what is not there."""
    found = np.full((*values.shape[:-1], len(wanted)), np.nan)
    there = {item: place for place, item in enumerate(items)}
    for place, item in enumerate(wanted):
        if item in there:
            found[..., place] = values[..., there[item]]
    return found


def mapped_back(table: ScoreTable) -> ScoreTable:
    """
    Return a table of raw scores in negative framing (low is good) on the standard scale: low + high - score.

    >>> grid = Grid(("a",), ("a",), {"a": "A"})
    >>> mapped_back(ScoreTable(grid, ("1", "2"), np.array([[[2.0, np.nan]]]), 1, 5)).scores.tolist()
    [[[4.0, nan]]]
    """
    return replace(table, scores=table.low + table.high - table.scores)


def in_points(table: ScoreTable, scale: Scale) -> ScoreTable:
    """
    Return a table of shares of a scale in the points of that scale.

    >>> grid = Grid(("a",), ("a",), {"a": "A"})
    >>> in_points(ScoreTable(grid, ("1", "2"), np.array([[[0.5, np.nan]]]), 0, 1), Scale(1, 5)).scores.tolist()
    [[[3.0, nan]]]
    """
    scores = np.clip(scale.low + (scale.high - scale.low) * table.scores, scale.low, scale.high)
    return replace(table, scores=scores, low=scale.low, high=scale.high)


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
) -> Estimate:
    """
    Return the double-centred excess of a judge's scores for its own answers, with two one-sided bounds at `level`.

    In points of the scale; 0 for a judge that is only lenient, or only good. See `contrasts` for its definition: self
    and family cells are in no margin. Items are resampled whole; missing scores leave their cell's mean. Name an
    `outsiders` judge for the excess over a neutral one alone. `resampled_means`, which serve all judges of a table, may
    replace `rng`.

    Raises `EstimateError` where the judge wrote nothing, or there is no outsider.
    """
    means = rng if isinstance(rng, Means) else resampled_means(table, rng, draws)

    def contrast(cells: Floats) -> Floats:
        return excess(cells, table.grid, judge, target=target, usable=means.usable, outsiders=outsiders)

    value = float(contrast(means.observed))
    span = 2 * (table.high - table.low)  # a difference of two differences of scores
    found = estimate_difference(value, contrast(means.replicates), len(table.items), level, span=span)
    return replace(found, excluded=too_few(table.grid, judge, target, means.usable, ~np.isnan(table.scores)))


def _cell_means(totals: Floats, counts: Floats, usable: Bools) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(usable, totals / counts, 0.0)


@dataclass(frozen=True, slots=True)
class Moments:
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
    own: Moments
    received: Moments | None
    given: Moments | None
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

    Means are over the available cases: a missing score shrinks the divisor. R is that of all other judges, G that to
    authors who judge as well: a generator that is no judge (`human`) is in no mean.

    Raises `EstimateError` where the judge wrote nothing, or there is no other judge.
    """
    grid, row = table.grid, table.grid.row(judge)
    own_column = grid.columns(judge, "self")[0]
    others = [name for name in grid.judges if name != judge]
    if not others:
        raise EstimateError(f"expected other judges beside {judge!r}, got none")
    own = table.scores[row, own_column]
    there = ~np.isnan(own)
    received = mean_known(table.scores[[grid.row(name) for name in others], own_column], 0)
    given = mean_known(table.scores[row][[i for i, name in enumerate(grid.generators) if name in others]], 0)
    return ItemMeans(own, np.where(there, received, np.nan), np.where(there, given, np.nan))


def self_evaluation(table: ScoreTable, judge: str, *, alpha: float = 0.05) -> SelfEvaluation:
    """
    Return S, R and G of a judge (see `item_means`) with all paired t tests.

    Two-sided; the intervals use Student's quantile.

    Raises `EstimateError` where the judge wrote nothing, is alone, or scored fewer than two of its own texts.

    >>> from calm.plugins.self_preference.contrasts import Grid
    >>> grid = Grid(("a", "b"), ("a", "b"), {"a": "A", "b": "B"})
    >>> scores = np.array([[[5, 5, 4, 5], [3, 4, 3, 2]], [[3, 4, 3, 4], [4, 4, 4, 4]]], dtype=float)
    >>> found = self_evaluation(ScoreTable(grid, ("1", "2", "3", "4"), scores, 1, 5), "a")
    >>> found.own.mean, found.received.mean, found.given.mean, round(found.own_minus_received.t, 2)
    (4.75, 3.5, 3.0, 5.0)
    """
    means = item_means(table, judge)
    own, span = _moments(means.own), table.high - table.low
    if own is None:
        raise EstimateError(f"expected at least 2 scores of {judge!r} of its own texts, got fewer")
    return SelfEvaluation(
        judge,
        own.n,
        own,
        _moments(means.received),
        _moments(means.given),
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


def _moments(values: Floats) -> Moments | None:
    values = values[~np.isnan(values)]
    return Moments(float(values.mean()), float(values.std(ddof=1)), values.size) if values.size > 1 else None


def evaluated(table: ScoreTable, judges: Sequence[str]) -> dict[str, SelfEvaluation | str]:
    """Return the self-evaluation of each judge, or why it has none."""
    found: dict[str, SelfEvaluation | str] = {}
    for judge in judges:
        try:
            found[judge] = self_evaluation(table, judge)
        except EstimateError as error:
            found[judge] = str(error)
    return found
