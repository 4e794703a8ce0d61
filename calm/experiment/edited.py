"""A case before and after an edit: whether it applies, can be seen and has room to move, and its further forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from calm.core.case import UNTREATED, Case, Treated, Treatment, changed, recast
from calm.core.edits import AnyEdit, Edit, Expects, PromptEdit
from calm.core.memo import Memo, once, recipe, remade
from calm.core.order import Recipe, impure, made
from calm.core.ready_made import NEUTRAL, Held, neutral_text, text_kind
from calm.core.reasons import Kind, Reason, because, name
from calm.core.trials import Trial, favour
from calm.core.validation import fault_in
from calm.core.verdict import Criteria, Family, Label, Scale, Verdict
from calm.errors import TooLongError
from calm.experiment.inert import (
    TESTS_LENGTH,
    Floor,
    floor_of,
    not_served,
    not_spoken,
    rewritten,
    worded,
)
from calm.experiment.setup import Setup
from calm.models.wire import Judge, Placing, Rescalable, Rewordable

NO_ROOM = 0.75
"""Favour above which an answer has no room to gain: less than a quarter of the scale. A score has as much to fall."""
_NOUN = {
    "bylines": "labels",
    "framing": "inverted framing",
    "follow_ups": "follow-up turns",
    "drafts": "earlier drafts",
    "turns": "turns of the conversation",
    "context": "passages",
    "steps": "steps of the run",
    "images": "images",
    "prompt": "other prompt",
}
_FIELD = {"drafts": "history"}
"""What code declares to read the parts of a case that have another name there."""


@dataclass(frozen=True, slots=True)
class Pair:
    """
    A case as it is asked in both arms: `clean`, and after the edit `shown`, which is None for the clean arm alone.

    `turned` is `shown` with its answers the other way round, where half of the asks show it so. `variant` names the
    edit, `changed` the parts of the case that it changed, `hash` what the judge is shown. Where a prompt was edited,
    `judge` is asked in the perturbed arm and `control` in the others (else None: the probe's own). `room` says whether
    the treated answer can gain, or fall where it was harmed. `brief`: the inert arm has the briefest words. `again`
    edits the case after inert words were put on its answers, for further asks; None where it is asked as it is. The
    `treatment` reaches no judge. `places` are where the judge is shown what its own prompt has no place for. `own`
    names the text of the case itself that the edit shows (empty: none), `held` are all that it has for the edit, and
    `neutral` is its neutral rewrite, where `own` is compared with that.
    """

    source: Case
    clean: Case | Recipe[Case]
    shown: Recipe[Case] | None = None
    turned: Recipe[Case] | None = None
    variant: str = ""
    changed: frozenset[str] = frozenset()
    hash: str = ""
    judge: Judge | None = None
    control: Judge | None = None
    pilot: Verdict | None = None
    room: bool = True
    brief: bool = False
    again: Callable[[int], Recipe[Case]] | None = None
    cluster: str = ""
    treatment: Treatment = UNTREATED
    places: frozenset[str] = frozenset()
    own: str = ""
    held: tuple[Held, ...] = ()
    neutral: str | None = None
    memo: Memo | None = field(default=None, compare=False, repr=False)

    @property
    def base(self) -> Case:
        """The case of the clean arm."""
        return made(self.clean)

    def floor(self, number: int) -> Floor:
        """Return the inert form of the case that is compared with the edited one, counted from 1."""
        assert self.shown is not None, "there is a perturbed arm"
        about = self.treatment.target, self.changed, number, self.brief, self.neutral
        return once(self.memo, partial(self._floor, self.shown, number), (self.clean, self.shown), "floor", *about)

    def _floor(self, shown: Recipe[Case], number: int) -> Floor:
        base = self.clean
        if isinstance(base, Recipe):  # then what is made of it may not hold it either
            found = self._floor_on(base(), shown, number, None)
            return Floor(found.name, remade(self.memo, lambda: self._floor_on(base(), shown, number, None).case))
        return self._floor_on(base, shown, number, self.memo)

    def _floor_on(self, base: Case, shown: Recipe[Case], number: int, memo: Memo | None) -> Floor:
        aimed = self.source.treat(self.treatment.target)
        if self.neutral is not None:
            return rewritten(aimed, base, self.neutral, number)
        return floor_of(aimed, base, shown, self.changed, number, brief=self.brief, memo=memo)

    def ask(self, number: int) -> tuple[Recipe[Case], int]:
        """
        Return the edited case and the repeat index of one perturbed ask, counted from 1.

        At temperature 0 a repeat of the same words would be no new ask. So inert words are put on the answers first, as
        the inert arm has them, and the edit follows: a cue that must come last still does.
        """
        assert self.shown is not None, "there is a perturbed arm"
        turned = self.turned if number % 2 == 0 else None
        first = self.shown if turned is None else turned
        repeat = number if self.turned is None else (number + 1) // 2
        if repeat == 1 or self.again is None:
            return first, repeat
        again = self.again(repeat - 1)
        again = again if turned is None else _turned(self.memo, again)
        return (first, repeat) if again() == first() else (again, 1)


def edited(
    setup: Setup, edit: AnyEdit, case: Treated, start: Pair, *, compared: bool, used: frozenset[str] = frozenset()
) -> Pair | Reason:
    """
    Return the pair after the first of an edit's variants that applies, fits and can be seen, or why none does.

    Unless it is `compared` with the clean arm, the first one that applies and fits will do. Variants that were `used`
    are passed over.
    """
    reasons: list[Reason] = []
    variants: Sequence[AnyEdit] = (edit,)
    if edit.variants:  # the one drawn for the case first
        variants = once(setup.memo, lambda: edit.choices(case, setup.seed), (edit, case), "choices", setup.seed)
    for variant in variants:
        if variant.label in used:
            continue
        found = _varied(setup, variant, case, start, compared=compared)
        if isinstance(found, Pair):
            if isinstance(edit, PromptEdit) or not case.variants:
                return found
            held = once(setup.memo, lambda: edit.held(case), (edit, case), "held")
            return changed(found, held=held) if held else found
        reasons.append(found)
    # "does not apply" is the weakest reason: another variant's says more
    return next((r for r in reasons if r.kind is not Kind.APPLIES_NOT), because(Kind.APPLIES_NOT))


def _varied(setup: Setup, variant: AnyEdit, case: Treated, start: Pair, *, compared: bool) -> Pair | Reason:
    """Return the pair after one variant that applies, fits and can be seen, or why it does not."""
    if isinstance(variant, PromptEdit) or start.control is not None:  # the judge is another one in each probe
        return _varied_anew(setup, variant, case, start, compared=compared)
    found = once(
        setup.memo,
        lambda: _varied_anew(setup, variant, case, start, compared=compared),
        (variant, case, start.source, start.clean),
        *("varied", setup.seed, compared),
    )
    if isinstance(found, Reason):
        return found
    found = found if found.cluster == start.cluster else changed(found, cluster=start.cluster)
    if found.pilot is start.pilot or found.shown is None:
        return found
    return with_pilot(setup, variant, found, start.pilot, found.shown())


def _varied_anew(setup: Setup, variant: AnyEdit, case: Treated, start: Pair, *, compared: bool) -> Pair | Reason:
    found = _applied(setup, variant, case, start)
    if isinstance(found, Reason):
        return found
    assert found.shown is not None, "it was edited"
    judge, control = found.judge or setup.judge, found.control or setup.judge
    if (record := judge.traits.recorded) is not None and not record.held(found.shown()):
        return because(Kind.NOT_RECORDED)
    memo = setup.memo if found.control is None else None
    try:
        clean = once(memo, lambda: control.sees(found.base), (found.clean,), "seen")
        visible = judge.sees(found.shown()) != clean
    except TooLongError as error:
        return because(Kind.EDIT_TOO_LONG, name(error.model), error.window, name(case.id))
    return found if visible or not compared else unseen(judge, found.changed)


def unseen(judge: Judge, changed: Iterable[str]) -> Reason:
    """Return that a judge sees nothing of what an edit changed; of one whose code says what it reads, how it would."""
    names = sorted(changed)
    nouns = " or ".join(sorted(_NOUN.get(name, name) for name in names))
    fields = [_FIELD.get(name, name) for name in names]
    declared = judge.about.get("reads")
    if isinstance(declared, list) and "passed" not in judge.about and "prompt" not in fields:
        return because(Kind.NOT_READ, nouns, ", ".join(map(repr, fields)))
    return because(Kind.NOT_SHOWN, nouns)


@dataclass(frozen=True, slots=True)
class _Edited:
    """A case after an edit, with its treatment and without it, turned where both orders are asked, and its hash."""

    after: Treated
    shown: Recipe[Case]
    turned: Recipe[Case] | None
    hash: str


def _made(variant: AnyEdit, case: Treated, setup: Setup, *, both_orders: bool) -> _Edited | Reason:
    """Return the case after one variant, or why it cannot be edited; an edit of the prompt leaves it as it is."""
    after, words = case, f"prompt {variant.label}"
    if not isinstance(variant, PromptEdit):
        edited = edited_by(variant, case, setup)
        if isinstance(edited, Reason):
            return edited
        after, words = edited, ""
    case_shown = after.untreated()
    if isinstance(variant, PromptEdit):
        shown = Recipe(case_shown)  # it has no text of its own
    else:
        shown = recipe(setup.memo, case_shown, partial(_shown, variant, case, setup.seed))
    turned = _turned(setup.memo, shown) if both_orders else None
    return _Edited(after, shown, turned, "" if setup.counting else case_shown.identity(words))


def edited_by(variant: Edit, case: Treated, setup: Setup) -> Treated | Reason:
    """Return a case after one edit, or why it may not be asked about so."""
    if variant.languages is not None and (unserved := not_served(variant, case)) is not None:
        return unserved
    edited = variant.apply(case, setup.seed)
    if edited is None:
        return variant.unfit(case)
    if setup.judge.traits.mute and (variant.needs_text or edited.follow_ups):
        return because(Kind.MUTE)
    return fault_in(variant, case, edited) or not_spoken(variant, case, edited) or edited


def _shown(variant: Edit, case: Treated | Recipe[Treated], seed: int) -> Case:
    """Return a case after an edit of which it is known that it applies."""
    edited = variant.apply(made(case), seed)
    if edited is None:
        raise impure(case.id)
    return edited.untreated()


def _turned(memo: Memo | None, shown: Recipe[Case]) -> Recipe[Case]:
    """Return a case with its answers the other way round."""
    return remade(memo, lambda one: one().arranged(one.slots[::-1]), shown)


def _applied(setup: Setup, variant: AnyEdit, case: Treated, start: Pair) -> Pair | Reason:
    """Return the pair with the case, or the judge's prompt, as one variant makes it, or why it cannot."""
    if isinstance(variant, PromptEdit):
        asked = _asked_otherwise(setup, variant, case)
        if isinstance(asked, Reason):
            return asked
        start = changed(start, judge=asked, changed=frozenset({"prompt"}))
    both_orders = variant.copies and setup.family in ("pairwise", "listwise")
    edited = once(
        setup.memo,
        lambda: _made(variant, case, setup, both_orders=both_orders),
        (variant, case),
        *("edited", setup.seed, both_orders),
    )
    if isinstance(edited, Reason):
        return edited
    if not isinstance(variant, PromptEdit):
        own = variant.own_text(case)
        if own is None:
            start = changed(start, changed=case.differences(edited.after))
        else:
            start = _beside_own(variant, own, case, edited.after, start)
    asked, places, memo = start.judge or setup.judge, frozenset[str](), setup.memo if start.judge is None else None
    if isinstance(asked, Placing) and not setup.counting:
        places = once(memo, lambda: asked.places(edited.shown()), (edited.shown,), "places")
    again = partial(_again, setup, variant, case, edited.shown, own=bool(start.own))
    found = changed(
        start,
        shown=edited.shown,
        turned=edited.turned,
        variant=variant.label,
        hash=edited.hash,
        brief=variant.bias in TESTS_LENGTH,
        again=again if setup.repeatable else None,
        treatment=edited.after.treatment,
        places=places,
    )
    return with_pilot(setup, variant, found, start.pilot, edited.after)


def _asked_otherwise(setup: Setup, edit: PromptEdit, case: Treated) -> Judge | Reason:
    """Return the judge with its prompt, or the scale of its scores, after an edit of prompts, or why it has none."""
    judge = setup.judge
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None and isinstance(judge, Rescalable):
        prompt = judge.scored
    if prompt is None:
        return because(Kind.NO_PROMPT)
    if edit.bundled and not prompt.bundled:
        return because(Kind.OWN_PROMPT)
    reworded = edit.apply(prompt, case, setup.seed)
    if reworded is None:
        return because(Kind.APPLIES_NOT)
    if isinstance(judge, Rewordable):
        return judge.with_prompt(reworded)
    if not isinstance(judge, Rescalable) or reworded.scale in (None, prompt.scale):
        return because(Kind.NO_PROMPT)  # it has no words that could be changed
    return judge.on_scale(reworded.scale)


def with_pilot(setup: Setup, edit: AnyEdit, pair: Pair, pilot: Verdict | None, case: Case | None = None) -> Pair:
    """
    Return a pair with what its pilot said, and with whether the treated answer of a case can still move.

    A pilot that was asked about other criteria than the clean arm says nothing of that.
    """
    treated = recast(Treated, case or pair.source, treatment=pair.treatment)
    telling = pilot if pair.base.criteria == pair.source.criteria else None
    room = has_room(treated, edit.expects, telling, setup.family, setup.judge.scale)
    return changed(pair, pilot=pilot, room=room)


def has_room(case: Treated, expects: Expects, pilot: Verdict | None, family: Family, scale: Scale) -> bool:
    """
    Return whether the treated answer can still move as the edit would move it, by the verdict of the pilot.

    It can gain if it has not won, or lacks a quarter of the scale at least. A score can fall if it is that far above
    the bottom: an answer that is called wrong already may well stay there with one error more, and what denies it may
    be true. On a rubric an answer can fall if the criterion that was hit was met; a copy that was harmed and is shown
    beside its original always can. Of classes, it can gain if a bad move begins at its class (in an order one of a
    quarter of it at least), and fall if its class is not that of damaged answers. True without a pilot.
    """
    together = family in ("pairwise", "listwise")
    if pilot is None or expects not in (Expects.NOT_BETTER, Expects.WORSE) or (expects is Expects.WORSE and together):
        return True
    if expects is Expects.WORSE and family == "rubric" and case.hit is not None:
        met = pilot.met.get(case.hit) if isinstance(pilot, Criteria) else None
        return met is None or met == (case.points[case.hit] > 0)
    if isinstance(pilot, Label):
        return _class_has_room(pilot.value, expects, scale)
    x = favour(pilot, case.target, Trial(case.id, points=case.points), scale)
    if x is None:
        return True
    if expects is Expects.WORSE:
        return x >= 1 - NO_ROOM if family == "score" else x > 0
    return x <= (0.5 if family == "pairwise" else NO_ROOM)


def _class_has_room(name: str, expects: Expects, scale: Scale) -> bool:
    classes = scale.classes
    if classes is None or (expects is Expects.NOT_BETTER and not classes.directed):
        return True
    if expects is Expects.WORSE:
        return name != classes.damaged
    return classes.worst_move(name) > 0 if classes.harm else classes.worst_move(name) >= 1 - NO_ROOM


def _beside_own(variant: Edit, text: Held, case: Treated, edited: Treated, start: Pair) -> Pair:
    """Return the pair with what an edit changed that shows a text of the case, and with what that is compared."""
    memo = start.memo
    as_it_is = start.base == case.untreated()
    base = variant.base(case) if as_it_is else case
    kind = text_kind(text.name)
    neutral = None
    if as_it_is and base is case and kind is not None and kind.rewrites and text.name != NEUTRAL:
        neutral = neutral_text(case.treat(text.answer))
    return changed(
        start,
        clean=once(memo, base.untreated, (variant, case), "base") if as_it_is else start.clean,
        changed=base.differences(edited),
        own=text.name,
        neutral=neutral,
    )


def _again(
    setup: Setup, variant: AnyEdit, case: Treated, shown: Recipe[Case], number: int, *, own: bool
) -> Recipe[Case]:
    """Return the case for a further ask after the edit."""
    return once(
        setup.memo,
        partial(_edited_again, setup, variant, case, shown, number, own=own),
        (variant, case, shown),
        *("again", setup.seed, number, own),
    )


def _edited_again(
    setup: Setup, variant: AnyEdit, case: Treated, shown: Recipe[Case], number: int, *, own: bool
) -> Recipe[Case]:
    """
    Return the case with inert words and then the edit; as it was shown before where the edit cannot follow them.

    A text of the case's `own` would take the place of the words: there they follow the edit.
    """
    memo = setup.memo
    if own:
        return remade(memo, lambda: worded(shown(), number))
    with_words = once(
        memo, lambda: remade(memo, lambda: worded(case, number).treat(case.target)), (case,), "worded", number
    )
    if isinstance(variant, PromptEdit):
        return remade(memo, lambda: with_words().untreated())
    edited = variant.apply(with_words(), setup.seed)
    if edited is None or fault_in(variant, with_words(), edited) is not None:
        return shown
    return recipe(memo, edited.untreated(), partial(_shown, variant, with_words, setup.seed))
