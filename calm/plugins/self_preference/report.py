"""
The figures of self-preference: from the verdicts of all judges to data that a report can show and JSON can hold.

`Tables` holds verdicts of one kind: on pairs, on criteria, or scores. An `Estimator` gives a corrected figure of one
judge of them; all kinds have their estimators, published figures, matrices and parts in the one form of `Figures`. A
row is a judge, with its published figures beside the corrected ones. A figure that cannot be computed is None, and
`reasons` says why. A part is a table beside the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, partial
from math import isnan
from random import Random
from typing import TypeAlias

import numpy as np

from calm.core.annotations import Votes
from calm.core.case import Case, digest
from calm.core.claims import Estimate
from calm.core.families import Leak
from calm.core.measures import Unit
from calm.core.order import item_of
from calm.core.reasons import Kind, because, in_words
from calm.core.verdict import Family, Preferred, Scale, Task, Tie
from calm.errors import EstimateError
from calm.experiment.crossing import Judgment, Unread, Wording
from calm.experiment.stopping import LEVEL
from calm.models.wire import Json
from calm.plugins.self_preference import (
    harmful,
    opportunity,
    overestimation,
    pairs,
    panels,
    rubric,
    skill,
)
from calm.plugins.self_preference.contrasts import (
    DRAWS,
    Floats,
    Grid,
    mean_known,
)
from calm.plugins.self_preference.harmful import Asked
from calm.plugins.self_preference.pairs import TIES, TWINS, AuthorPair, Known
from calm.plugins.self_preference.parts import (
    Part,
    equal_parts,
    evaluation_parts,
    judge_pairs,
    known,
    opportunity_parts,
    perplexity_parts,
    ranking,
)
from calm.plugins.self_preference.perplexity import Curves, LogPerplexities
from calm.plugins.self_preference.rubric import RubricTable
from calm.plugins.self_preference.scores import (
    ScoreTable,
    SelfEvaluation,
    evaluated,
    p_holm,
    resampled_means,
    score_excess,
)
from calm.plugins.self_preference.skill import Excess
from calm.statistics import calm_errors

SCHEMA = "calm-self-preference/1"
EXCESS = "self_preference_excess"
ERROR = "self_enhancement_error"


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
    scale: Scale | None = None
    """The scale of all judges of scores, in whose points the figures are; None: they are shares, or no scores."""

    def to_json(self) -> dict[str, object]:
        """Return it as JSON-able data, under the schema `calm-self-preference/1`."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "items": self.items,
            "scale": None if self.scale is None else {"low": self.scale.low, "high": self.scale.high},
            "families": dict(sorted(self.families.items())),
            "judges": [
                {
                    "judge": row.judge,
                    "family": row.family,
                    "published": dict(row.published),
                    "corrected": {
                        name: asdict(replace(one, excluded={})) | {"excluded": in_words(one.excluded)}
                        for name, one in row.corrected.items()
                    },
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


Estimator: TypeAlias = Callable[[str], Estimate]
"""A corrected figure of a judge, by name; it raises an `EstimateError` that says why where the table lacks the data."""


@dataclass(frozen=True, slots=True)
class Figures:
    """
    What a kind of verdicts gives: estimators by name, and matrices and parts of the whole table.

    `published` returns the published figures of a judge, and adds to `reasons` why one is missing.
    """

    corrected: Mapping[str, Estimator]
    published: Callable[[str, dict[str, str]], dict[str, float | None]]
    matrices: tuple[Matrix, ...]
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Tables:
    """
    The verdicts of all judges of one kind, from which every figure is computed.

    It holds `rubrics`, `scores` or `pairs`, as the kind (`family`) of the verdicts is.
    """

    family: Family
    families: Mapping[str, str]
    rubrics: RubricTable | None = None
    scores: ScoreTable | None = None
    pairs: tuple[Judgment, ...] = ()
    worded: Mapping[Wording, ScoreTable] = field(default_factory=dict)
    """The scores in each wording in which they were asked; `scores` are those of the standard framing."""
    unread: Mapping[str, Unread] = field(default_factory=dict)
    """How many verdicts on single answers could not be read, by judge; empty where a record does not say."""
    scales: Mapping[str, Scale] = field(default_factory=dict)
    """The scale that each judge was asked on, where these differ: the scores are then shares of it, else its points."""
    shapes: Mapping[str, Task] = field(default_factory=dict)
    """The task of each judge."""
    asked: tuple[str, ...] = ()
    """All judges that were asked: one that gave no verdict keeps a row that says so."""
    cases: tuple[Case, ...] = ()
    """What is known of the answers that were scored."""
    votes: Votes | None = None
    """How the user wants votes of several people to count; with `each` the gaps are of votes."""
    twins: Mapping[str, str] = field(default_factory=dict)
    """Who wrote the original, by item, where the texts that were scored are twins."""

    @classmethod
    def of(cls, table: RubricTable | ScoreTable, worded: Mapping[Wording, ScoreTable] | None = None) -> Tables:
        """Return a table of criteria, or one of scores with those of each wording."""
        if isinstance(table, RubricTable):
            return cls("rubric", table.grid.families, rubrics=table)
        return cls("score", table.grid.families, scores=table, worded=worded or {})

    @cached_property
    def points(self) -> ScoreTable:
        """The scores, or the points of the criteria that are met, as a share of all points."""
        if self.scores is not None:
            return self.scores
        assert self.rubrics is not None
        values = rubric.scored(self.rubrics, self.rubrics.verdicts).values()
        return ScoreTable(self.rubrics.grid, self.rubrics.instances, values, 0.0, 1.0)

    @cached_property
    def grid(self) -> Grid:
        """The judges and the authors, in their order, with their families."""
        table = self.rubrics or self.scores
        return pairs.grid_of(self.pairs, self.families) if table is None else table.grid

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, in their order."""
        return self.grid.judges

    @cached_property
    def credited(self) -> tuple[RubricTable, skill.Credit] | None:
        """Criteria with the credit for them, where the truth of any is known."""
        if self.rubrics is None or not (self.rubrics.truth != rubric.MISSING).any():
            return None
        return self.rubrics, skill.credit(self.rubrics)

    @cached_property
    def _met(self) -> dict[str, list[AuthorPair]]:
        return {judge: pairs.faced(self.pairs, judge) for judge in self.judges}

    def faced(self, model: str) -> list[AuthorPair]:
        """Return the pairs of an answer of a judge and one of another author; scores and points rank the two."""
        if self.family != "pairwise":
            return pairs.faced_by_scores(self.points, model, self.twins)
        return self._met[model] if model in self._met else pairs.faced(self.pairs, model)

    def excess(self, model: str, level: float = LEVEL) -> Excess:
        """
        Return the excess of a judge, with two one-sided bounds at `level`; without truth it has one reading.

        Raises `EstimateError` where the table lacks the data.
        """
        if self.credited is not None:
            return skill.credit_excess(self.credited[1], self.grid, model, level=level)
        return pairs.pair_excess(self.faced(model), model, self.families, level=level)

    @cached_property
    def known(self) -> Callable[[str], Known]:
        """
        The pairs of a judge's own answers whose truth is known, made once for each judge.

        Raises `EstimateError` where it wrote none.
        """
        return cache(self._known)

    def _known(self, model: str) -> Known:
        if self.credited is not None:
            return pairs.known_by_criteria(self.credited[0], model)
        return pairs.known(self.faced(model), model, self.families)

    def ratio(self, model: str, seed: int) -> Estimate:
        """
        Return the double ratio of a judge of criteria, with two one-sided bounds at `LEVEL`.

        Raises `EstimateError` where the table lacks the data, or these verdicts have no such figure.
        """
        if self.rubrics is None:
            raise EstimateError(because(Kind.NO_FIGURE, self.family))
        if self.credited is None:
            raise EstimateError("no criterion of these answers has a known truth: add `met` or a `check`")
        over = overestimation.resample(overestimation.overestimated_rubrics(self.rubrics), _random(seed), DRAWS)
        return overestimation.double_ratio(over, self.grid, model, level=LEVEL)

    def ratings(self) -> list[list[Hashable | None]]:
        """Return what each judge said of each answer, pair or criterion; None where it said nothing."""
        if self.rubrics is not None:
            marks = self.rubrics.verdicts.reshape(len(self.judges), -1).T
            return [[None if mark == rubric.MISSING else mark for mark in row] for row in marks.tolist()]
        if self.scores is not None:
            values = self.scores.scores.reshape(len(self.judges), -1).T
            return [[None if isnan(value) else value for value in row] for row in values.tolist()]
        rows: dict[str, list[Hashable | None]] = {}
        for one in self.pairs:
            place = "tie" if isinstance(one.verdict, Tie) else None
            if isinstance(one.verdict, Preferred):
                place = "first" if one.verdict.answer == one.case.shown[0].id else "second"
            rows.setdefault(one.case.id, [None] * len(self.judges))[self.judges.index(one.judge)] = place
        return list(rows.values())

    def means(self, *, own: bool = True) -> Floats:
        """
        Return each judge's mean score of each author, or the share of pairs won, [judges, generators]; NaN for nothing.

        Without `own`, verdicts on a judge's own answers, pairs with one included, are left out.
        """
        if self.family == "pairwise":
            seen = [one for one in self.pairs if own or all(a.author != one.judge for a in one.case.answers)]
            return pairs.win_rates(seen, self.grid)
        foreign = np.array([[j != g for g in self.grid.generators] for j in self.judges])[..., None]
        return mean_known(self.points.scores if own else np.where(foreign, self.points.scores, np.nan), 2)

    def panel(self) -> dict[str, Json]:
        """Return how far the judges agree, and whether the ranking of the authors depends on one of them."""
        left = panels.stability(self.means(), self.judges, self.grid.generators)
        agreed = panels.agreements(self.ratings(), numeric=self.family == "score") if len(self.judges) > 1 else {}
        return {
            "agreement": dict(agreed),
            "leave_one_out": [{"judge": one.judge, "tau": one.tau, "best": one.best} for one in left],
        }

    def report(
        self,
        seed: int,
        *,
        curves: Mapping[str, Curves] | None = None,
        likely: LogPerplexities | None = None,
        leaking: Sequence[Leak] = (),
        outsider: str | None = None,
        asked: Asked | None = None,
    ) -> SelfPreference:
        """
        Return all figures of all judges; for scores also the excess over a neutral `outsider`, if one is named.

        `likely` holds the log-perplexities of the answers by judge, item and author, where servers gave them. `asked`
        says which tables of HSPP are added to the rows; None: no such table, nor those of the ranking of the authors.
        """
        found = self.figures(_random(seed), outsider=outsider)
        parts = perplexity_parts(likely or {}, curves or {}, level=LEVEL)
        beside = () if asked is None else self._beside(asked, seed)
        there = {row.judge for row in found.rows}
        silent = tuple(
            JudgeRow(name, self.families[name], {}, {}, {"own": f"{name} gave no verdict"})
            for name in self.asked
            if name not in there
        )
        return replace(
            found,
            rows=(*found.rows, *silent),
            curves=curves or {},
            leaks=tuple(leaking),
            log_perplexities=likely or {},
            parts=(*found.parts, *parts, *beside),
        )

    def _beside(self, asked: Asked, seed: int) -> tuple[Part, ...]:
        agreed = judge_pairs(self.ratings(), self.judges, numeric=self.family == "score")
        try:
            if self.rubrics is not None:
                evidence = overestimation.of_criteria(self.rubrics, self.shapes)
            elif self.scores is not None:
                evidence = overestimation.of_shares(self.scores, self.cases, self.shapes)
            else:
                evidence = overestimation.of_comparisons(self.pairs, self.families)
        except EstimateError as error:
            return (Part("hspp", (), str(error)), Part("ranking", (), str(error)), *agreed)
        ranked = ranking(evidence, self.means(own=False), self.means(), level=LEVEL)
        return (*harmful.beside(evidence, asked, seed), *ranked, *agreed)

    def figures(
        self, rng: Random, *, level: float = LEVEL, draws: int = DRAWS, outsider: str | None = None
    ) -> SelfPreference:
        """
        Return the published and the corrected figures of all judges.

        Of all kinds `own_pull` (on pairs, texts or criteria that are known to be equal) and `self_preference_excess`;
        where there is no truth, `reasons` says what the latter is worth. Of single answers also the shares of verdicts
        that could not be read (`unread`, `unread_own`), which are in no other figure, where the table says it. All
        other figures are those of `of_pairs`, `of_scores` or `of_rubrics`. `level` is of each bound.

        Raises `EstimateError` for no verdicts.
        """
        state = rng.getstate()

        def again() -> Random:
            """Return the same randomness again: all figures and judges use the same resampled sets, in any order."""
            rng.setstate(state)
            return rng

        if self.rubrics is not None:
            found, items = of_rubrics(self.rubrics, again, level, draws), len(self.rubrics.instances)
        elif self.scores is not None:
            found, items = of_scores(self, again, level, draws, outsider), len(self.scores.items)
        else:
            found, items = of_pairs(self, again, level, draws), len({item_of(one.case) for one in self.pairs})

        def pull_on(kind: str, judge: str) -> Estimate:
            return pairs.pull_on(kind, self.known(judge), level=level).estimate

        equal = self._equal(level)
        kinds = {row["of"] for part in equal for row in part.rows}
        pulls: dict[str, Estimator] = {"twin_pull": partial(pull_on, TWINS)} if TWINS in kinds else {}
        if TIES in kinds or not pulls:
            pulls["own_pull"] = partial(pull_on, TIES)
        estimators = pulls | dict(found.corrected)
        rows = []
        for judge in self.judges:
            corrected: dict[str, Estimate] = {}
            reasons: dict[str, str] = {}
            for name, estimator in estimators.items():
                try:
                    corrected[name] = estimator(judge)
                except EstimateError as error:
                    reasons[name] = str(error)
            try:
                excess = self.excess(judge, level)
                corrected[EXCESS] = excess.estimate
                if excess.skill is None:
                    reasons[EXCESS] = str(because(Kind.NO_TRUTH))
            except EstimateError as error:
                reasons[EXCESS] = str(error)
            published = found.published(judge, reasons)
            if (unread := self.unread.get(judge)) is not None:
                published |= unread.shares()
                if unread.unread == unread.asked:
                    reasons |= dict.fromkeys(("own", *reasons), f"{judge} gave no verdict that could be read")
            rows.append(JudgeRow(judge, self.grid.families[judge], published, corrected, reasons))
        known = {name: self.grid.families[name] for name in (*self.judges, *self.grid.generators)}
        points = self.scores if not self.scales else None
        scale = None if points is None else Scale(points.low, points.high)
        every = (*equal, *found.parts)
        return SelfPreference(self.family, items, tuple(rows), found.matrices, known, parts=every, scale=scale)

    def _equal(self, level: float) -> tuple[Part, ...]:
        """Return the pulls on each kind of equal answers beside those of outsiders, of judges that wrote some."""
        if self.credited is not None:
            return ()
        own = {name: self.known(name) for name in self.judges if name in self.grid.generators}
        return equal_parts(own, level=level)


def _random(seed: int) -> Random:
    return Random(digest("self-preference", seed))


def matrix_of(unit: Unit, grid: Grid, values: Floats) -> Matrix:
    """Return values [judges, generators] as a heat map; NaN is no data."""
    return Matrix(
        unit.value,
        grid.judges,
        grid.generators,
        tuple(tuple(known(value) for value in row) for row in values),
        tuple(tuple(row) for row in grid.marks()),
    )


def of_pairs(tables: Tables, again: Callable[[], Random], level: float, draws: int) -> Figures:
    """
    Return the figures that verdicts on pairs alone have, each pair in both orders.

    Published: shares of own pairs that go to `own`, `other` and `none` (a split between the orders included), and where
    pairs have gold labels the equal-opportunity `gap`; of the pairs asked in both orders how many the own answer won
    both times (`own_twice`), the other one (`other_twice`), and the exact two-sided p (`p_twice`); `unread`, the share
    of own pairs of which the judge said nothing in one of the orders, which are in no other figure.

    Corrected: `gap_excess`, the gap minus that of outsiders on the same pairs.

    Parts: the counts behind the gap, and both recalls, gap and demographic parity beside those of outsiders.

    Matrix: the share of its pairs that an answer wins.
    """
    families = tables.families
    labelled = pairs.by_vote if tables.votes == "each" else list

    def published(judge: str, reasons: dict[str, str]) -> dict[str, float | None]:
        if not (faced := tables.faced(judge)):
            return {}
        _, said, _ = pairs.outcomes(faced, judge)
        figures: dict[str, float | None] = {"unread": 1 - said.size / len(faced)}
        if not said.size:
            why = f"{judge} gave no verdict that could be read on both orders of a pair of its own"
            missing = dict.fromkeys(("own", *reasons), why)
            reasons.clear()
            reasons |= missing
            return figures
        found = opportunity.shares(said)
        figures |= {"own": found.own, "other": found.other, "none": found.none}
        with suppress(EstimateError):
            twice = pairs.orders_of(faced, judge)
            figures |= {"own_twice": float(twice.own), "other_twice": float(twice.other), "p_twice": twice.p}
        try:
            counts = opportunity.confusion(*pairs.outcomes(labelled(faced), judge)[:2])
            figures["gap"] = opportunity.equal_opportunity(counts).gap.value
        except EstimateError as error:
            reasons["gap"] = str(error)
        return figures

    def gap_excess(judge: str) -> Estimate:
        return pairs.gap_excess(labelled(tables.faced(judge)), judge, families, again(), level=level, draws=draws)

    own = {judge: tables.faced(judge) for judge in tables.judges}
    parts = opportunity_parts(own, families, again(), votes=tables.votes, level=level, draws=draws)
    matrix = matrix_of(Unit.PAIRS_WON, tables.grid, tables.means())
    return Figures({"gap_excess": gap_excess}, published, (matrix,), parts)


def of_rubrics(table: RubricTable, again: Callable[[], Random], level: float, draws: int) -> Figures:
    """
    Return the figures that verdicts on criteria alone have.

    Published: `mra`, `mipa`, and HSPP ratios by rubric and instance for self, family with self and family without.

    Corrected: `self_preference_ratio` (the double ratio by rubric), the same by instance as
    `self_preference_ratio_instance`, `family_preference_ratio`, and `overestimation_excess` (double-centred, by
    rubric).

    Matrices: over-estimation rate by rubric, and centred score differences.
    """
    grid = table.grid
    judged, true = rubric.scored(table, table.verdicts), rubric.scored(table, table.truth)
    signs, true_signs = rubric.signs(judged), rubric.signs(true)
    by_rubric = overestimation.overestimated_rubrics(table)
    by_instance = overestimation.overestimated_instances(signs, true_signs)
    accuracy = rubric.mean_rubric_agreement(table.verdicts, table.truth)
    agreement = rubric.mean_instance_agreement(signs, true_signs)
    samples = tuple(overestimation.resample(over, again(), draws) for over in (by_rubric, by_instance))
    ratio = partial(overestimation.double_ratio, grid=grid, level=level)

    def published(judge: str, reasons: dict[str, str]) -> dict[str, float | None]:
        place = grid.row(judge)
        one, two = (overestimation.hspp(over.rates(), grid, judge) for over in (by_rubric, by_instance))
        figures = {"mra": known(accuracy[place]), "mipa": known(agreement[place])}
        for name, found in (("rubric", one), ("instance", two)):
            figures[f"hspp_self_{name}"] = found.ratio_self
            figures[f"hspp_family_with_self_{name}"] = found.ratio_family_with_self
            figures[f"hspp_family_without_self_{name}"] = found.ratio_family_without_self
        if one.reason:
            reasons |= dict.fromkeys((n for n, v in figures.items() if v is None and "hspp" in n), one.reason)
        return figures

    corrected: dict[str, Estimator] = {
        "self_preference_ratio": lambda judge: ratio(samples[0], judge=judge),
        "self_preference_ratio_instance": lambda judge: ratio(samples[1], judge=judge),
        "family_preference_ratio": lambda judge: ratio(samples[0], judge=judge, target="family"),
        "overestimation_excess": lambda judge: overestimation.rate_excess(samples[0], grid, judge, level=level),
    }
    deltas = rubric.centred_deltas(rubric.system_scores(judged), rubric.system_scores(true))
    matrices = matrix_of(Unit.RUBRIC_RATE, grid, by_rubric.rates()), matrix_of(Unit.CENTRED_ERROR, grid, deltas)
    return Figures(corrected, published, matrices)


def of_scores(tables: Tables, again: Callable[[], Random], level: float, draws: int, outsider: str | None) -> Figures:
    """
    Return the figures that scores alone have.

    Published: `own`, `received`, `given`, their t and p values and Holm's, and CALM's `self_enhancement_error`. A ratio
    of means depends on where the scale begins: where scores are shares, CALM's error is that on the scale of the judge.

    Corrected: the double-centred `score_excess` over all outsiders, and `excess_over_outsider` over the neutral one, if
    it is named. All are in points of the scale; in shares of it where the judges' scales differ.

    Parts: CALM's error with the means that it divides, and graded self-evaluation, in each of the wordings in which the
    scores were asked (see `evaluation_parts`).

    Matrix: the mean score.
    """
    table = tables.points
    means = resampled_means(table, again(), draws)
    evaluations = evaluated(table, table.grid.judges)
    said = [one for one in evaluations.values() if not isinstance(one, str)]
    adjusted = {name: p_holm(said, f"own_minus_{name}") for name in ("received", "given")}
    errors = {one.judge: _enhancement(tables, one) for one in said if one.received is not None}

    def published(judge: str, reasons: dict[str, str]) -> dict[str, float | None]:
        found = evaluations[judge]
        if isinstance(found, str):
            reasons["own"] = found
            return {}
        figures: dict[str, float | None] = {"own": found.own.mean}
        for name, spread in (("received", found.received), ("given", found.given)):
            figures[name] = None if spread is None else spread.mean
        for name, test in (("received", found.own_minus_received), ("given", found.own_minus_given)):
            if test is not None:
                figures |= {f"t_{name}": test.t, f"p_{name}": test.p, f"d_z_{name}": test.d_z}
        figures |= {f"p_holm_{name}": by_judge.get(judge) for name, by_judge in adjusted.items()}
        if judge in errors:
            figures[ERROR] = errors[judge][ERROR]
        return figures

    excess = partial(score_excess, table, rng=means, level=level)
    corrected: dict[str, Estimator] = {"score_excess": lambda judge: excess(judge=judge)}
    if outsider is not None:
        corrected["excess_over_outsider"] = lambda judge: excess(judge=judge, outsiders=[outsider])
    matrix = matrix_of(Unit.MEAN_SCORE, table.grid, tables.means())
    parts = list(evaluation_parts(table, tables.worded))
    if errors:
        rows = ({"judge": one.judge, "n": one.n, **errors[one.judge]} for one in said if one.judge in errors)
        parts.append(Part("self_enhancement", tuple(rows)))
    return Figures(corrected, published, (matrix,), tuple(parts))


def _enhancement(tables: Tables, found: SelfEvaluation) -> dict[str, float | None]:
    """
    Return CALM's error of a judge, the mean scores that it divides, on the judge's scale, and how many are unread.

    The error is None where more than `MOST_UNREAD` of its scores of its own answers, or of the others' scores of these,
    hold no verdict.
    """
    assert found.received is not None
    table, scale = tables.points, tables.scales.get(found.judge, Scale(0.0, 1.0))
    own, others = (scale.low + one.mean * (scale.high - scale.low) for one in (found.own, found.received))
    lacking = np.isnan(table.scores[:, table.grid.columns(found.judge, "self")[0]])
    written = {item_of(case) for case in tables.cases if any(a.author == found.judge for a in case.answers)}
    asked = np.array([item in written for item in table.items]) if written else ~lacking.all(axis=0)
    mine = np.arange(len(lacking)) == table.grid.row(found.judge)
    gone = max(float(lacking[rows][:, asked].mean()) for rows in (mine, ~mine))
    known = others > 0 and gone <= calm_errors.MOST_UNREAD
    error = calm_errors.self_enhancement_error(own, others) if known else None
    return {"y_self": own, "y_other": others, ERROR: error, "unread": gone}
