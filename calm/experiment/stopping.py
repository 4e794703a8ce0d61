"""When a claim is decided: at the end, at a few looks, or as soon as the evidence is there whenever one looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, fsum

from calm.core.claims import Claim, Decision, Estimate, Outcome, cases_to_decide, decide, decide_between
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import NONE, Kind, Reason, because, counted, reason_of
from calm.core.trials import Trials
from calm.core.verdict import readable
from calm.errors import EstimateError
from calm.experiment.asks import Asks
from calm.statistics.betting import confidence_sequence, decide_anytime
from calm.statistics.sequential import FIRST, FIRST_PASS, Direction, GroupPlan, Look, plan_for
from calm.statistics.sprt import SprtPlan, decide_in_turn, plan_sprt

LOST = 0.02
"""Share of cases that may be lost before a claim is INCOMPLETE."""
UNREAD = 0.25
"""Share of the replies to an edit that may be unreadable, beyond that of inert words, before its effect is hidden."""
LEVEL = 0.05
"""One-sided error probability of a claim."""
FEWEST = 18
"""Cases below which no look is taken that is not the last: the bounds of fewer are not those of their means."""
STEP = 20
"""Cases between two looks, where looking costs nothing."""
SILENT = 0.05
"""Share of the cases with a reply that cannot be read above which agreement on the others says too little."""
SPARE = 0.7
"""Where a test of a rate puts its alternative: this share of the way from the limit to 1 (.90 is told from .97)."""


_NEEDS: Mapping[Kind, Kind] = {Kind.NO_ROOM: Kind.NEEDS_ROOM, Kind.AT_BOTTOM: Kind.NEEDS_HEIGHT}
"""Why a case has no room, and what that leads to where too few have any."""


class Stopping(StrEnum):
    """The rule of a run."""

    FIXED = "fixed"
    """All cases are asked; what is undecided then is topped up."""
    SEQUENTIAL = "sequential"
    """Group-sequential: looks at 50, 100, ... cases, then the top-up; a probability ratio test for one-ask rates."""
    ANYTIME = "anytime"
    """A betting e-process: valid whenever one looks, also after adding cases to an earlier run."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision on a claim, or what was observed of a measure, with the trials that it was taken on, if any."""

    decision: Decision
    trials: Trials | None


def first_look(claims: Sequence[Claim]) -> int:
    """Return with how many cases a judge that never moves can prove all of some claims at the level of a first look."""
    needed = [MEASURES[claim.measure].smallest_n(claim, FIRST_PASS) for claim in claims]
    return min(FIRST, max([FEWEST, *needed])) if needed else FIRST


def looks(rule: Stopping, n: int, *, top_ups: int, first: int = FIRST) -> GroupPlan:
    """
    Return the looks of a run of n cases, the first one at `first`.

    Undecided claims are topped up so many times at the end, 0 to 2.
    """
    if rule is Stopping.ANYTIME:
        ends = [*range(STEP, n, STEP), n]
        return GroupPlan(tuple(Look(end, LEVEL, LEVEL) for end in ends))
    return plan_for(n, sequential=rule is Stopping.SEQUENTIAL, top_ups=top_ups, first=first)


def could_prove(claim: Claim, questions: int, looks: Sequence[Look]) -> bool:
    """Return whether a judge that never moves could prove a claim on so many questions at one of these looks."""
    return questions >= MEASURES[claim.measure].smallest_n(claim, max(look.prove for look in looks))


def rule_on(rule: Stopping, claim: Claim, trials: Trials, asks: Asks, look: Look) -> Ruling:
    """Return what a look says of a claim, with so many asks of a case. `trials.rows` are in the order asked."""
    measure = MEASURES[claim.measure]
    if rule is Stopping.ANYTIME and measure.whole is not None:
        return Ruling(
            Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=because(Kind.NOT_ANYTIME, measure.name)), trials
        )
    lacking = missing(measure, trials)
    if reason := too_few(measure, asks, trials):
        return Ruling(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), trials)
    cells = measure.cells(trials)
    capped = any(reason.unfinished for reason in trials.lost)  # then nobody knows what room the others leave
    if not capped and (reason := _no_room(claim, measure, trials, cells)):
        return Ruling(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), trials)
    try:
        stopped = _stopped(rule, claim, measure, trials, cells)
        if stopped is None:
            proof = measure.estimate(trials, look.prove, cells)
            counter = proof if look.disprove == look.prove else measure.estimate(trials, look.disprove, cells)
            stopped = (*decide_between(proof, counter, claim, LEVEL), trials)
        elif rule is Stopping.SEQUENTIAL and stopped[0] is Outcome.FAIL:
            # the test tells the limit from a much better rate: it may not have met that, and be within its limit
            estimate = measure.estimate(trials, look.disprove, cells)
            failed = decide(estimate, claim) is Outcome.FAIL
            stopped = Outcome.FAIL if failed else Outcome.UNDECIDED, estimate, trials
    except EstimateError as error:
        outcome = Outcome.INCOMPLETE if lacking else Outcome.NOT_TESTED
        return Ruling(Decision(claim.measure, claim, outcome, reason=lacking or reason_of(error)), trials)
    outcome, estimate, used = stopped
    if lacking:
        if fails_as_read(claim, trials, lacking, look.disprove):
            return Ruling(Decision(claim.measure, claim, Outcome.FAIL, estimate), trials)
        return Ruling(Decision(claim.measure, claim, Outcome.INCOMPLETE, estimate, lacking), trials)
    needed = None
    if outcome is Outcome.UNDECIDED:
        needed = _asked_for(cases_to_decide(estimate, claim, measure.smallest_n(claim, LEVEL)), estimate, trials)
    return Ruling(Decision(claim.measure, claim, outcome, estimate, cases_to_decide=needed), used)


def _asked_for(values: int | None, estimate: Estimate, trials: Trials) -> int | None:
    """Return how many cases a fresh run must ask for so many cases with a value, given the share that has one here."""
    asked = len({row.case for row in trials.rows}) + sum(trials.lost.values()) + sum(trials.excluded.values())
    return None if values is None else ceil(values * max(1.0, asked / estimate.n) - 1e-9)


def too_few(measure: Measure, asks: Asks, trials: Trials) -> Reason:
    """Return that a measure needs more asks of a case, or `NONE`; one with probabilities is enough for any."""
    wanted = min(1, measure.asks[0]) if trials.weighed else measure.asks[0]
    if asks.clean >= wanted and asks.perturbed >= measure.asks[1]:
        return NONE
    return because(Kind.NEEDS_ASKS, measure.name, *measure.asks, str(asks))


def _no_room(claim: Claim, measure: Measure, trials: Trials, cells: Sequence[float | Reason]) -> Reason:
    """Return that too few cases leave room for the claim to be proven on any judge, or `NONE`."""
    without = [isinstance(cell, Reason) and cell.kind in _NEEDS for cell in cells]
    rows = [row for row, barred in zip(trials.rows, without, strict=True) if not barred]
    room, asked = len({row.cluster or row.case for row in rows}), len({row.cluster or row.case for row in trials.rows})
    least = measure.smallest_n(claim, LEVEL)
    if room == asked or room >= least - 1 or asked < least - 1:
        return NONE
    kind = next(cell.kind for cell in cells if isinstance(cell, Reason) and cell.kind in _NEEDS)
    return because(_NEEDS[kind], room, asked, least, trials.family)


def observe(measure: Measure, trials: Trials, asks: Asks) -> Ruling:
    """Return what was observed of a measure, without a limit, with so many asks of a case."""
    if too_few(measure, asks, trials):
        reason = because(Kind.TOO_FEW_ASKS, str(asks))
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


def missing(measure: Measure, trials: Trials) -> Reason:
    """Return why the data of a claim about a measure are incomplete, or `NONE`."""
    if trials.lost_share > LOST or any(reason.unfinished for reason in trials.lost):
        return counted(trials.lost)
    if measure.agrees and trials.rows:
        silent = sum(isinstance(cell, Reason) and cell.kind is Kind.UNREAD_ASK for cell in measure.cells(trials))
        if silent > SILENT * len(trials.rows):
            return because(Kind.UNREAD_CLEAN, round(silent / len(trials.rows), 6))
    if measure.crosswise and trials.rows:
        unread = fsum(isinstance(cell, Reason) for cell in measure.cells(trials)) / len(trials.rows)
        return because(Kind.UNREAD_EQUAL, round(unread, 6)) if unread > UNREAD else NONE
    if (measure.worst_of or measure.name) in ("gain", "mean_shift") and trials.rows:
        for name in ("clean", "inert", "perturbed"):
            arm = [verdict for row in trials.rows for verdict in getattr(row, name)]
            if arm and not any(map(readable, arm)):
                return because(Kind.SILENT_ARM, name)
        rises, _ = MEASURES["unreadable_gain"].values(trials)
        unread = fsum(rises) / len(rises)
        if trials.family != "pairwise" and unread > UNREAD:
            return because(Kind.UNREAD_EDIT, round(unread, 6))
    return NONE


def fails_as_read(claim: Claim, trials: Trials, lacking: Reason, level: float) -> bool:
    """
    Return whether a claim fails at a level though the edit left replies unread: each such reply counts as no effect.

    What is hidden could pass a claim wrongly. It cannot save one that the rest of the replies disproves by itself.
    """
    if not lacking.has(Kind.UNREAD_EDIT):
        return False
    measure, rises = MEASURES[claim.measure], MEASURES["unreadable_gain"].cells(trials)
    cells: list[float | Reason] = []
    for cell, rise in zip(measure.cells(trials), rises, strict=True):
        if isinstance(cell, Reason):
            cells.append(0.0 if cell.kind is Kind.UNREAD_ARM else cell)
        else:
            cells.append(cell if isinstance(rise, Reason) else cell * (1 - max(0.0, rise)))
    try:
        return decide(measure.estimate(trials, level, cells), claim) is Outcome.FAIL
    except EstimateError:
        return False


def _stopped(
    rule: Stopping, claim: Claim, measure: Measure, trials: Trials, cells: Sequence[float | Reason]
) -> tuple[Outcome, Estimate, Trials] | None:
    """
    Return the outcome of a test that stops when the evidence is there, and the trials that it used.

    The bounds hold whenever one stops. None where such a test is not due: an interval decides at the look.
    """
    values, ends = by_cluster(trials, cells)
    direction, limit = _raw(claim, measure)
    outcome, n = "UNDECIDED", len(values)
    if rule is Stopping.SEQUENTIAL and (plan := _test_of_rate(claim, measure, trials, values)) is not None:
        outcome, n = decide_in_turn(plan, values)
    elif rule is Stopping.ANYTIME and n > 1:
        outcome, n = decide_anytime(values, limit, direction, measure.low, measure.high, level=LEVEL)
    else:
        return None
    low, high = confidence_sequence(values[:n], measure.low, measure.high, level=LEVEL)
    value = fsum(values[:n]) / n
    if measure.flipped:
        value, low, high = 1 - value, 1 - high, 1 - low
    used = replace(trials, rows=trials.rows[: ends[n - 1]])
    seen = measure.estimate(used, LEVEL, cells[: ends[n - 1]])
    return Outcome(outcome), replace(seen, value=value, low=low, high=high), used


def by_cluster(trials: Trials, cells: Sequence[float | Reason]) -> tuple[list[float], list[int]]:
    """Return the mean value of each cluster, in the order in which each is complete, and the rows asked up to then."""
    found: dict[str, list[float]] = {}
    ends: dict[str, int] = {}
    for place, (row, cell) in enumerate(zip(trials.rows, cells, strict=True), start=1):
        if not isinstance(cell, Reason):
            found.setdefault(row.cluster or row.case, []).append(cell)
            ends[row.cluster or row.case] = place
    order = sorted(found, key=ends.__getitem__)
    return [fsum(found[key]) / len(found[key]) for key in order], [ends[key] for key in order]


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
