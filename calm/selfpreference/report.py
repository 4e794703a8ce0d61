"""
The figures of self-preference as data: rows, heat maps and parts, and what all kinds of verdicts share.

All figures of verdicts on pairs, each pair in both orders.

All figures of verdicts on criteria.

All figures of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from random import Random

import numpy as np

from calm.core.claims import Estimate
from calm.core.items import item_of
from calm.core.reasons import Kind, because, in_words
from calm.core.units import Unit
from calm.core.verdict import Scale
from calm.errors import EstimateError
from calm.selfpreference import calm_errors, opportunity, overestimation, pairs, rubric, scores, skill
from calm.selfpreference.contrasts import DRAWS, Floats, Grid
from calm.selfpreference.families import Leak
from calm.selfpreference.likelihood import Curves, LogPerplexities
from calm.selfpreference.parts import Part, evaluation_parts, known, opportunity_parts
from calm.selfpreference.rubric import RubricTable
from calm.selfpreference.scores import ScoreTable, evaluated, p_holm
from calm.selfpreference.skill import Excess
from calm.selfpreference.verdicts import Judgment, Unread, Wording

SCHEMA = "calm-self-preference/1"
EXCESS = "self_preference_excess"


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

    `corrected` figures have one-sided bounds, each at its level. `reasons` says why a figure is missing, or says
    little.
    """

    judge: str
    family: str
    published: Mapping[str, float | None]
    corrected: Mapping[str, Estimate]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """
    The analysis of one table: its kind ("rubric", "score" or "pairwise"), its size, its judges' rows, and heat maps.

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
    parts: tuple[Part, ...] = ()
    log_perplexities: LogPerplexities = field(default_factory=dict)
    """How likely a judge's model finds the answers, where it was asked."""

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
                    "corrected": {name: _plain(estimate) for name, estimate in row.corrected.items()},
                    "reasons": dict(row.reasons),
                }
                for row in self.rows
            ],
            "matrices": [asdict(matrix) for matrix in self.matrices],
            "curves": {judge: asdict(found) for judge, found in self.curves.items()},
            "log_perplexities": {
                judge: {item: dict(values) for item, values in by_item.items()}
                for judge, by_item in self.log_perplexities.items()
            },
            "leaks": [asdict(leak) | {"text": str(leak)} for leak in self.leaks],
            "parts": [asdict(part) for part in self.parts],
        }


def add_unread(
    unread: Mapping[str, Unread] | None, judge: str, published: dict[str, float | None], reasons: dict[str, str]
) -> None:
    """Add how many verdicts of a judge could not be read; if none could, that is why it has no other figure."""
    if not unread or judge not in unread:
        return
    published |= unread[judge].shares()
    if unread[judge].unread == unread[judge].asked:
        why = f"{judge} gave no verdict that could be read"
        reasons |= dict.fromkeys(("own", *reasons), why)


def families_in(grid: Grid) -> dict[str, str]:
    """Return the family of each judge and generator."""
    return {name: grid.families[name] for name in (*grid.judges, *grid.generators)}


def estimates_of(wanted: Mapping[str, Callable[[], Estimate]]) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return the estimates that can be computed, and why the others cannot."""
    found: dict[str, Estimate] = {}
    reasons: dict[str, str] = {}
    for name, make in wanted.items():
        try:
            found[name] = make()
        except EstimateError as error:
            reasons[name] = str(error)
    return found, reasons


def excess_of_scores(table: ScoreTable, judge: str, level: float) -> Excess:
    """Return the excess of a judge of scores, from the comparisons of each own text with another one."""
    return pairs.pair_excess(pairs.faced_by_scores(table, judge), judge, table.grid.families, level=level)


def add_excess(make: Callable[[], Excess], corrected: dict[str, Estimate], reasons: dict[str, str]) -> None:
    """Add the excess to the figures; without truth also why nothing can be claimed of it."""
    try:
        found = make()
    except EstimateError as error:
        reasons[EXCESS] = str(error)
        return
    corrected[EXCESS] = found.estimate
    if found.skill is None:
        reasons[EXCESS] = str(because(Kind.NO_TRUTH))


def pull(known: Callable[[], pairs.Known], level: float) -> Estimate:
    """Return the pull of own answers on pairs that are known to be equal."""
    return pairs.pull_of_own(known().equal, level=level).estimate


def _plain(estimate: Estimate) -> dict[str, object]:
    """Return an estimate as JSON-able data, its exclusions in words."""
    return asdict(replace(estimate, excluded={})) | {"excluded": in_words(estimate.excluded)}


def matrix_of(unit: Unit, grid: Grid, values: Floats) -> Matrix:
    """Return values [judges, generators] as a heat map; NaN is no data."""
    return Matrix(
        unit.value,
        grid.judges,
        grid.generators,
        tuple(tuple(known(value) for value in row) for row in values),
        tuple(tuple(row) for row in grid.marks()),
    )


def of_pairs(
    judged: Sequence[Judgment],
    families: Mapping[str, str],
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
    curves: Mapping[str, Curves] | None = None,
    leaks: Sequence[Leak] = (),
) -> SelfPreference:
    """
    Return all figures of verdicts on pairs, each pair in both orders.

    Published: shares of own pairs that go to `own`, `other` and `none` (a split between the orders included), and where
    pairs have gold labels the equal-opportunity `gap`; of the pairs asked in both orders how many the own answer won
    both times (`own_twice`), the other one (`other_twice`), and the exact two-sided p (`p_twice`); `unread`, the share
    of own pairs of which the judge said nothing in one of the orders, which are in no other figure.

    Corrected: `own_pull`, on pairs that are known to be equal; `self_preference_excess`, over outsiders on the same
    pairs, and `gap_excess`, the gap minus theirs. Where no pair has a gold label, `reasons` says what the excess is
    worth.

    Parts: the counts behind the gap, and both recalls, gap and demographic parity beside those of outsiders.

    Matrix: the share of its pairs that an answer wins.

    Raises `EstimateError` for no pairs.
    """
    grid = pairs.grid_of(judged, families)
    rows = []
    state = rng.getstate()
    own = {judge: pairs.faced(judged, judge) for judge in grid.judges}
    for judge, faced in own.items():
        rng.setstate(state)  # the same for every judge, in any order
        gold, said, _ = pairs.outcomes(faced, judge)
        published: dict[str, float | None] = {}
        gap = partial(pairs.gap_excess, faced, judge, families, rng, level=level, draws=draws)
        corrected, reasons = estimates_of(
            {"own_pull": partial(pull, partial(pairs.known, faced, judge, families), level), "gap_excess": gap}
        )
        add_excess(partial(pairs.pair_excess, faced, judge, families, level=level), corrected, reasons)
        if faced:
            published["unread"] = 1 - said.size / len(faced)
        if said.size:
            found = opportunity.shares(said)
            published |= {"own": found.own, "other": found.other, "none": found.none}
            published |= _twice(faced, judge)
            try:
                published["gap"] = opportunity.equal_opportunity(opportunity.confusion(gold, said)).gap.value
            except EstimateError as error:
                reasons["gap"] = str(error)
        elif faced:
            why = f"{judge} gave no verdict that could be read on both orders of a pair of its own"
            reasons = dict.fromkeys(("own", *reasons), why)
        rows.append(JudgeRow(judge, families[judge], published, corrected, reasons))
    items = len({item_of(one.case) for one in judged})
    matrix = matrix_of(Unit.PAIRS_WON, grid, pairs.win_rates(judged, grid))
    rng.setstate(state)
    parts = opportunity_parts(own, families, rng, level=level, draws=draws)
    known = families_in(grid)
    return SelfPreference("pairwise", items, tuple(rows), (matrix,), known, curves or {}, tuple(leaks), parts)


def _twice(faced: Sequence[pairs.AuthorPair], judge: str) -> dict[str, float | None]:
    """Return how often the own answer and the other one won in both orders, and the p of the exact sign test."""
    try:
        found = pairs.orders_of(faced, judge)
    except EstimateError:
        return {}
    return {"own_twice": float(found.own), "other_twice": float(found.other), "p_twice": found.p}


def of_rubrics(
    table: RubricTable,
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
    curves: Mapping[str, Curves] | None = None,
    leaks: Sequence[Leak] = (),
    unread: Mapping[str, Unread] | None = None,
) -> SelfPreference:
    """
    Return all figures of a table of verdicts on criteria.

    Published: `mra`, `mipa`, and HSPP ratios by rubric and instance for self, family with self and family without.
    Corrected: `own_pull` (on criteria that both answers pass, or that both fail), `self_preference_ratio` (the double
    ratio by rubric), the same by instance as `self_preference_ratio_instance`, `family_preference_ratio`,
    `overestimation_excess` (double-centred, by rubric), and `self_preference_excess` (where any truth is known that of
    credit, as `credit.credit_excess` does; else that of the plain scores, and why it says little). Where `unread` says
    it, also the shares of criteria that could not be read (`unread`, `unread_own`), which are in no other figure.

    Matrices: over-estimation rate by rubric, and centred score differences.
    """
    grid = table.grid
    judged, true = rubric.scored(table, table.verdicts), rubric.scored(table, table.truth)
    signs, true_signs = rubric.signs(judged), rubric.signs(true)
    by_rubric = overestimation.overestimated_rubrics(table)
    by_instance = overestimation.overestimated_instances(signs, true_signs)
    accuracy = rubric.mean_rubric_agreement(table.verdicts, table.truth)
    agreement = rubric.mean_instance_agreement(signs, true_signs)
    state = rng.getstate()

    def again() -> Random:
        """Return the same randomness again: all figures use the same resampled sets."""
        rng.setstate(state)
        return rng

    samples = tuple(overestimation.resample(over, again(), draws) for over in (by_rubric, by_instance))
    points = ScoreTable(grid, table.instances, judged.values(), 0.0, 1.0)
    given = skill.credit(table) if (table.truth != rubric.MISSING).any() else None
    rows = []
    for place, judge in enumerate(grid.judges):
        one = overestimation.hspp(by_rubric.rates(), grid, judge)
        two = overestimation.hspp(by_instance.rates(), grid, judge)
        published = {"mra": known(accuracy[place]), "mipa": known(agreement[place])}
        for name, found in (("rubric", one), ("instance", two)):
            published[f"hspp_self_{name}"] = found.ratio_self
            published[f"hspp_family_with_self_{name}"] = found.ratio_family_with_self
            published[f"hspp_family_without_self_{name}"] = found.ratio_family_without_self
        ratio = partial(overestimation.double_ratio, grid=grid, judge=judge, level=level)
        wanted: dict[str, Callable[[], Estimate]] = {
            "own_pull": partial(pull, partial(pairs.known_by_criteria, table, judge), level),
            "self_preference_ratio": partial(ratio, samples[0]),
            "self_preference_ratio_instance": partial(ratio, samples[1]),
            "family_preference_ratio": partial(ratio, samples[0], target="family"),
            "overestimation_excess": partial(overestimation.rate_excess, samples[0], grid, judge, level=level),
        }
        corrected, reasons = estimates_of(wanted)
        add_excess(
            partial(excess_of_scores, points, judge, level)
            if given is None
            else partial(skill.credit_excess, given, grid, judge, level=level),
            corrected,
            reasons,
        )
        if one.reason:
            reasons |= dict.fromkeys((n for n, v in published.items() if v is None and "hspp" in n), one.reason)
        add_unread(unread, judge, published, reasons)
        rows.append(JudgeRow(judge, grid.families[judge], published, corrected, reasons))
    deltas = rubric.centred_deltas(rubric.system_scores(judged), rubric.system_scores(true))
    matrices = (
        matrix_of(Unit.RUBRIC_RATE, grid, by_rubric.rates()),
        matrix_of(Unit.CENTRED_ERROR, grid, deltas),
    )
    return SelfPreference(
        "rubric", len(table.instances), tuple(rows), matrices, families_in(grid), curves or {}, tuple(leaks)
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
    unread: Mapping[str, Unread] | None = None,
    scales: Mapping[str, Scale] | None = None,
    worded: Mapping[Wording, ScoreTable] | None = None,
) -> SelfPreference:
    """
    Return all figures of a table of scores.

    Published: `own`, `received`, `given`, their t and p values and Holm's, and CALM's `self_enhancement_error`.
    Corrected: `own_pull` (on texts of equal gold scores); `self_preference_excess` (of the comparisons of an own text
    with another one); the double-centred `score_excess`, as a share of the scale, over all outsiders, and
    `excess_over_outsider` over the neutral one, if it is named. Where `unread` says it, also the shares of verdicts
    that hold no score (`unread`, `unread_own`), which are in no other figure.

    Parts: graded self-evaluation, in each of the wordings in which the scores were asked (see `evaluations`).

    A ratio of means depends on where the scale begins: where scores are shares, `scales` says of what scale for each
    judge, and CALM's error is that of the scores on it.

    Matrix: the mean score.
    """
    grid = table.grid
    rows = []
    means = scores.resampled_means(table, rng, draws)  # the same for every judge, in any order
    evaluations = evaluated(table, grid.judges)
    said = [one for one in evaluations.values() if not isinstance(one, str)]
    adjusted = {name: p_holm(said, f"own_minus_{name}") for name in ("received", "given")}
    for judge in grid.judges:
        found = evaluations[judge]
        published: dict[str, float | None] = {}
        scored = partial(scores.score_excess, table, judge, means, level=level, of_scale=True)
        wanted: dict[str, Callable[[], Estimate]] = {
            "own_pull": partial(pull, partial(pairs.known_by_scores, table, judge), level),
            "score_excess": scored,
        }
        if outsider is not None:
            wanted["excess_over_outsider"] = partial(scored, outsiders=[outsider])
        corrected, reasons = estimates_of(wanted)
        add_excess(partial(excess_of_scores, table, judge, level), corrected, reasons)
        if isinstance(found, str):
            reasons["own"] = found
        else:
            published["own"] = found.own.mean
            for name, spread in (("received", found.received), ("given", found.given)):
                published[name] = None if spread is None else spread.mean
            for name, test in (("received", found.own_minus_received), ("given", found.own_minus_given)):
                if test is not None:
                    published |= {f"t_{name}": test.t, f"p_{name}": test.p, f"d_z_{name}": test.d_z}
            published |= {f"p_holm_{name}": by_judge.get(judge) for name, by_judge in adjusted.items()}
            scale = (scales or {}).get(judge, Scale(0.0, 1.0))
            if found.received is not None:
                own, others = (
                    scale.low + mean * (scale.high - scale.low) for mean in (found.own.mean, found.received.mean)
                )
                if others > 0:
                    published["self_enhancement_error"] = calm_errors.self_enhancement_error(own, others)
        add_unread(unread, judge, published, reasons)
        rows.append(JudgeRow(judge, grid.families[judge], published, corrected, reasons))
    known = ~np.isnan(table.scores)
    with np.errstate(invalid="ignore"):
        means = np.where(known, table.scores, 0.0).sum(axis=2) / known.sum(axis=2)
    matrix = matrix_of(Unit.MEAN_SCORE, grid, means)
    return SelfPreference(
        "score",
        len(table.items),
        tuple(rows),
        (matrix,),
        families_in(grid),
        curves or {},
        tuple(leaks),
        evaluation_parts(table, worded or {}, scales or {}),
    )
