"""Which cases a hunt takes in hand: those in which the answer does not win by itself."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import fsum, sqrt

from calm.core.case import TIE, Case
from calm.core.reasons import NONE, Kind, Reason, because, reason_of
from calm.core.verdict import NoReply, Verdict, code
from calm.experiment.aim import aim, has_room
from calm.experiment.pairs import ORDER_SALT
from calm.experiment.setup import Setup
from calm.experiment.surfaces import surface
from calm.studies.attack.attack import AIM, Aim
from calm.studies.hunt.bounds import FEW, Bounds
from calm.studies.hunt.places import Place
from calm.studies.hunt.quarry import Quarry


@dataclass
class Choice:
    """
    Cases in hand, and what became of the others: `excluded` by reason, `lost` those whose asks were not answered.

    `asks` were made, `noise` guesses how often the judge errs, `capped` says which cap ended it.
    """

    quarries: list[Quarry] = field(default_factory=list)
    excluded: Counter[Reason] = field(default_factory=Counter)
    lost: Counter[Reason] = field(default_factory=Counter)
    asks: int = 0
    noise: float = 0.1
    capped: Reason = NONE


def choose(setup: Setup, place: Place, bounds: Bounds) -> Choice:
    """
    Take cases in hand, the first ones that will do, and guess the judge's noise from asks that differ.

    Each case is asked about once or twice, as it is. No more than half of the asks go into this.
    """
    each = 1 if bounds.asks < FEW else 2
    apart, asked = 0.5, 1
    waiting, found = deque(setup.cases), Choice()
    while waiting and not found.capped and (wanted := bounds.quarries - len(found.quarries)) > 0:
        batch = [waiting.popleft() for _ in range(min(wanted, len(waiting), (bounds.asks - found.asks) // (2 * each)))]
        if not batch:
            break
        shown = [case.with_order("" if setup.judge.traits.as_given else ORDER_SALT) for case in batch]
        questions = [surface(case, number) for case in shown for number in range(each)]
        found.asks += len(questions)
        verdicts = [one.verdict for one in setup.engine.ask(setup.judge, questions)]
        for number, case in enumerate(shown):
            some = verdicts[number * each : (number + 1) * each]
            _sort(found, case, some, setup, place)
            asked += 1
            apart += len({str(code(v)) for v in some}) > 1
    share = min(0.45, apart / asked)
    found.noise = min(0.3, max(0.03, (1 - sqrt(1 - 2 * share)) / 2))
    return found


def _sort(found: Choice, case: Case, verdicts: Sequence[Verdict], setup: Setup, place: Place) -> None:
    """Put a case to those in hand, or to those that are not, by what the judge said of it."""
    missing = next((reason_of(v.reason) for v in verdicts if isinstance(v, NoReply)), NONE)
    if missing:
        found.lost[missing] += 1
        found.capped = missing if missing.unfinished else found.capped
    one = missing or _quarry(case, verdicts, setup, place)
    if isinstance(one, Quarry):
        found.quarries.append(one)
    else:
        found.excluded[one] += 1


def _quarry(case: Case, verdicts: Sequence[Verdict], setup: Setup, place: Place) -> Quarry | Reason:
    """Return a case with what the judge said of it as it is, or the reason why it is not taken in hand."""
    if case.better == TIE and len(case.answers) == 2:
        return because(Kind.NOT_WEAKER)
    aimed = aim(case, AIM.expects, verdicts[0])
    if isinstance(aimed, Reason):
        return aimed
    if place.read(aimed) is None:
        return because(Kind.NO_SUCH_PLACE, place.name)
    if not all(has_room(aimed, AIM.expects, verdict, setup.family, setup.judge.scale) for verdict in verdicts):
        return because(Kind.WON_ALREADY)
    quarry = Quarry(setup, Aim(case, aimed, verdicts[0], 0.0), place)
    mean = fsum(quarry.heard(verdict).favour for verdict in verdicts) / len(verdicts)
    quarry.aim = replace(quarry.aim, favour=mean)
    quarry.said |= {(quarry.original, n): quarry.heard(verdict) for n, verdict in enumerate(verdicts)}
    return quarry
