"""Pairs: the cases of a probe as they are asked in both arms, and why others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from calm.core.case import UNTREATED, Case, Treated, Treatment, digest
from calm.core.edits import AnyEdit, Expects, PromptEdit
from calm.core.reasons import Kind, Reason, because, reason_of
from calm.core.validation import fault_in
from calm.core.verdict import NoReply, Verdict
from calm.experiment.aim import aim, has_room, wants_pilot
from calm.experiment.setup import Setup
from calm.models.wire import Judge, Rewordable

ORDER_SALT = "slot order 1"
_CHANNEL = {"answers": "answer", "bylines": "label", "labels": "label", "notes": "note", "examples": "example"}
_NOUN = {
    "bylines": "labels",
    "framing": "inverted framing",
    "follow_ups": "follow-up turns",
    "history": "earlier drafts",
    "prompt": "other prompt",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """
    A case as it is asked in both arms: `base`, and after the edit `shown`, which is None for the clean arm alone.

    `turned` is `shown` with its answers the other way round, where half of the asks show it so. `variant` names the
    edit, `changed` the parts of the case that it changed, `hash` what the judge is shown. Where a prompt was edited,
    `judge` is asked in the perturbed arm and `control` in the clean one (else None: the probe's own). `room` says
    whether the treated answer can gain. The `treatment` reaches no judge.
    """

    source: Case
    base: Case
    shown: Case | None = None
    turned: Case | None = None
    variant: str = ""
    changed: frozenset[str] = frozenset()
    hash: str = ""
    judge: Judge | None = None
    control: Judge | None = None
    pilot: Verdict | None = None
    room: bool = True
    treatment: Treatment = UNTREATED

    @property
    def channel(self) -> str:
        """The parts that were changed, as results name them."""
        return ", ".join(sorted(_CHANNEL.get(c, c) for c in self.changed))

    def ask(self, number: int) -> tuple[Case, int]:
        """Return the edited case and the repeat index of one perturbed ask, counted from 1."""
        assert self.shown is not None, "there is a perturbed arm"
        if self.turned is None:
            return self.shown, number
        return self.shown if number % 2 else self.turned, (number + 1) // 2


def pair_up(
    setup: Setup, edit: AnyEdit | None, against: AnyEdit | None
) -> tuple[list[Pair], Counter[Reason], Counter[Reason]]:
    """Return the cases to ask, and the others counted by reason: excluded by design, or lost."""
    cases = in_order(setup.cases, setup.seed, as_given=setup.judge.traits.as_given)
    excluded: Counter[Reason] = Counter()
    lost: Counter[Reason] = Counter()
    if edit is None:
        return [Pair(c, c, hash=c.identity()) for c in cases], excluded, lost
    piloted = [c for c in cases if wants_pilot(c, edit.expects)]
    asked = setup.engine.ask(setup.judge, [(c, 0) for c in piloted])
    pilots = {c.id: a.verdict for c, a in zip(piloted, asked, strict=True)}
    pairs: list[Pair] = []
    for case in cases:
        pilot = pilots.get(case.id)
        if isinstance(pilot, NoReply):
            lost[reason_of(pilot.reason)] += 1
            continue
        aimed = aim(case, edit.expects, pilot)
        found = (
            aimed if isinstance(aimed, Reason) else _paired(setup, edit, against, aimed, Pair(case, case, pilot=pilot))
        )
        if isinstance(found, Reason):
            excluded[found] += 1
        else:
            pairs.append(found)
    return pairs, excluded, lost


def in_order(cases: Sequence[Case], seed: int, *, as_given: bool) -> list[Case]:
    """
    Return the cases in the order in which they are asked, each with an order of its answers.

    It is the order of `calm.cases.sample`: looks are taken in it, so it may not be that of a file or of a test's list.
    """
    drawn = sorted(cases, key=lambda case: digest("sample", seed, case.id))
    return [c.with_order("" if as_given else ORDER_SALT) for c in drawn]


def _paired(setup: Setup, edit: AnyEdit, against: AnyEdit | None, case: Treated, start: Pair) -> Pair | Reason:
    """Return the pair that an edit makes of an aimed case; `against` is the edit of the clean arm, if there is one."""
    pair: Pair | Reason = start
    for one, compared in ((against, False), (edit, True)):
        if one is None:
            continue
        pair = _edited(setup, one, case, start, compared=compared)
        if isinstance(pair, Reason):
            return pair if compared else because(Kind.CONTROL, pair)
        if not compared:
            start = replace(start, base=pair.ask(1)[0], control=pair.judge)
    return pair


def _edited(setup: Setup, edit: AnyEdit, case: Treated, start: Pair, *, compared: bool) -> Pair | Reason:
    """
    Return the pair after the first of an edit's variants that applies and can be seen, or why none does.

    Unless it is `compared` with the clean arm, the first one that applies will do.
    """
    reasons: list[Reason] = []
    for variant in edit.choices(case, setup.seed):
        found = _applied(setup, variant, case, start)
        if isinstance(found, Reason):
            reasons.append(found)
            continue
        judge, control = found.judge or setup.judge, found.control or setup.judge
        if not compared or judge.sees(found.ask(1)[0]) != control.sees(found.base):
            return found
        reasons.append(because(Kind.NOT_SHOWN, " or ".join(sorted(_NOUN.get(c, c) for c in found.changed))))
    # "does not apply" is the weakest reason: another variant's says more
    return next((r for r in reasons if r.kind is not Kind.APPLIES_NOT), reasons[0])


def _applied(setup: Setup, variant: AnyEdit, case: Treated, start: Pair) -> Pair | Reason:
    """Return the pair with the case, or the judge's prompt, as one variant makes it, or why it cannot."""
    if isinstance(variant, PromptEdit):
        judge = setup.judge
        prompt = judge.asks if isinstance(judge, Rewordable) else None
        if prompt is None or not isinstance(judge, Rewordable):
            return because(Kind.NO_PROMPT)
        if variant.bundled and not prompt.bundled:
            return because(Kind.OWN_PROMPT)
        reworded = variant.apply(prompt, case, setup.seed)
        if reworded is None:
            return because(Kind.APPLIES_NOT)
        start = replace(start, judge=judge.with_prompt(reworded), changed=frozenset({"prompt"}))
        after, words = case, f"prompt {variant.label}"
    else:
        edited = variant.apply(case, setup.seed)
        if edited is None:
            return because(Kind.APPLIES_NOT)
        if (fault := fault_in(variant, case, edited)) is not None:
            return fault
        start = replace(start, changed=case.differences(edited))
        after, words = edited, ""
    shown = after.untreated()
    both_orders = variant.expects is Expects.WORSE and setup.family in ("pairwise", "listwise")
    turned = shown.arranged(shown.slots[::-1]) if both_orders else None
    room = variant.expects is not Expects.NOT_BETTER or has_room(after, start.pilot, setup.family, setup.judge.scale)
    hash_ = shown.identity(words)
    return replace(
        start, shown=shown, turned=turned, variant=variant.label, hash=hash_, room=room, treatment=after.treatment
    )
