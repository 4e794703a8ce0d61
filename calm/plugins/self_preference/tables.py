"""The verdicts of all judges as tables, and what they decide of a claim, such as one of `probe.cross()`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log
from typing import cast

from calm.core.annotations import Votes
from calm.core.case import Framing
from calm.core.claims import Claim, Decision, Estimate, Outcome, cases_to_decide, decide
from calm.core.measures import own_pull, self_preference_excess, self_preference_ratio
from calm.core.order import item_of
from calm.core.reasons import Kind, because
from calm.core.trials import Trial, Trials
from calm.core.verdict import readable
from calm.errors import EstimateError
from calm.experiment.crossing import (
    TWIN_OF,
    UNIT,
    CrossResult,
    Judgment,
    TableJudge,
    identity,
    model_of,
    unread_of,
    why_none,
)
from calm.experiment.stopping import LEVEL, Ruling
from calm.gate.question import not_tested
from calm.models.wire import Json, Judge
from calm.plugins.self_preference.pairs import TWINS, Known, Pull, pull_of_own, pulls
from calm.plugins.self_preference.record import record
from calm.plugins.self_preference.report import Tables
from calm.plugins.self_preference.rubric import rubric_table_of
from calm.plugins.self_preference.scores import averaged, in_points, score_tables_of
from calm.plugins.self_preference.skill import Excess
from calm.statistics.intervals import smallest_n


def tables_of(crossed: CrossResult, votes: Votes | None = None) -> Tables:
    """
    Return the tables of the verdicts; of pairs, `votes` says how those of several people count.

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
        scales = {one.model: one.asked_scale or one.scale for one in crossed.crossing.members}
        if len({(scale.low, scale.high) for scale in scales.values()}) == 1:
            _, scale = scales.popitem()
            worded, scales = {wording: in_points(table, scale) for wording, table in worded.items()}, {}
        usual = averaged([table for wording, table in worded.items() if wording.framing is Framing.STANDARD])
        return Tables(
            family,
            families,
            scores=usual,
            worded=worded,
            unread=unread_of(judged),
            scales=scales,
            shapes=shapes,
            cases=crossed.crossing.cases,
            twins={item_of(case): case.tags[TWIN_OF] for case in crossed.crossing.cases if TWIN_OF in case.tags},
            asked=asked,
        )
    return Tables(family, families, pairs=tuple(judged), asked=asked, votes=votes)


def recorded_tables(judge: TableJudge) -> Tables:
    """Return the tables of a recorded judge."""
    return Tables.of(judge.table(), judge.worded())


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

    Labelled ties and twins are two kinds of them: one that fails is a FAIL, and both must pass.

    Where too few are, pairs that the own answer truly lost can only disprove it: a fair judge takes its own in at most
    half of these. Else the excess is OBSERVED in its place, since nothing tells it from skill; NOT_TESTED where there
    is none.
    """
    try:
        found = known()
    except EstimateError as error:
        return _untested(claim, error)
    try:
        pulled = [_pulled(kind, pull, claim) for kind, pull in pulls(found, level=LEVEL).items()]
        return max(pulled, key=lambda one: (Outcome.PASS, Outcome.UNDECIDED, Outcome.FAIL).index(one.outcome))
    except EstimateError as error:
        few = why_none(error)
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


def _pulled(kind: str, pull: Pull, claim: Claim) -> Decision:
    decided, value, theirs = _decided(pull.estimate, claim), pull.estimate.value, pull.outsiders
    above = value - pull.fair <= claim.limit < value
    if decided.outcome is Outcome.UNDECIDED and above and theirs is not None and theirs.low > 0:
        reason = because(Kind.SHARED_PULL, round(value, 2), round(theirs.value, 2))
        return replace(decided, reason=reason, cases_to_decide=None)
    return replace(decided, reason=because(Kind.TWINS)) if kind == TWINS else decided


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


def decide_cross(
    judge: Judge, crossed: CrossResult | None, claims: Sequence[Claim], seed: int
) -> tuple[list[Ruling], Json | None]:
    """
    Return what follows for each claim from what judges said, or from what a judge brings; and all figures.

    There are no figures where nothing could be estimated.

    Raises:
        EstimateError: there are no such tables.
    """
    trials = None if crossed is None else trials_of(crossed)
    if crossed is not None and crossed.missing:
        return not_tested(claims, (), crossed.missing, Outcome.INCOMPLETE), None
    tables = recorded_tables(cast("TableJudge", judge)) if crossed is None else tables_of(crossed)
    model = model_of(judge)
    found = [Ruling(decide_on(tables, model, claim, seed), trials) for claim in claims]
    # the mean scores of a judge and of others tell something also where the excess lacks data
    if tables.scores is None and all(one.decision.estimate is None for one in found):
        return found, None
    figures = tables.report(seed, leaking=crossed.crossing.leaks if crossed else ())
    return found, record(figures, tables, crossed, seed)
