"""The verdicts of all judges as tables, and the figures that are computed from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, log
from random import Random

import numpy as np

from calm.core.case import Case, Framing, digest
from calm.core.claims import Claim, Decision, Estimate, Outcome, cases_to_decide, decide
from calm.core.reasons import Kind, because
from calm.core.trials import Trial, Trials
from calm.core.verdict import Family, Preferred, Scale, Task, Tie, readable
from calm.errors import EstimateError
from calm.experiment.stopping import LEVEL
from calm.models.wire import Json
from calm.selfpreference import harmful, overestimation, pairs, panels, report, rubric, skill
from calm.selfpreference.contrasts import DRAWS, Floats, Grid
from calm.selfpreference.crossing.design import UNIT, CrossResult, TableJudge, identity, why_none
from calm.selfpreference.families import Leak
from calm.selfpreference.harmful import Asked
from calm.selfpreference.likelihood import Curves, LogPerplexities
from calm.selfpreference.overestimation import of_comparisons, of_criteria, of_shares
from calm.selfpreference.pairs import Known, pull_of_own
from calm.selfpreference.parts import Part, judge_pairs, perplexity_parts, ranking
from calm.selfpreference.report import SelfPreference
from calm.selfpreference.rubric import RubricTable, rubric_table_of
from calm.selfpreference.scores import ScoreTable, averaged, score_tables_of
from calm.selfpreference.skill import Excess
from calm.selfpreference.symbols import own_pull, self_preference_excess, self_preference_ratio
from calm.selfpreference.verdicts import Judgment, Unread, Wording, unread_of
from calm.statistics.intervals import smallest_n


@dataclass(frozen=True)
class Tables:
    """The verdicts of all judges as tables, from which every figure is computed."""

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
    """The scale that each judge was asked on, where the scores are shares of it."""
    shapes: Mapping[str, Task] = field(default_factory=dict)
    """The task of each judge."""
    asked: tuple[str, ...] = ()
    """All judges that were asked: one that gave no verdict keeps a row that says so."""
    cases: tuple[Case, ...] = ()
    """What is known of the answers that were scored."""

    @cached_property
    def points(self) -> ScoreTable:
        """The scores, or the points of the criteria that are met, as a share of all points."""
        if self.scores is not None:
            return self.scores
        assert self.rubrics is not None
        values = rubric.scored(self.rubrics, self.rubrics.verdicts).values()
        return ScoreTable(self.rubrics.grid, self.rubrics.instances, values, 0.0, 1.0)

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, in their order."""
        if self.family == "pairwise":
            return tuple(dict.fromkeys(one.judge for one in self.pairs))
        table = self.rubrics or self.scores
        assert table is not None
        return table.grid.judges

    @property
    def true(self) -> bool:
        """Whether the truth of any criterion is known."""
        return self.rubrics is not None and bool((self.rubrics.truth != rubric.MISSING).any())

    def excess(self, model: str) -> Excess:
        """
        Return the excess of a judge, with two one-sided bounds at `LEVEL`; without truth it has one reading.

        Raises `EstimateError` where the table lacks the data.
        """
        if self.family == "pairwise":
            return pairs.pair_excess(pairs.faced(self.pairs, model), model, self.families, level=LEVEL)
        if self.rubrics is not None and self.true:
            return skill.credit_excess(skill.credit(self.rubrics), self.rubrics.grid, model, level=LEVEL)
        faced = pairs.faced_by_scores(self.points, model)
        return pairs.pair_excess(faced, model, self.points.grid.families, level=LEVEL)

    def known(self, model: str) -> Known:
        """
        Return the pairs of a judge's own answers whose truth is known.

        Raises `EstimateError` where it wrote none.
        """
        if self.family == "pairwise":
            return pairs.known(pairs.faced(self.pairs, model), model, self.families)
        if self.rubrics is not None and self.true:
            return pairs.known_by_criteria(self.rubrics, model)
        return pairs.known_by_scores(self.points, model)

    def ratio(self, model: str, seed: int) -> Estimate:
        """
        Return the double ratio of a judge of criteria, with two one-sided bounds at `LEVEL`.

        Raises `EstimateError` where the table lacks the data, or these verdicts have no such figure.
        """
        if self.rubrics is None:
            raise EstimateError(because(Kind.NO_FIGURE, self.family))
        if not self.true:
            raise EstimateError("no criterion of these answers has a known truth: add `met` or a `check`")
        rng = Random(digest("self-preference", seed))
        over = overestimation.resample(overestimation.overestimated_rubrics(self.rubrics), rng, DRAWS)
        return overestimation.double_ratio(over, self.rubrics.grid, model, level=LEVEL)

    def ratings(self) -> list[list[Hashable | None]]:
        """Return what each judge said of each answer, pair or criterion; None where it said nothing."""
        if self.rubrics is not None:
            marks = self.rubrics.verdicts.reshape(len(self.rubrics.grid.judges), -1).T
            return [[None if mark == rubric.MISSING else mark for mark in row] for row in marks.tolist()]
        if self.scores is not None:
            values = self.scores.scores.reshape(len(self.scores.grid.judges), -1).T
            return [[None if isnan(value) else value for value in row] for row in values.tolist()]
        judges = self.judges
        rows: dict[str, list[Hashable | None]] = {}
        for one in self.pairs:
            row = rows.setdefault(one.case.id, [None] * len(judges))
            row[judges.index(one.judge)] = _place(one)
        return list(rows.values())

    def means(self, *, own: bool = True) -> tuple[Grid, Floats]:
        """
        Return each judge's mean score of each author, or the share of pairs won, [judges, generators]; NaN for nothing.

        Without `own`, verdicts on a judge's own answers, pairs with one included, are left out.
        """
        if self.family == "pairwise":
            grid = pairs.grid_of(self.pairs, self.families)
            seen = [one for one in self.pairs if own or all(a.author != one.judge for a in one.case.answers)]
            return grid, pairs.win_rates(seen, grid)
        points = self.points
        known = ~np.isnan(points.scores)
        if not own:
            known &= np.array([[j != g for g in points.grid.generators] for j in points.grid.judges])[..., None]
        with np.errstate(invalid="ignore"):
            means = np.where(known, points.scores, 0.0).sum(axis=2) / known.sum(axis=2)
        return points.grid, means

    def panel(self) -> dict[str, Json]:
        """Return how far the judges agree, and whether the ranking of the authors depends on one of them."""
        grid, means = self.means()
        left = panels.stability(means, grid.judges, grid.generators)
        agreed = panels.agreements(self.ratings(), numeric=self.family == "score") if len(grid.judges) > 1 else {}
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
        found = self._figures(seed, curves or {}, leaking, outsider)
        likelihoods = perplexity_parts(likely or {}, curves or {}, level=LEVEL)
        beside = () if asked is None else self._beside(asked, seed)
        there = {row.judge for row in found.rows}
        silent = tuple(
            report.JudgeRow(name, self.families[name], {}, {}, {"own": f"{name} gave no verdict"})
            for name in self.asked
            if name not in there
        )
        every = (*found.rows, *silent)
        return replace(found, rows=every, log_perplexities=likely or {}, parts=(*found.parts, *likelihoods, *beside))

    def _beside(self, asked: Asked, seed: int) -> tuple[Part, ...]:
        """Return the tables of HSPP and of the ranking, or why there are none, and how far each two judges agree."""
        agreed = judge_pairs(self.ratings(), self.judges, numeric=self.family == "score")
        try:
            if self.rubrics is not None:
                evidence = of_criteria(self.rubrics, self.shapes)
            elif self.scores is not None:
                evidence = of_shares(self.scores, self.cases, self.shapes)
            else:
                evidence = of_comparisons(self.pairs, self.families)
        except EstimateError as error:
            return (Part("hspp", (), str(error)), Part("ranking", (), str(error)), *agreed)
        (grid, foreign), (_, every) = self.means(own=False), self.means()
        assert grid == evidence.grid
        ranked = ranking(evidence, foreign, every, level=LEVEL)
        return (*harmful.beside(evidence, asked, seed), *ranked, *agreed)

    def _figures(
        self, seed: int, curves: Mapping[str, Curves], leaking: Sequence[Leak], outsider: str | None
    ) -> SelfPreference:
        rng = Random(digest("self-preference", seed))
        if self.rubrics is not None:
            return report.of_rubrics(self.rubrics, rng, level=LEVEL, curves=curves, leaks=leaking, unread=self.unread)
        if self.scores is not None:
            return report.of_scores(
                self.scores,
                rng,
                level=LEVEL,
                outsider=outsider,
                curves=curves,
                leaks=leaking,
                unread=self.unread,
                scales=self.scales,
                worded=self.worded,
            )
        return report.of_pairs(self.pairs, self.families, rng, level=LEVEL, curves=curves, leaks=leaking)


def _place(one: Judgment) -> str | None:
    """Return what a verdict says of a pair, by where the answers stood; None where it could not be read."""
    if isinstance(one.verdict, Preferred):
        return "first" if one.verdict.answer == one.case.shown[0].id else "second"
    return "tie" if isinstance(one.verdict, Tie) else None


def tables_of(crossed: CrossResult) -> Tables:
    """
    Return the tables of the verdicts.

    Raises `EstimateError` without a readable verdict.
    """
    families, judged, family = crossed.crossing.families, crossed.judged, crossed.crossing.family
    shapes = {member.model: member.task for member in crossed.crossing.members}
    asked = tuple(shapes)
    if not any(readable(one.verdict) for one in judged):
        raise EstimateError("no reply holds a verdict")
    if family == "rubric":
        table = rubric_table_of(judged, families)
        return Tables(family, families, rubrics=table, unread=unread_of(judged), shapes=shapes, asked=asked)
    if family == "score":
        worded = score_tables_of(judged, families, UNIT)
        usual = averaged([table for wording, table in worded.items() if wording.framing is Framing.STANDARD])
        scales = {one.model: one.asked_scale or one.scale for one in crossed.crossing.members}
        return Tables(
            family,
            families,
            scores=usual,
            worded=worded,
            unread=unread_of(judged),
            scales=scales,
            shapes=shapes,
            cases=crossed.crossing.cases,
            asked=asked,
        )
    return Tables(family, families, pairs=tuple(judged), asked=asked)


def recorded_tables(judge: TableJudge) -> Tables:
    """Return the tables of a recorded judge."""
    table = judge.table()
    if isinstance(table, RubricTable):
        return Tables("rubric", table.grid.families, rubrics=table)
    return Tables("score", table.grid.families, scores=table, worded=judge.worded())


def decide_on(tables: Tables, model: str, claim: Claim, seed: int) -> Decision:
    """Return the decision of a claim about a judge of the tables: NOT_TESTED, with the reason, where they lack data."""
    if claim.measure == own_pull.name:
        return decide_pull(lambda: tables.known(model), lambda: tables.excess(model), claim)
    if claim.measure == self_preference_excess.name:
        return observe_excess(lambda: tables.excess(model), claim)
    try:
        return _decided(tables.ratio(model, seed), claim)
    except EstimateError as error:
        return _untested(claim, error)


def decide_pull(known: Callable[[], Known], excess: Callable[[], Excess], claim: Claim) -> Decision:
    """
    Return the decision of a claim about the pull of own answers, from pairs that are known to be equal.

    Where too few are, pairs that the own answer truly lost can only disprove it: a fair judge takes its own in at most
    half of these. Else the excess is OBSERVED in its place, since nothing tells it from skill; NOT_TESTED where there
    is none.
    """
    try:
        found = known()
    except EstimateError as error:
        return _untested(claim, error)
    try:
        pull = pull_of_own(found.equal, level=LEVEL)
    except EstimateError as error:
        few = why_none(error)
    else:
        decided, value, others = _decided(pull.estimate, claim), pull.estimate.value, pull.outsiders or 0.0
        if decided.outcome is Outcome.UNDECIDED and value - max(others, 0.0) <= claim.limit < value:
            reason = because(Kind.SHARED_PULL, round(value, 2), round(others, 2))
            return replace(decided, reason=reason, cases_to_decide=None)
        return decided
    try:
        lost = pull_of_own([found.lost], level=LEVEL).estimate
        if decide(lost, replace(claim, op="<=")) is Outcome.FAIL:
            return Decision(claim.measure, claim, Outcome.FAIL, lost, because(Kind.OWN_WRONG))
    except EstimateError:
        pass
    beyond = observe_excess(excess, replace(claim, measure=self_preference_excess.name))
    if beyond.outcome is Outcome.NOT_TESTED:
        return Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=few)
    return beyond if beyond.reason.kind is Kind.NO_TRUTH else replace(beyond, reason=few)


def observe_excess(measured: Callable[[], Excess], claim: Claim) -> Decision:
    """
    Return an excess as OBSERVED, whatever is claimed of it; NOT_TESTED, with the reason, where it cannot be `measured`.

    A fair judge has one as well where outsiders miss a quality that it sees, or share a taste against its style.
    """
    try:
        found = measured()
    except EstimateError as error:
        return _untested(claim, error)
    reason = because(Kind.NO_TRUTH)
    if found.skill is not None:
        numbers = (*found.skill, *(one.value for one in found.readings))
        reason = because(Kind.SKILL_OR_PREFERENCE, *(round(number, 2) for number in numbers))
    return Decision(claim.measure, None, Outcome.OBSERVED, found.estimate, reason)


def _untested(claim: Claim, error: EstimateError) -> Decision:
    return Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=why_none(error))


def _decided(found: Estimate, claim: Claim) -> Decision:
    outcome = decide(found, claim)
    needed = _needed(found, claim) if outcome is Outcome.UNDECIDED else None
    return Decision(claim.measure, claim, outcome, found, cases_to_decide=needed)


def _needed(found: Estimate, claim: Claim) -> int | None:
    if claim.measure != self_preference_ratio.name:
        return cases_to_decide(found, claim, smallest_n(min(0.5, claim.limit), LEVEL))
    low, value, high, limit = (log(x) for x in (found.low, found.value, found.high, claim.limit))
    return cases_to_decide(replace(found, low=low, value=value, high=high), replace(claim, limit=limit), 2)


def trials_of(crossed: CrossResult) -> Trials:
    """Return the verdicts of the judge in question as trials of one ask a case."""
    first = crossed.crossing.members[0]
    rows = tuple(_row(one) for one in crossed.judged if one.judge == first.model)
    scale = UNIT if crossed.crossing.family == "score" else first.scale
    return Trials(rows, crossed.crossing.family, scale, {}, crossed.lost, "1+0")


def _row(one: Judgment) -> Trial:
    case = one.case
    return Trial(
        case=case.id,
        hash=identity(case)[:16],
        better=case.better,
        met=case.met.get(case.answers[0].id, {}) if len(case.answers) == 1 else {},
        points={c.id: c.points for c in case.criteria},
        clean=(one.verdict,),
    )
