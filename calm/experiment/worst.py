"""
The worst variant of a rotation: a mean over variants hides the one that always wins.

Each variant is decided on by itself, in steps that ask only where it is needed:

1. Screening. The rows of the probe that show the variant, then more of the cases asked already, are compared with the
   pilot or the clean arm. That counts what inert words move as well, so it can only acquit: a variant whose movement is
   proven to be below the limit passes.
2. Decision. A variant that is not acquitted is suspicious. It is asked about cases on which it was not asked, beside
   inert words, and these asks alone decide: what made it suspicious would count against it a second time.
3. Where no case is left, all its rows are read together, also those that made it suspicious, as if it had not been
   chosen. So is a variant that applies to too few cases to be screened.

The errors of a pass in all steps add up to .05; a fail is divided by the number of suspicious variants (Bonferroni), in
the last step by that of all.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from math import ceil, fsum, log
from typing import Final

from calm.core.case import changed, digest
from calm.core.claims import Claim, Decision, Estimate, Outcome, decide_between
from calm.core.edits import AnyEdit
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import NONE, Kind, Reason, because, listed, name
from calm.core.trials import Trial, Trials
from calm.errors import EstimateError
from calm.experiment.arms import Arms, Row
from calm.experiment.edited import Pair
from calm.experiment.pairs import Pairing
from calm.experiment.stopping import (
    LEVEL,
    Asks,
    Ruling,
    all_for,
    exactly,
    fails_as_read,
    missing,
    most_harm,
    unproven,
)
from calm.statistics.sequential import nominal_levels

SCREENS: Final = (10, 18, 25, 31, 44)
"""Rows of a variant at which it may be acquitted."""
SCREEN_LEVELS: Final = (0.0285, 0.0143, 0.0091, 0.0110, 0.0160)
"""
The level of each: 10 rows of which none moved prove a limit of .30, or 18 of which one did, 25 of two, 31 of three.
Together they acquit a variant at a limit from .15 to .50 with probability at most .045, by exact computation.
"""
DECISIONS: Final = (20, 40, 80, 150)
"""Fresh rows of a suspicious variant at which it is decided on."""
PASS_SPENT: Final = (0.001, 0.002, 0.0035, 0.005)
FAIL_SPENT: Final = (0.1, 0.3, 0.6, 1.0)
"""The error spent up to each: of a pass, and of a fail as a share of what the variant has."""
LEFT: Final = 40
"""Cases that a screening beyond its second look leaves to a decision: fewer decide little about a judge with noise."""
AGAIN: Final = 4
"""How often each row of a suspicious variant is asked at most where no other case is left."""
CHANCE: Final = 0.05
"""What inert words can cost the treated answer by chance, as far as the screening minds."""
FEWEST: Final = 10
"""A variant that applies to fewer cases with room is not decided on: nothing could be proven of it."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What is known of a variant: the outcome, the estimate, and the rows that it rests on."""

    variant: AnyEdit
    outcome: Outcome
    estimate: Estimate | None
    trials: Trials
    reason: Reason | None = None


class _Spare:
    """Cases that can still be asked, edited only when they are wanted."""

    def __init__(self, pairs: Iterator[Pair]) -> None:
        self._pairs, self._ready = pairs, deque[Pair]()

    def ready(self, count: int) -> int:
        """Return how many cases there are, up to so many."""
        self._ready.extend(islice(self._pairs, max(0, count - len(self._ready))))
        return min(max(0, count), len(self._ready))

    def take(self, count: int) -> list[Pair]:
        """Return the next so many cases, fewer where there are no more."""
        return [self._ready.popleft() for _ in range(self.ready(count))]


class Variants:
    """Decides on each variant of a rotation. `asks` are those of the probe's first stage, `trials` what they gave."""

    def __init__(self, pairing: Pairing, arms: Arms, asks: Asks, trials: Trials) -> None:
        self._pairing, self._arms, self._trials = pairing, arms, trials
        self._few = replace(asks, perturbed=1)
        self._cases = {row.case for row in trials.rows}
        self._several = len({row.edit for row in trials.rows}) > 1

    @property
    def _edit(self) -> AnyEdit:
        assert self._pairing.edit is not None, "a rotation"
        return self._pairing.edit

    def rule(self, claim: Claim) -> Ruling | None:
        """
        Return the decision on a claim about the worst variant, with the rows of that variant.

        None where a single variant applies: then the mean is its own, and is claimed already.
        """
        if not self._several:
            return None
        measure = MEASURES[claim.measure]
        limit = most_harm(claim, measure) - self._lost_to_inert(measure)
        each = self._pairing.setup.engine.each  # no variant depends on another, so they are asked together
        variants: Sequence[AnyEdit] = self._edit.variants
        known = each(lambda variant: self._screened(variant, claim, measure, limit), variants)
        suspects = [one for one in known if one.outcome is Outcome.UNDECIDED]
        decided = each(lambda one: self._decided(one, claim, measure, len(suspects)), suspects)
        known = [one for one in known if one not in suspects] + [one for one in decided if one is not None]
        if not known:
            reason = because(Kind.FEW_OF_EACH, FEWEST)
            return Ruling(Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason), None)
        return _ruled(claim, known)

    def _screened(self, variant: AnyEdit, claim: Claim, measure: Measure, limit: float) -> _Verdict:
        """
        Return a pass if the variant is acquitted, else that it is undecided, as where it applies to too few cases.

        It is acquitted if its rows move less than `limit`, in [0, 1], the way that they must not.
        """
        mine = {row.cluster: changed(row, inert=(), floor="") for row in reversed(self._rows_of(variant))}
        spare = self._spare(variant, set(mine), asked=True)
        trials = replace(self._trials, rows=tuple(reversed(mine.values())), lost={})
        if len(mine) + spare.ready(FEWEST - len(mine)) < FEWEST:  # the probe ended on few questions
            spare = self._spare(variant, set(mine), asked=False, apart=True)
            if len(mine) + spare.ready(FEWEST - len(mine)) < FEWEST:
                return _Verdict(variant, Outcome.UNDECIDED, None, replace(trials, rows=()))
        used = trials
        for count, level in self._screens(variant, set(mine), limit):
            trials = self._more(trials, spare, count - len(trials.rows), replace(self._few, inert=0))
            used = replace(trials, rows=trials.rows[:count])
            if len(used.rows) < count:
                break
            harms = _harms(used, claim, measure)
            if len(harms) < count:
                break
            if (estimate := exactly(claim, used, harms, limit, level)) is not None:
                return _Verdict(variant, Outcome.PASS, estimate, used)
            if fsum(harms) > limit * count:
                break
        return _Verdict(variant, Outcome.UNDECIDED, None, used)

    def _screens(self, variant: AnyEdit, shown: set[str], limit: float) -> Iterator[tuple[int, float]]:
        """
        Yield the rows at which a variant may be acquitted, with the level of each.

        The later ones are left out of a variant that few cases of the probe can show: a decision needs some, too.
        Rows of the probe show the variant already on the clusters that are `shown`.
        """
        each = tuple(zip(SCREENS, SCREEN_LEVELS, strict=True))
        limit_first = ceil(log(SCREEN_LEVELS[0]) / log(1 - limit)) if limit < 1 else FEWEST
        yield min(SCREENS[0], limit_first), SCREEN_LEVELS[0]
        yield each[1]
        enough = SCREENS[-1] + LEFT
        if len(self._pairing.pairs) < enough:
            yield from each[2:]
            return
        cases = len(shown) + self._spare(variant, shown, asked=False, apart=True).ready(enough - len(shown))
        yield from (one for one in each[2:] if one[0] <= cases - LEFT)

    def _decided(self, suspect: _Verdict, claim: Claim, measure: Measure, suspects: int) -> _Verdict | None:
        """
        Return the decision on a suspicious variant, on questions that the screening did not look at.

        Rows of the probe come first, as they were asked already. Where no case is left, all rows are read together, as
        if no variant had been suspicious. None for one that was not screened, as it applies to too few cases for any
        judge, and that nothing speaks against.
        """
        proofs, counters = _levels(suspects)
        looked_at = {row.cluster for row in suspect.trials.rows}
        fresh = tuple(row for row in self._rows_of(suspect.variant) if row.cluster not in looked_at)
        spare = self._spare(suspect.variant, looked_at | {row.cluster for row in fresh}, asked=False)
        trials = replace(suspect.trials, rows=fresh, lost={})
        asks = self._few if measure.worst_of != "gain" else replace(self._few, clean=0)
        outcome, estimate, spent = Outcome.UNDECIDED, None, (0.0, 0.0)
        errors = zip(PASS_SPENT, FAIL_SPENT, strict=True)
        for count, prove, disprove, so_far in zip(DECISIONS, proofs, counters, errors, strict=True):
            trials = self._more(trials, spare, count - len(trials.rows), asks)
            if lacking := missing(measure, trials):
                if (failed := fails_as_read(claim, trials, lacking, disprove)) is not None:
                    return _Verdict(suspect.variant, Outcome.FAIL, failed, trials)
                if count < DECISIONS[-1] and spare.ready(1):  # the share of what was lost may be smaller in the end
                    continue
                return replace(suspect, outcome=Outcome.INCOMPLETE, trials=trials, reason=lacking)
            if len(trials.rows) < DECISIONS[0]:
                break  # too few to be decided on by themselves
            spent = so_far
            try:
                proof, counter = measure.estimate(trials, prove), measure.estimate(trials, disprove)
            except EstimateError:
                break
            outcome, estimate = decide_between(proof, counter, claim, LEVEL)
            if outcome is not Outcome.UNDECIDED or not spare.ready(1):
                break
        if outcome is not Outcome.UNDECIDED or spent[1] == FAIL_SPENT[-1]:
            return _Verdict(suspect.variant, outcome, estimate, trials)
        trials = self._together(suspect, trials, asks)
        error = LEVEL * (1 - spent[1]) / len(self._edit.variants)
        if not looked_at:
            ruled = unproven(claim, trials, error, NONE).decision
            known = _Verdict(suspect.variant, ruled.outcome, ruled.estimate, trials)
            return None if ruled.outcome is Outcome.NOT_TESTED else known
        with suppress(EstimateError):
            proof = measure.estimate(trials, PASS_SPENT[-1] - spent[0])
            counter = measure.estimate(trials, error)
            outcome, estimate = decide_between(proof, counter, claim, LEVEL)
        if outcome is Outcome.UNDECIDED and all_for(claim, trials, DECISIONS[0]):
            return None
        return _Verdict(suspect.variant, outcome, estimate, trials)

    def _lost_to_inert(self, measure: Measure) -> float:
        """
        Return how much inert words in the probe's rows cost the treated answer, where that is more than chance.

        The screening sees none of them. Words that win count against a variant there; words that cost would hide it.
        """
        if measure.worst_of != "gain":
            return 0.0
        shown = [changed(row, perturbed=row.inert, inert=(), floor="") for row in self._trials.rows if row.inert]
        seen = [MEASURES["gain"].per_case(row, self._trials.scale) for row in shown]
        values = [value for value in seen if not isinstance(value, Reason)]
        lost = -fsum(values) / len(values) if values else 0.0
        return lost if lost > CHANCE else 0.0

    def _rows_of(self, variant: AnyEdit) -> list[Trial]:
        """Return the rows of the probe that show a variant, of cases with room."""
        return [row for row in self._trials.rows if row.edit == variant.label and row.room]

    def _spare(self, variant: AnyEdit, used: set[str], *, asked: bool, apart: bool = False) -> _Spare:
        """
        Return cases with room on which a variant was not asked, in an order of its own; `asked`: those of the probe.

        `used` are clusters that are left out. Each is of another cluster if only cases of the probe are wanted, or
        `apart`.
        """
        seed = self._pairing.setup.seed
        pairs = [p for p in self._pairing.pairs if p.cluster not in used]
        pairs = [p for p in pairs if not asked or p.source.id in self._cases]
        drawn = sorted(pairs, key=lambda p: digest("variant", seed, variant.label, p.source.id))
        if asked or apart:
            drawn = list({p.cluster: p for p in reversed(drawn)}.values())[::-1]
        shown = (self._pairing.as_variant(p, variant) for p in drawn)
        return _Spare(one for one in shown if one is not None and one.room)

    def _more(self, trials: Trials, spare: _Spare, wanted: int, asks: Asks) -> Trials:
        """Return the trials with so many more rows, as far as there are cases; those without room do not count."""
        lost: Counter[Reason] = Counter()
        while wanted > 0 and (pairs := spare.take(wanted)):
            known, gone = self._pairing.pilot_each(pairs)
            some = [pair for pair in known if pair.room]
            lost += gone
            wanted -= len(some)
            trials = self._with(trials, some, asks)
        return replace(trials, lost=Counter(trials.lost) + lost)

    def _together(self, suspect: _Verdict, trials: Trials, asks: Asks) -> Trials:
        """
        Return all rows of a variant, those of its screening too, beside inert words, where there are no more cases.

        Each is asked several times, as a few bad draws of a noisy judge look like an effect, and a small one like a
        large one; but no variant takes more asks so than one with more cases.
        """
        cases = {row.case for row in (*suspect.trials.rows, *trials.rows)}
        times = max(1, min(AGAIN, most_decided(len(self._pairing.pairs)) // max(1, len(cases))))
        pairs = (self._pairing.as_variant(p, suspect.variant) for p in self._pairing.pairs if p.source.id in cases)
        more = replace(asks, inert=times * asks.inert)
        found = self._arms.ask_rows([Row(pair, times) for pair in pairs if pair is not None], more)
        return trials if found.lost != self._pairing.lost else found

    def _with(self, trials: Trials, pairs: Sequence[Pair], asks: Asks) -> Trials:
        """Return the trials with more rows; what is lost of them is added, and what the probe lost is not."""
        if not pairs:
            return trials
        found = self._arms.ask_rows([Row(pair, 1) for pair in pairs], asks)
        gone = Counter(found.lost) - self._pairing.lost
        return replace(found, rows=(*trials.rows, *found.rows), lost=Counter(trials.lost) + gone)


def most_decided(cases: int) -> int:
    """Return how many asks of a suspicious variant a decision takes at most, in a probe of so many cases."""
    return min(cases, DECISIONS[-1])


@cache
def _levels(suspects: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the levels of a pass and of a fail at each decision, with so many suspicious variants."""
    failed = [LEVEL / suspects * share for share in FAIL_SPENT]
    return nominal_levels(PASS_SPENT, DECISIONS), nominal_levels(failed, DECISIONS)


def _beyond(estimate: Estimate, claim: Claim) -> bool:
    """Return whether the value itself is beyond the limit."""
    if claim.op == ">=":
        return estimate.value < claim.limit
    return (abs(estimate.value) if claim.op == "abs<=" else estimate.value) > claim.limit


def _harms(trials: Trials, claim: Claim, measure: Measure) -> list[float]:
    """Return how far each row moved the way it must not, in [0, 1]; what it moved the other way counts for nothing."""
    cells = [measure.per_case(row, trials.scale) for row in trials.rows]
    values = [cell for cell in cells if not isinstance(cell, Reason)]
    if claim.op == ">=" and not measure.flipped:
        return [(measure.high - value) / (measure.high - measure.low) for value in values]
    return [abs(value) if claim.op == "abs<=" else max(0.0, value) for value in values]


_WORST_FIRST: Final = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED, Outcome.PASS)


def _ruled(claim: Claim, known: Sequence[_Verdict]) -> Ruling:
    """Return the ruling of the worst: by outcome, then by value."""

    def rank(one: _Verdict) -> tuple[int, float]:
        value = 0.0 if one.estimate is None else one.estimate.value
        return _WORST_FIRST.index(one.outcome), value if claim.op == ">=" else -abs(value)

    worst = min(known, key=rank)
    named = because(Kind.WORST, len(known), name(worst.variant.label))
    if worst.estimate is None and worst.reason is not None and worst.reason.unmade:
        named = NONE  # which one is the worst is not known
    reason = listed([one for one in (named, worst.reason) if one])
    decision = Decision(claim.measure, claim, worst.outcome, worst.estimate, reason)
    return Ruling(decision, worst.trials)
