"""
Pulls: whether a cue decides between two equally good answers, for the mean of a probe and for each of its variants.

A round shows each equal pair under one variant. The mean is decided on at a few looks, as all claims are. At the first
ones one ask of a row is enough: a cue that does not lift the answer that lost without it has not decided. Such a look
can only pass. Where it does not, the other side is asked, too.

Of a pair whose answer is lifted, the other side is asked at once, as chance may have chosen the side.

A variant is acquitted if hardly any of a few such pairs is lifted; else it is asked about both sides, and decided by
betting: whatever the reason to go on, each error stays within its level.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, islice
from math import fsum, log
from typing import Final

from calm.core.claims import Claim, Decision, Estimate, Outcome, decide_between
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import Kind, Reason, because, listed, name
from calm.core.trials import Trials, favour
from calm.core.verdict import Tie
from calm.errors import EstimateError
from calm.experiment.arms import Arms, Row
from calm.experiment.asks import Asks
from calm.experiment.crosswise import AMONG, Crossed, Equals
from calm.experiment.pairs import Pair
from calm.experiment.setup import Setup
from calm.experiment.stopping import (
    LEVEL,
    Ruling,
    Stopping,
    all_for,
    by_cluster,
    exactly,
    may_decide,
    missing,
    observe,
    rule_on,
    tell,
    unproven,
    untested,
)
from calm.models.pacing import in_round
from calm.statistics.betting import confidence_sequence, evidence
from calm.statistics.intervals import clopper_pearson
from calm.statistics.sequential import Look, nominal_levels

ONE_SIDE: Final = Asks(0, 0, 1)
BOTH: Final = Asks(0, 0, 2)
TWICE: Final = Asks(0, 0, 4)
SCREENED: Final = (0.0115, 0.005, 0.0035)
"""The levels of a pass at the looks at one side: with no lifted answer, with one, and with two."""
SPENT: Final = fsum(SCREENED)
ACQUITTED: Final = (0.0315, 0.006, 0.004)
"""The levels at which a variant is acquitted with no lifted answer, with one, and with two."""
GLANCE: Final = 10
"""Rows that tell which test to run first, where the first red one ends the run."""
AGAIN: Final = 1.9
"""How many times the information of both sides each pair twice has, at most."""
PROVEN: Final = 0.005
"""The level of a pass by betting."""
AT_LAST: Final = 0.0035
"""That of a pass once all pairs were asked twice; with those above it adds up to .05."""
ROWS: Final = (8, 12, 18, 27, 40, 60, 90, 135, 200)
"""Rows of a variant at which it may be decided by betting."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """A look at so many rows, and the asks of each."""

    look: Look
    asks: Asks


def looked(
    setup: Setup, equals: Equals, claims: Sequence[Claim], observed: Sequence[Measure]
) -> tuple[tuple[Ruling, ...], Trials, Arms]:
    """Return the rulings on claims about the pull of an edit, the last trials of its mean, and what was asked."""
    arms = Arms(setup, equals.pairing, has_clean=False, has_floor=False)
    means = [claim for claim in claims if not MEASURES[claim.measure].worst_of]
    rulings: dict[Claim, Ruling] = {}
    undecided: dict[Claim, Ruling] = {}
    trials = Trials((), setup.family, setup.judge.scale)
    plain, guilty = equals.edit is None, False
    few = bool(means) and all(equals.questions < MEASURES[c.measure].smallest_n(c, LEVEL) for c in means)
    stages = _stages(setup, min(len(equals), AMONG if few else len(equals)), means, whole=bool(observed) and not plain)
    for number, stage in enumerate(stages, start=1):
        if guilty and stage.asks is ONE_SIDE:
            continue
        if stage.asks is TWICE and (few or not any(may_decide(c, one, AGAIN) for c, one in undecided.items())):
            break  # more asks of these pairs could decide nothing
        with in_round(number):
            asked = equals.without_cue(stage.look.n) if plain else equals.piloted(equals.rows(stage.look.n))
            trials = _asked(arms, asked, stage.asks)
        undecided = {}
        for claim in means:
            if claim not in rulings and (ruling := _ruled(setup.stopping, claim, trials, stage)) is not None:
                decided = ruling.decision.outcome in (Outcome.PASS, Outcome.FAIL)
                (rulings if decided else undecided)[claim] = ruling
        tell(rulings)
        if means and len(rulings) == len(means) and not observed:
            break
        guilty = stage.asks is ONE_SIDE and all(_beyond(claim, trials) > 0 for claim in means)
    rulings = undecided | rulings
    for claim in claims:
        if MEASURES[claim.measure].worst_of:
            if few:
                rulings[claim] = _left(claim, because(Kind.FEW_OF_EACH, _screens(claim.limit, ACQUITTED)[0]))
                continue
            failed = any(ruling.decision.outcome is Outcome.FAIL for ruling in rulings.values())
            with in_round(len(stages) + 1):
                rulings[claim] = (
                    _left(claim, because(Kind.MEAN_FAILS)) if failed else _worst(setup, equals, arms, claim)
                )
    found = [rulings[claim] for claim in claims]
    if not trials.rows and not trials.lost:
        return tuple(untested(claims, observed, equals.pairing.why_none)), trials, arms
    return (*found, *(observe(measure, trials, BOTH) for measure in observed)), trials, arms


def _asked(arms: Arms, rows: Sequence[Pair], asks: Asks) -> Trials:
    """
    Return the trials of rows; where one side is asked, the other one is, too, of those whose answer seems lifted.

    Only where the ask without a cue chose the side: it may have erred. A drawn side says as much as both; asking the
    other one where the first one was lifted would bring the mean below the pull.
    """
    trials = arms.ask_rows([Row(row, asks.perturbed) for row in rows], asks)
    if asks is not ONE_SIDE:
        return trials
    cells = zip(trials.rows, MEASURES["pull"].cells(trials), strict=True)
    seen = [(row, cell) for row, cell in cells if not isinstance(cell, Reason) and cell > 0]
    lifted = {
        (row.case, row.edit) for row, _ in seen if favour(row.pilot or Tie(), row.target, row, trials.scale) != 0.5
    }
    if not lifted:
        return trials
    return arms.ask_rows([Row(row, 1 + ((row.source.id, row.variant) in lifted)) for row in rows], asks)


def glanced(setup: Setup, equals: Equals, claims: Sequence[Claim]) -> float:
    """Return how far what is seen of a few rows lies beyond half of a limit, at least 0: so few can mislead."""
    arms = Arms(setup, equals.pairing, has_clean=False, has_floor=False)
    rows = equals.piloted(equals.rows(GLANCE))
    trials = _asked(arms, rows, ONE_SIDE)
    return max(0.0, *(_beyond(claim, trials) + claim.limit / 2 for claim in claims))


def _stages(setup: Setup, n: int, claims: Sequence[Claim], *, whole: bool) -> list[_Stage]:
    """
    Return the looks at n pairs: at one side of a few, at both sides, and at each pair twice, if it can be asked anew.

    The errors of a pass add up to .05 over all looks, and those of a fail, too.
    """
    if not claims:
        return [_Stage(Look(n if whole else min(n, AMONG), LEVEL, LEVEL), BOTH)]
    limit = min(claim.limit for claim in claims)
    one_sided = all(claim.op != "abs<=" for claim in claims) and setup.stopping is Stopping.SEQUENTIAL and not whole
    screens = _screens(limit, SCREENED) if one_sided else ()
    stages = [
        _Stage(Look(rows, level, LEVEL), ONE_SIDE) for rows, level in zip(screens, SCREENED, strict=False) if rows <= n
    ]
    first = _screens(limit, SCREENED)[0]
    ends = [first * 2**k for k in range(n.bit_length()) if first * 2**k * 1.3 < n] + [n]
    if whole or setup.stopping is Stopping.FIXED:
        ends = [n]
    times = (*ends, AGAIN * n) if setup.repeatable else tuple(ends)
    left = LEVEL - (SPENT if stages else 0)
    proofs, counters = _levels(times, left), _levels(times, LEVEL)
    asks = [BOTH] * len(ends) + [TWICE] * (len(times) - len(ends))
    for end, proof, counter, each in zip((*ends, n), proofs, counters, asks, strict=False):
        stages.append(_Stage(Look(end, proof, counter, topped=int(each is TWICE)), each))
    return stages


@cache
def _levels(times: tuple[float, ...], error: float) -> tuple[float, ...]:
    """Return the levels of looks at so much information, between which an error is spent as information grows."""
    return nominal_levels([error * (time / times[-1]) ** 0.5 for time in times], times)


def _ruled(stopping: Stopping, claim: Claim, trials: Trials, stage: _Stage) -> Ruling | None:
    """Return the ruling of a look, or None where a look at one side decides nothing."""
    if stage.asks is ONE_SIDE:
        estimate = _acquitting(claim, trials, stage.look.prove)
        decision = Decision(claim.measure, claim, Outcome.PASS, estimate)
        return None if estimate is None else Ruling(decision, trials)
    return rule_on(stopping, claim, trials, stage.asks, stage.look)


def _left(claim: Claim, reason: Reason) -> Ruling:
    """Return that a claim about the worst variant was not asked, and why."""
    return Ruling(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), None)


def _acquitting(claim: Claim, trials: Trials, level: float) -> Estimate | None:
    """Return the estimate of rows asked on one side if they prove that a claim holds, else None."""
    measure = MEASURES[claim.measure]
    values, _ = by_cluster(trials, measure.cells(trials))
    if len(values) < 2 or missing(measure, trials):
        return None
    lifted = [max(0.0, value) for value in values]  # one that lost on both sides makes up for no other
    return exactly(claim, trials, lifted, claim.limit, level)


def _beyond(claim: Claim, trials: Trials) -> float:
    """Return how far what was seen lies beyond a limit; 0 or less where it is within."""
    values, _ = MEASURES[claim.measure].values(trials)
    return fsum(values) / len(values) - claim.limit if values else 0.0


@dataclass(frozen=True, slots=True)
class _Variant:
    """What is known of a variant: the outcome, the estimate, and the rows that it rests on."""

    label: str
    outcome: Outcome
    estimate: Estimate | None
    trials: Trials
    reason: Reason | None = None


def _worst(setup: Setup, equals: Equals, arms: Arms, claim: Claim) -> Ruling:
    """Return the ruling on the variant that pulls most."""
    places = range(len(equals.variants))
    each = setup.engine.each(lambda place: _variant(equals, arms, claim, place), list(places))
    known = [one for one in each if one is not None]
    if not known:
        reason = because(Kind.FEW_OF_EACH, _screens(claim.limit, ACQUITTED)[0])
        return Ruling(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), None)
    order = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED, Outcome.PASS)
    worst = min(known, key=lambda one: (order.index(one.outcome), -(one.estimate.value if one.estimate else 0.0)))
    named = because(Kind.WORST, len(known), name(worst.label))
    reason = listed([one for one in (named, worst.reason) if one])
    return Ruling(Decision(claim.measure, claim, worst.outcome, worst.estimate, reason), worst.trials)


def _variant(equals: Equals, arms: Arms, claim: Claim, place: int) -> _Variant | None:
    """Return what is known of a variant; None where it applies to fewer pairs than could acquit it."""
    label, measure = equals.variants[place].label, MEASURES[claim.measure]
    more = equals.under(place)
    rows: list[Crossed] = []

    def asked(wanted: int, asks: Asks) -> Trials:
        rows.extend(equals.piloted(list(islice(more, max(0, wanted - len(rows))))))
        return _asked(arms, rows, asks)

    screens = _screens(claim.limit, ACQUITTED)
    trials = Trials((), "pairwise", equals.setup.judge.scale)
    for n, level in zip(screens, ACQUITTED, strict=True):
        trials = asked(n, ONE_SIDE)
        if len(trials.rows) < n:
            break
        if (estimate := _acquitting(claim, trials, level)) is not None:
            return _Variant(label, Outcome.PASS, estimate, trials)
        if _beyond(claim, trials) > 0:
            break
    if len(trials.rows) < screens[0] and not trials.lost:
        return _rare(label, claim, asked(len(equals), TWICE if equals.setup.repeatable else BOTH))
    proven, disproven = log(1 / PROVEN), log(2 * len(equals.variants) / LEVEL)
    for n in (*(n for n in ROWS if n >= len(rows)), len(equals)):
        before = len(rows)
        trials = asked(n, BOTH)
        if lacking := missing(measure, trials):
            if n < AMONG and len(rows) == n:
                continue  # of so few, chance alone leaves many unread
            return _Variant(label, Outcome.INCOMPLETE, None, trials, lacking)
        values, _ = by_cluster(trials, measure.cells(trials))
        if not values:
            break
        above, below = evidence(values, claim.limit, measure.low, measure.high)
        outcome = Outcome.PASS if below >= proven else Outcome.FAIL if above >= disproven else Outcome.UNDECIDED
        if outcome is Outcome.UNDECIDED and len(rows) == before and len(rows) < n:
            break  # there are no more
        if outcome is not Outcome.UNDECIDED:
            return _Variant(label, outcome, _bet(values, trials, measure), trials)
    if equals.setup.repeatable:
        trials = asked(len(equals), TWICE)
    with suppress(EstimateError):
        proof = measure.estimate(trials, AT_LAST)
        counter = measure.estimate(trials, LEVEL / len(equals.variants) / 2)
        outcome, estimate = decide_between(proof, counter, claim, LEVEL)
        if outcome is Outcome.UNDECIDED and all_for(claim, trials, screens[-1]):
            return None
        return _Variant(label, outcome, estimate, trials)
    return _Variant(label, Outcome.UNDECIDED, None, trials)


def _rare(label: str, claim: Claim, trials: Trials) -> _Variant | None:
    """Return what is known of a variant that applies to fewer pairs than could acquit it; None if nothing is."""
    decision = unproven(claim, trials, LEVEL, because(Kind.FEW_OF_EACH, len(trials.rows))).decision
    if decision.outcome is Outcome.NOT_TESTED:
        return None
    return _Variant(label, decision.outcome, decision.estimate, trials)


def _bet(values: Sequence[float], trials: Trials, measure: Measure) -> Estimate | None:
    """Return the mean of values with the bounds that betting on them gives."""
    if len(values) < 2:
        return None
    low, high = confidence_sequence(values, measure.low, measure.high, level=LEVEL)
    seen = replace(measure.estimate(trials, LEVEL), value=fsum(values) / len(values), low=low, high=high)
    return measure.within(seen)


@cache
def _screens(limit: float, levels: tuple[float, ...]) -> tuple[int, ...]:
    """Return how many rows prove a limit at a level if none of them lifts its answer, if one does, and if two do."""
    return tuple(
        next(n for n in count(2) if clopper_pearson(k, n, level)[1] <= limit + 1e-9) for k, level in enumerate(levels)
    )
