"""
All figures of a table of judges and generators, as data that a report can show and JSON can hold.

A row is a judge. Its published figures stand beside the corrected ones; a figure that cannot be had is None, and
`reasons` says why. The matrix is a heat map with its self and family cells marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from random import Random

import numpy as np

from calm.claims import Estimate
from calm.errors import EstimateError
from calm.selfpreference import calm_errors, framing_scores, opportunity, rubric
from calm.selfpreference.contrasts import DRAWS, Floats, Grid
from calm.selfpreference.families import Leak
from calm.selfpreference.framing_scores import ScoreTable
from calm.selfpreference.perplexity import Curves
from calm.selfpreference.rubric import RubricTable
from calm.selfpreference.verdicts import Judged, item_of, pair_excess, pair_outcomes
from calm.statistics.multiplicity import holm
from calm.verdict import Preferred

SCHEMA = "calm-self-preference/1"


@dataclass(frozen=True, slots=True)
class Matrix:
    """
    A heat map: `values` by judge and generator (None: no data), and `marks`: "self", "family" or "" for each cell.

    `unit` says what the values are.
    """

    unit: str
    judges: tuple[str, ...]
    generators: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    marks: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """
    The figures of one judge, by name: `published` and `corrected` ones.

    `corrected` hold one-sided bounds each at their level. `reasons` says of a figure that is missing why it is.
    """

    judge: str
    family: str
    published: Mapping[str, float | None]
    corrected: Mapping[str, Estimate]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """
    The analysis of one table: its kind ("rubric", "score" or "pairwise"), its size, a row a judge, and heat maps.

    `families` holds the family of each judge and generator.
    """

    kind: str
    items: int
    rows: tuple[JudgeRow, ...]
    matrices: tuple[Matrix, ...]
    families: Mapping[str, str]
    curves: Mapping[str, Curves] = field(default_factory=dict)
    """Win rates by difference in log-perplexity, by judge."""
    leaks: tuple[Leak, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return it as JSON-able data, under the schema `calm-self-preference/1`."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "items": self.items,
            "families": dict(sorted(self.families.items())),
            "judges": [
                {
                    "judge": row.judge,
                    "family": row.family,
                    "published": dict(row.published),
                    "corrected": {name: asdict(estimate) for name, estimate in row.corrected.items()},
                    "reasons": dict(row.reasons),
                }
                for row in self.rows
            ],
            "matrices": [asdict(matrix) for matrix in self.matrices],
            "curves": {judge: asdict(found) for judge, found in self.curves.items()},
            "leaks": [asdict(leak) | {"text": str(leak)} for leak in self.leaks],
        }


def of_rubrics(
    table: RubricTable,
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
    curves: Mapping[str, Curves] | None = None,
    leaks: Sequence[Leak] = (),
) -> SelfPreference:
    """
    Return all figures of a table of verdicts on criteria.

    Published: `mra`, `mipa`, and HSPP ratios by rubric and instance for self, family with self and family without.
    Corrected: `self_preference_ratio` (the double ratio by rubric, which suites claim), the same by instance as
    `self_preference_ratio_instance`, `family_preference_ratio`, `overestimation_excess` (double-centred, by rubric),
    and `self_preference_excess` (double-centred, of the share of points).

    Matrices: over-estimation rate by rubric, and centred score differences.
    """
    grid = table.grid
    judged, true = rubric.scored(table, table.verdicts), rubric.scored(table, table.truth)
    signs, true_signs = rubric.signs(judged), rubric.signs(true)
    by_rubric = rubric.overestimated_rubrics(table)
    by_instance = rubric.overestimated_instances(signs, true_signs)
    accuracy = rubric.mean_rubric_agreement(table.verdicts, table.truth)
    agreement = rubric.mean_instance_agreement(signs, true_signs)
    samples = rubric.resample(by_rubric, rng, draws), rubric.resample(by_instance, rng, draws)
    points = ScoreTable(grid, table.instances, judged.values(), 0.0, 1.0)
    means = framing_scores.resampled_means(points, rng, draws)
    rows = []
    for place, judge in enumerate(grid.judges):
        one = rubric.hspp(by_rubric.rates(), grid, judge)
        two = rubric.hspp(by_instance.rates(), grid, judge)
        published = {"mra": _known(accuracy[place]), "mipa": _known(agreement[place])}
        for name, found in (("rubric", one), ("instance", two)):
            published[f"hspp_self_{name}"] = found.ratio_self
            published[f"hspp_family_with_self_{name}"] = found.ratio_family_with_self
            published[f"hspp_family_without_self_{name}"] = found.ratio_family_without_self
        ratio = partial(rubric.double_ratio, grid=grid, judge=judge, level=level)
        wanted: dict[str, Callable[[], Estimate]] = {
            "self_preference_ratio": partial(ratio, samples[0]),
            "self_preference_ratio_instance": partial(ratio, samples[1]),
            "family_preference_ratio": partial(ratio, samples[0], target="family"),
            "overestimation_excess": partial(rubric.rate_excess, samples[0], grid, judge, level=level),
            "self_preference_excess": partial(
                framing_scores.score_excess, points, judge, means, level=level, of_scale=True
            ),
        }
        corrected, reasons = _estimates(wanted)
        if one.reason:
            reasons |= dict.fromkeys((n for n, v in published.items() if v is None and "hspp" in n), one.reason)
        rows.append(JudgeRow(judge, grid.families[judge], published, corrected, reasons))
    deltas = rubric.centred_deltas(rubric.system_scores(judged), rubric.system_scores(true))
    matrices = (
        _matrix("over-estimation rate by rubric", grid, by_rubric.rates()),
        _matrix("score minus true score, centred by row", grid, deltas),
    )
    return SelfPreference(
        "rubric", len(table.instances), tuple(rows), matrices, _families(grid), curves or {}, tuple(leaks)
    )


def of_scores(
    table: ScoreTable,
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
    outsider: str | None = None,
    curves: Mapping[str, Curves] | None = None,
    leaks: Sequence[Leak] = (),
) -> SelfPreference:
    """
    Return all figures of a table of scores.

    Published: `own`, `received`, `given`, their t and p values and Holm's, and CALM's `self_enhancement_error`.
    Corrected: `self_preference_excess`, as a share of the scale (double-centred, over all outsiders), and
    `excess_over_outsider` over the neutral one, if it is named.

    Matrix: the mean score.
    """
    grid = table.grid
    rows = []
    means = framing_scores.resampled_means(table, rng, draws)  # the same for every judge, in whatever order they come
    evaluations = {judge: _evaluated(table, judge) for judge in grid.judges}
    adjusted = _adjusted([e for e in evaluations.values() if not isinstance(e, str)])
    for judge in grid.judges:
        found = evaluations[judge]
        published: dict[str, float | None] = {}
        scored = partial(framing_scores.score_excess, table, judge, means, level=level, of_scale=True)
        wanted: dict[str, Callable[[], Estimate]] = {"self_preference_excess": scored}
        if outsider is not None:
            wanted["excess_over_outsider"] = partial(scored, outsiders=[outsider])
        corrected, reasons = _estimates(wanted)
        if isinstance(found, str):
            reasons["own"] = found
        else:
            published = {"own": found.own.mean, "received": found.received.mean, "given": found.given.mean}
            for name, test in (("received", found.own_minus_received), ("given", found.own_minus_given)):
                published |= {f"t_{name}": test.t, f"p_{name}": test.p, f"d_z_{name}": test.d_z}
            published |= adjusted.get(judge, {})
            if found.received.mean > 0:
                error = calm_errors.self_enhancement_error(found.own.mean, found.received.mean)
                published["self_enhancement_error"] = error
        rows.append(JudgeRow(judge, grid.families[judge], published, corrected, reasons))
    known = ~np.isnan(table.scores)
    with np.errstate(invalid="ignore"):
        means = np.where(known, table.scores, 0.0).sum(axis=2) / known.sum(axis=2)
    matrix = _matrix("mean score", grid, means)
    return SelfPreference(
        "score", len(table.items), tuple(rows), (matrix,), _families(grid), curves or {}, tuple(leaks)
    )


def of_pairs(
    judged: Sequence[Judged],
    families: Mapping[str, str],
    *,
    level: float = 0.05,
    curves: Mapping[str, Curves] | None = None,
    leaks: Sequence[Leak] = (),
) -> SelfPreference:
    """
    Return all figures of verdicts on pairs, each pair in both orders.

    Published: shares of own pairs that go to `own`, `other` and `none` (a split between the orders included), and where
    pairs have gold labels the equal-opportunity `gap`. Corrected: `self_preference_excess`, over outsiders on the same
    pairs.

    Matrix: the share of its pairs that an answer wins.

    Raises `EstimateError` for no pairs.
    """
    authors = tuple(dict.fromkeys(a.author for one in judged for a in one.case.answers if a.author is not None))
    grid = Grid(tuple(dict.fromkeys(one.judge for one in judged)), authors, families)
    rows = []
    for judge in grid.judges:
        mine = [one for one in judged if one.judge == judge]
        gold, said, _ = pair_outcomes(mine, judge)
        published: dict[str, float | None] = {}
        wanted: dict[str, Callable[[], Estimate]] = {
            "self_preference_excess": partial(pair_excess, judged, judge, families, level=level)
        }
        corrected, reasons = _estimates(wanted)
        if said.size:
            found = opportunity.shares(said)
            published |= {"own": found.own, "other": found.other, "none": found.none}
            try:
                published["gap"] = opportunity.equal_opportunity(opportunity.confusion(gold, said)).gap.value
            except EstimateError as error:
                reasons["gap"] = str(error)
        rows.append(JudgeRow(judge, families[judge], published, corrected, reasons))
    items = len({item_of(one.case) for one in judged})
    matrix = _matrix("share of pairs won", grid, _wins(judged, grid))
    return SelfPreference("pairwise", items, tuple(rows), (matrix,), _families(grid), curves or {}, tuple(leaks))


def _wins(judged: Sequence[Judged], grid: Grid) -> Floats:
    """Return the share of pairs won, by judge and author; NaN where a judge saw no pair of an author."""
    won, asked = (np.zeros((len(grid.judges), len(grid.generators))) for _ in range(2))
    for one in judged:
        row = grid.judges.index(one.judge)
        chosen = one.verdict.answer if isinstance(one.verdict, Preferred) else None
        for answer in one.case.answers:
            if answer.author is not None:
                column = grid.generators.index(answer.author)
                asked[row, column] += 1
                won[row, column] += 0.5 if chosen is None else float(chosen == answer.id)
    with np.errstate(invalid="ignore"):
        return np.asarray(won / asked, dtype=np.float64)


def _families(grid: Grid) -> dict[str, str]:
    return {name: grid.families[name] for name in (*grid.judges, *grid.generators)}


def _evaluated(table: ScoreTable, judge: str) -> framing_scores.SelfEvaluation | str:
    try:
        return framing_scores.self_evaluation(table, judge)
    except EstimateError as error:
        return str(error)


def _adjusted(found: Sequence[framing_scores.SelfEvaluation]) -> dict[str, dict[str, float | None]]:
    """Return p values by Holm's procedure over all judges that could be evaluated."""
    if not found:
        return {}
    received = holm([one.own_minus_received.p for one in found])
    given = holm([one.own_minus_given.p for one in found])
    return {
        one.judge: {"p_holm_received": a, "p_holm_given": b} for one, a, b in zip(found, received, given, strict=True)
    }


def _estimates(wanted: Mapping[str, Callable[[], Estimate]]) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return the estimates that can be had, and of the others why not."""
    found: dict[str, Estimate] = {}
    reasons: dict[str, str] = {}
    for name, make in wanted.items():
        try:
            found[name] = make()
        except EstimateError as error:
            reasons[name] = str(error)
    return found, reasons


def _matrix(unit: str, grid: Grid, values: Floats) -> Matrix:
    return Matrix(
        unit,
        grid.judges,
        grid.generators,
        tuple(tuple(_known(value) for value in row) for row in values),
        tuple(tuple(row) for row in grid.marks()),
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
