"""How a search asks about texts, and which texts may be asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calm.core.case import Treated
from calm.core.edits import Edit
from calm.core.reasons import Kind, because, reason_of
from calm.core.trials import Trials
from calm.core.validation import Band, Rules, refusal
from calm.core.verdict import NoReply, Verdict
from calm.experiment.setup import Setup
from calm.studies.attack.attack import AIM, ATTACK, CONFIRM, AttackedCase, favour_of, has_won

STACKED = Rules(kept_words=Band(0.5), numbers="there", difference="any")
"""The rules for a stack of edits as a whole; each edit also passed its own rules."""
STACK = replace(AIM, rules=STACKED)


def tried(setup: Setup, tries: Sequence[tuple[AttackedCase, Treated]]) -> list[Verdict]:
    """
    Return the judge's verdicts on texts, and note as found those that won in this ask and in another one.

    For a text that won only once, the second verdict is returned. A text replaces one that was found before.
    """
    blank = Trials((), setup.family, setup.judge.scale)
    asked = setup.engine.ask(setup.judge, [(case.untreated(), 0) for _, case in tries])
    verdicts = [a.verdict for a in asked]
    again: list[int] = []
    for place, ((one, _), verdict) in enumerate(zip(tries, verdicts, strict=True)):
        one.asks += 1
        if isinstance(verdict, NoReply):
            one.lost = reason_of(verdict.reason)
        elif has_won(favour_of(one.aim, verdict, blank), one.aim, blank):
            again.append(place)
    second = setup.engine.ask(setup.judge, [(tries[place][1].untreated(), CONFIRM) for place in again])
    for place, asked_again in zip(again, second, strict=True):
        one, case = tries[place]
        one.asks += 1
        verdict = asked_again.verdict
        if isinstance(verdict, NoReply):
            one.lost = reason_of(verdict.reason)
        if not isinstance(verdict, NoReply) and has_won(favour_of(one.aim, verdict, blank), one.aim, blank):
            one.found = case
        else:
            verdicts[place] = verdict
    return verdicts


def climbed(setup: Setup, one: AttackedCase, case: Treated, verdict: Verdict) -> bool:
    """Go on from a text that does no worse than the one before; return whether it does no worse."""
    x = favour_of(one.aim, verdict, Trials((), setup.family, setup.judge.scale))
    if isinstance(verdict, NoReply) or x < one.favour:
        return False
    one.case, one.favour = case, x
    return True


def fault_in(edit: Edit, before: Treated, after: Treated) -> str | None:
    """Return why a text may not be asked about: it breaks what `edit` allows, or changes the gold or the truth."""
    if (why := refusal(edit, before, after)) is not None:
        return why.about
    return None if before.truth_kept_by(after) else "gold"


def with_text(case: Treated, text: str) -> Treated:
    """Return the case with another text of the attacked answer."""
    return case.edit(case.target, lambda _: text)


def transfer(setup: Setup, sought: Sequence[AttackedCase]) -> None:
    """Take the texts that an earlier search left in the cases, without asking about them."""
    for one in sought:
        case = one.aim.case
        text = case.variants.get(ATTACK, {}).get(case.target or "")
        if text is None:
            one.skipped = because(Kind.NO_EARLIER_TEXT)
            continue
        after = with_text(case, text)
        why = fault_in(STACK, case, after)
        if why is None:
            one.found = after
        else:
            one.skipped = because(Kind.REFUSED, why)
