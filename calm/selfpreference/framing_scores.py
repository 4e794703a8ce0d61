"""
Scores by judge, generator and item, and the double-centred excess of them.

Scores asked in negative framing (how bad is it) are mapped back first, so that the high end is the good one in every
table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from calm.core.claims import Estimate
from calm.core.items import item_of
from calm.core.verdict import Scale, Score
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
from calm.selfpreference.verdicts import Judgment, Wording, author_of


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

    Raises `EstimateError` where the judge wrote nothing, or there is no outsider.
    """
    unit = table.high - table.low if of_scale else 1.0
    means = rng if isinstance(rng, Means) else resampled_means(table, rng, draws)

    def contrast(cells: Floats) -> Floats:
        return excess(cells, table.grid, judge, target=target, usable=means.usable, outsiders=outsiders) / unit

    value = float(contrast(means.observed))
    span = 2 * (table.high - table.low) / unit  # a difference of two differences of scores
    found = estimate_difference(value, contrast(means.replicates), len(table.items), level, span=span)
    return replace(found, excluded=too_few(table.grid, judge, target, means.usable, ~np.isnan(table.scores)))


def _cell_means(totals: Floats, counts: Floats, usable: Bools) -> Floats:
    """Return totals / counts; NaN where a sample drew none of a cell's items, 0 for cells that are never used."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(usable, totals / counts, 0.0)
