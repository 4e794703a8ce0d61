"""When a claim is decided: at the end, at a few looks, or as soon as the evidence is there whenever one looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum

from calm.core.claims import Claim, Estimate, Outcome, decide
from calm.core.measures import Measure
from calm.core.reasons import Reason
from calm.core.trials import Trials
from calm.errors import EstimateError
from calm.statistics.betting import confidence_sequence, decide_anytime
from calm.statistics.sequential import TWO_PLUS_TWO, TWO_STAGE, Direction, GroupPlan, Look, plan_for
from calm.statistics.sprt import SprtPlan, decide_sprt, plan_sprt

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
    """What one look says of a claim; `trials` are those that it used."""

    outcome: Outcome
    estimate: Estimate
    trials: Trials


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


def rule_on(rule: Stopping, claim: Claim, measure: Measure, trials: Trials, look: Look) -> Ruling:
    """
    Return what a look says of a claim. `trials.rows` are in the order in which they were asked.

    Raises:
        EstimateError: fewer than two cases have a value.
    """
    if rule is Stopping.ANYTIME:
        return _by_betting(claim, measure, trials)
    if rule is Stopping.LOOKS and (plan := _test_of_rate(claim, measure, trials)) is not None:
        return _by_ratio(plan, measure, trials)
    return _by_interval(claim, measure, trials, look)


def _by_interval(claim: Claim, measure: Measure, trials: Trials, look: Look) -> Ruling:
    """Decide by the padded t at the look's levels, one for a proof and one for a disproof."""
    least = min(level for level in (look.prove, look.disprove) if level is not None)
    proof = measure.estimate(trials, look.prove or least)
    counter = proof if look.disprove == look.prove else measure.estimate(trials, look.disprove or least)
    if look.prove is not None and decide(proof, claim) is Outcome.PASS:
        outcome = Outcome.PASS
    elif look.disprove is not None and decide(counter, claim) is Outcome.FAIL:
        outcome = Outcome.FAIL
    else:
        outcome = Outcome.UNDECIDED
    return Ruling(outcome, _shown(claim, proof, counter), trials)


def _shown(claim: Claim, proof: Estimate, counter: Estimate) -> Estimate:
    """Return the bounds that hold after a stop: each at the level at which it can decide (Jennison & Turnbull 1989)."""
    if proof is counter or proof.level == counter.level:
        return proof
    match claim.op:
        case "<=":
            return replace(proof, low=counter.low, level=LEVEL)
        case ">=":
            return replace(proof, high=counter.high, level=LEVEL)
        case "abs<=":
            return replace(proof, low=min(proof.low, counter.low), high=max(proof.high, counter.high), level=LEVEL)


def _by_betting(claim: Claim, measure: Measure, trials: Trials) -> Ruling:
    values, _ = measure.values(trials)
    if len(values) < 2:
        measure.estimate(trials, LEVEL)  # says why there are none
    direction, limit = _raw(claim, measure)
    result, n = decide_anytime(values, limit, direction, measure.low, measure.high, level=LEVEL)
    return _stopped(Outcome(result), n, measure, trials, values)


def _by_ratio(plan: SprtPlan, measure: Measure, trials: Trials) -> Ruling:
    values, _ = measure.values(trials)
    successes = 0
    for n, value in enumerate(values[: plan.cap], start=1):
        successes += round(value)
        result = decide_sprt(plan, successes, n - successes)
        if result != "UNDECIDED":
            return _stopped(Outcome(result), n, measure, trials, values)
    return _stopped(Outcome.UNDECIDED, len(values), measure, trials, values)


def _stopped(outcome: Outcome, n: int, measure: Measure, trials: Trials, values: Sequence[float]) -> Ruling:
    """Return a ruling on the first n values, with bounds that hold whenever one stops."""
    used = _first(n, measure, trials)
    taken = values[: max(n, 1)]
    low, high = confidence_sequence(taken, measure.low, measure.high, level=LEVEL)
    value = fsum(taken) / len(taken)
    if measure.flipped:
        value, low, high = 1 - value, 1 - high, 1 - low
    excluded = measure.values(used)[1]
    return Ruling(outcome, Estimate(value, low, high, len(taken), LEVEL, {**used.excluded, **excluded}), used)


def _first(n: int, measure: Measure, trials: Trials) -> Trials:
    """Return the trials up to the case with the n-th value."""
    found = 0
    for place, row in enumerate(trials.rows, start=1):
        found += not isinstance(measure.per_case(row, trials.scale), Reason)
        if found == n:
            return replace(trials, rows=trials.rows[:place])
    return trials


def _raw(claim: Claim, measure: Measure) -> tuple[Direction, float]:
    """Return the claim as one about the mean of the case values."""
    if not measure.flipped:
        return claim.op, claim.limit
    return "<=" if claim.op == ">=" else ">=", 1 - claim.limit


def _test_of_rate(claim: Claim, measure: Measure, trials: Trials) -> SprtPlan | None:
    """Return the test for a claim about a rate of cases that each say yes or no, as with one ask a case."""
    if claim.op != ">=" or measure.flipped or (measure.low, measure.high) != (0, 1):
        return None
    if any(len(row.clean) > 1 or len(row.perturbed) > 1 for row in trials.rows):
        return None
    values, _ = measure.values(trials)
    if not values or any(value not in (0.0, 1.0) for value in values):
        return None
    try:
        return plan_sprt(claim.limit, round(claim.limit + SPARE * (1 - claim.limit), 2))
    except EstimateError:  # a limit so near 1 that no test tells it from the alternative
        return None
