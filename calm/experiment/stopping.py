"""When a claim is decided: at the end, at a few looks, or as soon as the evidence is there whenever one looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum

from calm.core.claims import Claim, Decision, Estimate, Outcome, cases_to_decide, decide_between
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import NONE, Kind, Reason, because, counted, reason_of
from calm.core.trials import Trials
from calm.core.verdict import readable
from calm.errors import EstimateError
from calm.statistics.betting import confidence_sequence, decide_anytime
from calm.statistics.sequential import TWO_PLUS_TWO, TWO_STAGE, Direction, GroupPlan, Look, plan_for
from calm.statistics.sprt import SprtPlan, decide_in_turn, plan_sprt

LOST = 0.02
"""Share of cases that may be lost before a claim is INCOMPLETE."""
LEVEL = 0.05
"""One-sided error probability of a claim."""
STAGE_LEVEL = 0.03
"""The same for each look of the two-stage design; both together stay below `LEVEL`."""
SMALLEST = 50
"""Cases below which there is nothing to gain by looking before the end."""
STEP = 20
"""Cases between two looks, where looking costs nothing."""
SPARE = 0.7
"""Where a test of a rate puts its alternative: this share of the way from the limit to 1 (.90 is told from .97)."""


class Stopping(StrEnum):
    """The rule of a run."""

    FIXED = "fixed"
    LOOKS = "looks"
    """Group-sequential: five looks, then the top-up; a sequential probability ratio test for one-ask rates."""
    ANYTIME = "anytime"
    """A betting e-process: valid whenever one looks, also after adding cases to an earlier run."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision on a claim, or what was observed of a measure, with the trials that it was taken on, if any."""

    decision: Decision
    trials: Trials | None


def looks(rule: Stopping, n: int, *, staged: bool, edited: bool) -> GroupPlan:
    """
    Return the looks of a run of n cases.

    `staged`: undecided claims are topped up at the end. `edited`: there is a perturbed arm.
    """
    if rule is Stopping.ANYTIME:
        ends = [*range(STEP, n, STEP), n]
        return GroupPlan(tuple(Look(end, LEVEL, LEVEL) for end in ends))
    if rule is Stopping.LOOKS and n >= SMALLEST:
        return plan_for(n, plan=TWO_STAGE if staged and edited else TWO_PLUS_TWO)
    if staged:
        return GroupPlan((Look(n, STAGE_LEVEL, STAGE_LEVEL), Look(n, STAGE_LEVEL, STAGE_LEVEL, topped=True)))
    return GroupPlan((Look(n, LEVEL, LEVEL),))


def rule_on(rule: Stopping, claim: Claim, trials: Trials, asks: tuple[int, int], look: Look) -> Ruling:
    """Return what a look says of a claim, with `asks` a case in both arms. `trials.rows` are in the order asked."""
    measure = MEASURES[claim.measure]
    missing = _missing(claim, trials)
    if asks[0] < measure.asks[0] or asks[1] < measure.asks[1]:
        reason = because(Kind.NEEDS_ASKS, claim.measure, *measure.asks, f"{asks[0]}+{asks[1]}")
        return Ruling(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), trials)
    cells = measure.cells(trials)
    try:
        stopped = _stopped(rule, claim, measure, trials, cells)
        if stopped is None:
            proof, counter = measure.estimates(trials, cells, look.prove, look.disprove)
            stopped = (*decide_between(proof, counter, claim, LEVEL), trials)
    except EstimateError as error:
        outcome = Outcome.INCOMPLETE if missing else Outcome.NOT_TESTED
        return Ruling(Decision(claim.measure, claim, outcome, reason=missing or reason_of(error)), trials)
    outcome, estimate, used = stopped
    if missing:
        return Ruling(Decision(claim.measure, claim, Outcome.INCOMPLETE, estimate, missing), trials)
    needed = None
    if outcome is Outcome.UNDECIDED:
        needed = cases_to_decide(estimate, claim, measure.smallest_n(claim, look.prove or LEVEL))
    return Ruling(Decision(claim.measure, claim, outcome, estimate, cases_to_decide=needed), used)


def observe(measure: Measure, trials: Trials, asks: tuple[int, int]) -> Ruling:
    """Return what was observed of a measure, without a limit, with `asks` a case in both arms."""
    if asks[0] < measure.asks[0] or asks[1] < measure.asks[1]:
        reason = because(Kind.TOO_FEW_ASKS, f"{asks[0]}+{asks[1]}")
        return Ruling(Decision(measure.name, None, Outcome.NOT_TESTED, reason=reason), trials)
    try:
        return Ruling(Decision(measure.name, None, Outcome.OBSERVED, measure.estimate(trials, LEVEL)), trials)
    except EstimateError as error:
        return Ruling(Decision(measure.name, None, Outcome.NOT_TESTED, reason=reason_of(error)), trials)


def untested(
    claims: Sequence[Claim], observed: Sequence[Measure], reason: Reason, outcome: Outcome = Outcome.NOT_TESTED
) -> list[Ruling]:
    """Return a ruling without data for each claim and each observed measure."""
    decisions = [Decision(c.measure, c, outcome, reason=reason) for c in claims]
    decisions += [Decision(m.name, None, outcome, reason=reason) for m in observed]
    return [Ruling(decision, None) for decision in decisions]


def _missing(claim: Claim, trials: Trials) -> Reason:
    """Return why the data of a claim are incomplete, or `NONE`."""
    if trials.lost_share > LOST or any(reason.has(Kind.CAPPED) for reason in trials.lost):
        return counted(trials.lost)
    if claim.measure in ("gain", "mean_shift") and trials.rows:
        for name in ("clean", "perturbed"):
            if not any(readable(v) for row in trials.rows for v in getattr(row, name)):
                return because(Kind.SILENT_ARM, name)
    return NONE


def _stopped(
    rule: Stopping, claim: Claim, measure: Measure, trials: Trials, cells: Sequence[float | Reason]
) -> tuple[Outcome, Estimate, Trials] | None:
    """
    Return the outcome of a test that stops when the evidence is there, and the trials that it used.

    The bounds hold whenever one stops. None where such a test is not due: an interval decides at the look.
    """
    places = [place for place, cell in enumerate(cells, start=1) if not isinstance(cell, Reason)]
    values = [cell for cell in cells if not isinstance(cell, Reason)]
    direction, limit = _raw(claim, measure)
    outcome, n = "UNDECIDED", len(values)
    if rule is Stopping.LOOKS and (plan := _test_of_rate(claim, measure, trials, values)) is not None:
        outcome, n = decide_in_turn(plan, values)
    elif rule is Stopping.ANYTIME and n > 1:
        outcome, n = decide_anytime(values, limit, direction, measure.low, measure.high, level=LEVEL)
    else:
        return None
    low, high = confidence_sequence(values[:n], measure.low, measure.high, level=LEVEL)
    value = fsum(values[:n]) / n
    if measure.flipped:
        value, low, high = 1 - value, 1 - high, 1 - low
    end = places[n - 1]
    without = Counter(cell for cell in cells[:end] if isinstance(cell, Reason))
    estimate = Estimate(value, low, high, n, LEVEL, {**trials.excluded, **without})
    return Outcome(outcome), estimate, replace(trials, rows=trials.rows[:end])


def _raw(claim: Claim, measure: Measure) -> tuple[Direction, float]:
    """Return the claim as one about the mean of the case values."""
    if not measure.flipped:
        return claim.op, claim.limit
    return "<=" if claim.op == ">=" else ">=", 1 - claim.limit


def _test_of_rate(claim: Claim, measure: Measure, trials: Trials, values: Sequence[float]) -> SprtPlan | None:
    """Return the test for a claim about a rate of cases that each say yes or no, as with one ask a case."""
    if claim.op != ">=" or measure.flipped or (measure.low, measure.high) != (0, 1):
        return None
    if any(len(row.clean) > 1 or len(row.perturbed) > 1 for row in trials.rows):
        return None
    if not values or any(value not in (0.0, 1.0) for value in values):
        return None
    try:
        return plan_sprt(claim.limit, round(claim.limit + SPARE * (1 - claim.limit), 2))
    except EstimateError:  # a limit so near 1 that no test tells it from the alternative
        return None
