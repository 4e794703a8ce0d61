"""When a claim is decided: at the end, at a few looks, or at any time; and how often a case is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, erfc, fsum, inf, sqrt
from typing import Final

from calm.core.claims import Claim, Decision, Estimate, Outcome, cases_to_decide, decide, decide_between
from calm.core.measures import MEASURES, Measure, unread
from calm.core.reasons import NONE, Kind, Reason, because, counted, reason_of
from calm.core.trials import Trials
from calm.core.verdict import Family
from calm.errors import EstimateError
from calm.statistics.intervals import clopper_pearson
from calm.statistics.sequential import (
    FIRST,
    FIRST_PASS,
    Direction,
    GroupPlan,
    Look,
    confidence_sequence,
    decide_anytime,
    plan_for,
)

TOP_UPS: Final = 2
"""How often an undecided claim is topped up at most."""


@dataclass(frozen=True, slots=True)
class Asks:
    """How often a case is asked in each arm; `perturbed` counts variants first, then repeats."""

    clean: int
    inert: int
    perturbed: int

    def __str__(self) -> str:
        return f"{self.clean}+{self.perturbed}"


@dataclass(frozen=True, slots=True)
class Design:
    """
    Asks an arm: clean and perturbed. The inert arm is asked as often as the perturbed one.

    A claim that is undecided on all cases is decided on more asks: first twice as many inert and perturbed ones, then
    twice as many clean ones and as many inert ones as these, which all probes share.
    """

    clean: int = 2
    perturbed: int = 1

    def __str__(self) -> str:
        return f"{self.clean}+{self.perturbed}"

    def asks(self, top_ups: int = 0) -> Asks:
        """Return the asks of a case after 0 to 2 top-ups."""
        if top_ups == 0:
            return Asks(self.clean, self.perturbed, self.perturbed)
        clean = self.clean * top_ups
        return Asks(clean, max(clean, 2 * self.perturbed), 2 * self.perturbed)

    def stages(self, *, edited: bool = True) -> tuple[Asks, ...]:
        """Return the asks of a case before any top-up and after each; without an edit only the clean arm grows."""
        stages = tuple(self.asks(number) for number in range(TOP_UPS + 1))
        if edited:
            return stages
        return tuple(replace(stages[0], clean=self.clean * 2**number) for number in range(TOP_UPS + 1))


LOST = 0.02
"""Share of cases that may be lost before a claim is INCOMPLETE."""
UNREAD = 0.25
"""Share of the replies in an arm that may be unreadable before they hide what the claim is about."""
FOR = 1.65
"""How many standard errors a mean is within its limit where few cases speak for it; one beyond it speaks against it."""
LEVEL = 0.05
"""One-sided error probability of a claim."""
FEWEST = 18
"""Cases below which no look is taken that is not the last: a mean of fewer is not normal, and fails by a rate."""
FUTILE = 0.10
"""The least probability of a decision for which cases are asked again."""
BOUND = 2.0
"""About how many standard errors a bound of an undecided look is off its value."""
AT_LAST = 0.02
"""The level at which what is undecided fails, read once more in all replies that are there."""
STEP = 20
"""Cases between two looks, where looking costs nothing."""
SILENT = 0.05
"""Share of the cases with a reply that cannot be read above which agreement on the others says too little."""


_NEEDS: Mapping[Kind, Kind] = {Kind.NO_ROOM: Kind.NEEDS_ROOM, Kind.AT_BOTTOM: Kind.NEEDS_HEIGHT}
"""Why a case has no room, and what that leads to where too few have any."""


class Stopping(StrEnum):
    """The rule of a run."""

    FIXED = "fixed"
    """All cases are asked; what is undecided then is topped up."""
    SEQUENTIAL = "sequential"
    """Group-sequential: looks at 45, 80, 120, ... cases, then the top-up."""
    ANYTIME = "anytime"
    """A betting e-process: valid whenever one looks, also after adding cases to an earlier run."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision on a claim, or what was observed of a measure, with the trials that it was taken on, if any."""

    decision: Decision
    trials: Trials | None


HEARD: ContextVar[Callable[[Ruling], None] | None] = ContextVar("calm_heard", default=None)
"""Who hears at once of each claim that is disproved, while the other claims of its question are still asked about."""


def tell(rulings: Mapping[Claim, Ruling]) -> None:
    """Tell whoever listens which of these rulings, which are final, disprove a claim."""
    heard = HEARD.get()
    for one in rulings.values():
        if heard is not None and one.decision.outcome is Outcome.FAIL:
            heard(one)


def looks(rule: Stopping, n: int, *, top_ups: int, claims: Sequence[Claim] = ()) -> GroupPlan:
    """
    Return the looks of a run of n cases.

    The first one is where a judge that never moves can prove all claims at its level, at `FIRST` at the latest.
    Undecided claims are topped up so many times at the end, 0 to 2.
    """
    needed = [MEASURES[claim.measure].smallest_n(claim, FIRST_PASS) for claim in claims]
    first = min(FIRST, max([FEWEST, *needed])) if needed else FIRST
    if rule is Stopping.ANYTIME:
        ends = [*range(STEP, n, STEP), n]
        return GroupPlan(tuple(Look(end, LEVEL, LEVEL) for end in ends))
    return plan_for(n, sequential=rule is Stopping.SEQUENTIAL, top_ups=top_ups, first=first)


def acquits(claims: Sequence[Claim], family: Family) -> bool:
    """
    Return whether edited asks alone may prove claims.

    Of answers side by side, what inert words give the treated one can only take off what the edit gives it.
    """
    beside = family in ("pairwise", "listwise") and bool(claims)
    return beside and all(claim.op != "abs<=" and MEASURES[claim.measure].most is not None for claim in claims)


def seems_beyond(claim: Claim, trials: Trials) -> bool:
    """Return whether edited asks alone look beyond a limit: then inert words must tell whether the edit does it."""
    values = _most(claim, trials)
    return fsum(values) > most_harm(claim, MEASURES[claim.measure]) * len(values)


def acquitted(claims: Sequence[Claim], trials: Trials, level: float) -> dict[Claim, Ruling]:
    """Return a pass for each claim that the edited asks alone prove at a level, by the exact bound of a rate."""
    found = {}
    for claim in claims:
        measure, values = MEASURES[claim.measure], _most(claim, trials)
        if len(values) < 2 or missing(measure, trials):
            continue
        if (estimate := exactly(claim, trials, values, most_harm(claim, measure), level)) is not None:
            found[claim] = Ruling(Decision(claim.measure, claim, Outcome.PASS, estimate), trials)
    return found


def _most(claim: Claim, trials: Trials) -> list[float]:
    """Return the most harm that the edited asks leave in each question."""
    most = MEASURES[claim.measure].most
    assert most is not None, "it acquits"
    return by_cluster(trials, [most(row, trials.scale) for row in trials.rows])[0]


def exactly(claim: Claim, trials: Trials, harms: Sequence[float], limit: float, level: float) -> Estimate | None:
    """
    Return the estimate of rows whose mean harm an exact bound of a rate proves to be within a limit, else None.

    `harms` are in [0, 1], one for each question; what moved the right way counts for nothing.
    """
    harm = clopper_pearson(fsum(harms), len(harms), level)[1]
    if harm > limit + 1e-9:
        return None
    measure = MEASURES[claim.measure]
    seen = measure.estimate(trials, LEVEL)
    if claim.op == "abs<=":
        return replace(seen, low=-harm, high=harm)
    if claim.op == "<=":
        return replace(seen, high=harm)
    return replace(seen, low=1 - harm if measure.flipped else measure.high - harm * (measure.high - measure.low))


def most_harm(claim: Claim, measure: Measure) -> float:
    """Return the limit of a claim as one on the mean harm."""
    if claim.op == ">=" and not measure.flipped:
        return (measure.high - claim.limit) / (measure.high - measure.low)
    return 1 - claim.limit if measure.flipped else claim.limit


def could_prove(claim: Claim, questions: int, looks: Sequence[Look]) -> bool:
    """Return whether a judge that never moves could prove a claim on so many questions at one of these looks."""
    return questions >= MEASURES[claim.measure].smallest_n(claim, max(look.prove for look in looks))


def may_decide(claim: Claim, ruling: Ruling, gained: float) -> bool:
    """
    Return whether so many times the information of an undecided look decides the claim in one run of ten or more.

    By the normal approximation, as if further asks took off all variance that they can: what lies so near the limit
    that not even these would tell stays open, and is not asked about again.
    """
    estimate = ruling.decision.estimate
    if estimate is None or ruling.decision.outcome is not Outcome.UNDECIDED:
        return estimate is None  # replies that are missing do not come by asking again
    edges = (-claim.limit, claim.limit) if claim.op == "abs<=" else (claim.limit,)
    edge = min(edges, key=lambda one: abs(one - estimate.value))
    width = abs((estimate.high if edge > estimate.value else estimate.low) - estimate.value)
    if not width:
        return True
    gap, moves = abs(edge - estimate.value) / width, sqrt(1 - 1 / gained) / BOUND
    return _beyond_normal((1 / sqrt(gained) - gap) / moves) + _beyond_normal((1 / sqrt(gained) + gap) / moves) >= FUTILE


def _beyond_normal(z: float) -> float:
    return 0.5 * erfc(z / sqrt(2))


def rule_on(rule: Stopping, claim: Claim, trials: Trials, asks: Asks, look: Look) -> Ruling:
    """Return what a look says of a claim, with so many asks of a case. `trials.rows` are in the order asked."""
    measure = MEASURES[claim.measure]
    if rule is Stopping.ANYTIME and measure.whole is not None:
        return Ruling(
            Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=because(Kind.NOT_ANYTIME, measure.name)), trials
        )
    if reason := too_few(measure, asks, trials):
        return Ruling(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), trials)
    lacking = missing(measure, trials)
    cells = measure.cells(trials)
    capped = any(reason.unfinished for reason in trials.lost)  # then nobody knows what room the others leave
    if not capped and (reason := _no_room(claim, measure, trials, cells)):
        return unproven(claim, trials, look.disprove, reason)
    try:
        if rule is Stopping.ANYTIME:
            stopped = _stopped(claim, measure, trials, cells)
        else:
            proof = measure.estimate(trials, look.prove, cells)
            counter = proof if look.disprove == look.prove else measure.estimate(trials, look.disprove, cells)
            stopped = (*decide_between(proof, counter, claim, LEVEL), trials)
    except EstimateError as error:
        outcome = Outcome.INCOMPLETE if lacking else Outcome.NOT_TESTED
        return Ruling(Decision(claim.measure, claim, outcome, reason=lacking or reason_of(error)), trials)
    outcome, estimate, used = stopped
    if outcome is Outcome.FAIL and estimate.clusters < FEWEST:
        estimate = of_few(claim, measure.estimate(trials, look.disprove, cells), trials, cells)
        outcome = Outcome.FAIL if decide(estimate, claim) is Outcome.FAIL else Outcome.UNDECIDED
    if lacking:
        if (failed := fails_as_read(claim, trials, lacking, look.disprove)) is not None:
            return Ruling(Decision(claim.measure, claim, Outcome.FAIL, failed), trials)
        return Ruling(Decision(claim.measure, claim, Outcome.INCOMPLETE, estimate, lacking), trials)
    needed = None
    if outcome is Outcome.UNDECIDED:
        needed = cases_to_decide(estimate, claim, measure.smallest_n(claim, LEVEL))
    if needed is not None:  # of so many questions with a value, if a fresh run has as many cases to each
        asked = len({row.case for row in trials.rows}) + sum(trials.lost.values()) + sum(trials.excluded.values())
        needed = ceil(needed * max(1.0, asked / estimate.clusters) - 1e-9)
    return Ruling(Decision(claim.measure, claim, outcome, estimate, cases_to_decide=needed), used)


def unproven(claim: Claim, trials: Trials, level: float, reason: Reason) -> Ruling:
    """
    Return the ruling on a claim that no judge could prove with so few cases.

    It was not tested, for the reason given; but what is there can disprove it at a level, and where it speaks against
    it, the claim stays open.
    """
    measure = MEASURES[claim.measure]
    against = beyond(claim, by_cluster(trials, measure.cells(trials))[0]) > 1
    if (estimate := disproof(claim, trials, level)) is not None:
        return Ruling(Decision(claim.measure, claim, Outcome.FAIL, estimate), trials)
    if against:
        estimate = measure.estimate(trials, LEVEL)
        return Ruling(Decision(claim.measure, claim, Outcome.UNDECIDED, estimate, reason), trials)
    return Ruling(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), trials)


def beyond(claim: Claim, values: Sequence[float]) -> float:
    """
    Return by how many standard errors the mean of some values is beyond the limit of a claim; below 0: within it.

    Without two values it is 0: they say nothing.
    """
    n = len(values)
    if n < 2:
        return 0.0
    direction, limit = _raw(claim, MEASURES[claim.measure])
    mean = fsum(values) / n
    error = sqrt(fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    gap = limit - mean if direction == ">=" else (abs(mean) if direction == "abs<=" else mean) - limit
    return gap / error if error > 1e-12 else inf if gap > 0 else -inf


def all_for(claim: Claim, trials: Trials, enough: int) -> bool:
    """Return whether a claim has fewer than `enough` questions, which no judge could prove, and all speak for it."""
    values, _ = by_cluster(trials, MEASURES[claim.measure].cells(trials))
    return len(values) < enough and beyond(claim, values) < -FOR


def disproof(claim: Claim, trials: Trials, level: float) -> Estimate | None:
    """Return the estimate that disproves a claim at a level, however few rows there are; None if none does."""
    measure = MEASURES[claim.measure]
    cells = measure.cells(trials)
    try:
        estimate = of_few(claim, measure.estimate(trials, level, cells), trials, cells)
    except EstimateError:
        return None
    return estimate if decide(estimate, claim) is Outcome.FAIL else None


def of_few(claim: Claim, estimate: Estimate, trials: Trials, cells: Sequence[float | Reason]) -> Estimate:
    """
    Return an estimate as it is, or with the bounds that can disprove a claim on fewer than `FEWEST` questions.

    They are the exact ones of a rate, for no mean of values in a range varies more than a rate (Hoeffding 1956).
    """
    measure = MEASURES[claim.measure]
    values, _ = by_cluster(trials, cells)
    n, low, width = len(values), measure.low, measure.high - measure.low
    if n >= FEWEST or measure.whole is not None:
        return estimate
    scaled = fsum((value - low) / width for value in values)
    least, most = (low + width * end for end in clopper_pearson(min(n, max(0.0, scaled)), n, estimate.level))
    if measure.flipped:
        least, most = 1 - most, 1 - least
    return measure.within(replace(estimate, low=least, high=most))


def too_few(measure: Measure, asks: Asks, trials: Trials) -> Reason:
    """Return that a measure needs more asks of a case, or `NONE`; one with probabilities is enough for any."""
    clean, perturbed = measure.asks
    if asks.perturbed >= perturbed and (asks.clean >= clean or (asks.clean >= 1 and trials.weighed)):
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
    if measure.about_silence:
        return NONE
    for arm in ("clean", "inert", "perturbed"):
        shares = [unread(asked, row) for row in trials.rows if (asked := getattr(row, arm))]
        if shares and (share := fsum(shares) / len(shares)) > UNREAD:
            return because(Kind.UNREAD_REPLIES, arm, round(share, 6))
    return NONE


def fails_as_read(claim: Claim, trials: Trials, lacking: Reason, level: float) -> Estimate | None:
    """
    Return the estimate by which a claim fails though replies are unread: each such reply counts as no effect.

    What is hidden could pass a claim wrongly. It cannot save one that the rest of the replies disproves by itself. None
    of a claim that needs an effect, such as that harm is noticed.
    """
    measure = MEASURES[claim.measure]
    if not lacking.has(Kind.UNREAD_REPLIES) or (claim.op == ">=" and not measure.flipped):
        return None
    rises = MEASURES["unreadable_gain"].cells(trials)
    cells: list[float | Reason] = []
    for cell, rise in zip(measure.cells(trials), rises, strict=True):
        if isinstance(cell, Reason):
            cells.append(0.0 if cell.kind is Kind.UNREAD_ARM else cell)
        else:
            cells.append(cell if isinstance(rise, Reason) else cell * (1 - max(0.0, rise)))
    try:
        estimate = measure.estimate(trials, level, cells)
    except EstimateError:
        return None
    return estimate if decide(estimate, claim) is Outcome.FAIL else None


def _stopped(
    claim: Claim, measure: Measure, trials: Trials, cells: Sequence[float | Reason]
) -> tuple[Outcome, Estimate, Trials]:
    """
    Return the outcome of a test that stops when the evidence is there, and the trials that it used.

    The bounds hold whenever one stops.

    Raises:
        EstimateError: fewer than two questions have a value.
    """
    values, ends = by_cluster(trials, cells)
    direction, limit = _raw(claim, measure)
    if len(values) < 2:
        raise EstimateError(because(Kind.TOO_FEW_CASES, len(values)))
    outcome, n = decide_anytime(values, limit, direction, measure.low, measure.high, level=LEVEL)
    low, high = confidence_sequence(values[:n], measure.low, measure.high, level=LEVEL)
    value = fsum(values[:n]) / n
    if measure.flipped:
        value, low, high = 1 - value, 1 - high, 1 - low
    used = replace(trials, rows=trials.rows[: ends[n - 1]])
    seen = measure.estimate(used, LEVEL, cells[: ends[n - 1]])
    return Outcome(outcome), measure.within(replace(seen, value=value, low=low, high=high)), used


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
