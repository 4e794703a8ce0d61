"""Pairs: the cases of a probe as they are asked in both arms, and why others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from calm.core.case import TIE, UNTREATED, Answer, Case, Treated, Treatment, changed, recast
from calm.core.edits import AnyEdit, Edit, Expects, PromptEdit
from calm.core.memo import Memo, once, recipe, remade
from calm.core.order import Recipe, impure, made, place_of, start_of
from calm.core.ready_made import NEUTRAL, Held, neutral_text, text_kind
from calm.core.reasons import NONE, Detail, Kind, Reason, because, counted, name, reason_of
from calm.core.validation import fault_in
from calm.core.verdict import Family, NoReply, Verdict, readable
from calm.engine.asks import PlainQuestion
from calm.errors import TooLongError
from calm.experiment.aim import aim, aims_by_pilot, has_room, wants_pilot
from calm.experiment.inert import (
    TESTS_LENGTH,
    Floor,
    even,
    floor_of,
    not_served,
    not_spoken,
    pilot_of,
    rewritten,
    worded,
)
from calm.experiment.setup import Setup, clusters_of
from calm.models.wire import Judge, Placing, Rescalable, Rewordable

SIDES: Final = ("one", "two")
"""The ids of two equal answers."""
_REWORDED: Final = frozenset({"paraphrase", "polish", NEUTRAL})
"""Kinds of ready-made texts that say the same as well."""


def as_pair(case: Case, family: Family) -> Case:
    """Return a case as a judge can be shown it: one answer, where two are compared, beside its copy."""
    alone = family == "pairwise" and len(case.answers) == 1
    return even(equal_pair(case)) if alone else case


def equal_pair(case: Case) -> Case:
    """
    Return two equally good answers to the question of a case, under the ids of `SIDES`, in a drawn order.

    They are two of its answers if its gold label says so, else its best answer beside a text of the case that says the
    same in other words, else that answer twice.
    """
    tied = list({answer.text: answer for answer in case.answers}.values())[:2] if case.better == TIE else []
    if len(tied) == 2:
        texts = {side: replace(a, id=side, author=None) for side, a in zip(SIDES, tied, strict=True)}
    else:
        known = {i: case.worth(i) for i in (a.id for a in case.answers)}
        scored = {i: worth for i, worth in known.items() if worth is not None}
        chosen = case.better if case.better not in (None, TIE) else max(scored, key=scored.__getitem__, default=None)
        best = case[chosen] if chosen is not None else case.answers[0]
        other = next(
            (
                held[best.id]
                for kind, held in sorted(case.variants.items())
                if kind in _REWORDED and held.get(best.id, best.text) != best.text
            ),
            best.text,
        )
        texts = {SIDES[0]: replace(best, id=SIDES[0], author=None), SIDES[1]: Answer(SIDES[1], other, steps=best.steps)}
    bare = replace(case, answers=tuple(texts.values()), better=TIE, scores={}, met={}, variants={}, annotations={})
    return replace(bare, label=None).present(order=(), bylines={}, drafts={}, labels=()).balanced("equal pair 1")


ORDER_SALT = "slot order 1"
_NOUN = {
    "bylines": "labels",
    "framing": "inverted framing",
    "follow_ups": "follow-up turns",
    "drafts": "earlier drafts",
    "turns": "turns of the conversation",
    "context": "passages",
    "steps": "steps of the run",
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
            return Floor(found.name, remade(self.memo, self._floor_again, base, shown, number))
        return self._floor_on(base, shown, number, self.memo)

    def _floor_again(self, base: Recipe[Case], shown: Recipe[Case], number: int) -> Case:
        return self._floor_on(base(), shown, number, None).case

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


@dataclass(slots=True)
class Pairing:
    """
    The cases of a probe as they are asked, in their order, and the others by reason: excluded, or lost.

    `plain`: edited cases are compared with those as they are, and not with another edit. A pilot is asked when its case
    is: `pilot` asks those of the first cases, and says what room these have.
    """

    setup: Setup
    edit: AnyEdit | None
    plain: bool = True
    pairs: list[Pair] = field(default_factory=list)
    excluded: Counter[Reason] = field(default_factory=Counter)
    lost: Counter[Reason] = field(default_factory=Counter)
    _starts: dict[str, tuple[Treated, Pair]] = field(default_factory=dict)
    _under: dict[str, list[Pair]] = field(default_factory=dict)

    @property
    def why_none(self) -> Reason:
        """Why no case is asked about: the reason of all of them, or several with the number of cases of each."""
        found = next(iter(self.excluded)) if len(self.excluded) == 1 else counted(self.excluded)
        return found or because(Kind.NO_CASES)

    def add(self, case: Treated, start: Pair) -> None:
        """Add the case as the first variant shows it that applies, or note why it is left out."""
        assert self.edit is not None, "there is an edit"
        found = _edited(self.setup, self.edit, case, start, compared=True)
        if isinstance(found, Reason):
            self.excluded[found] += 1
        else:
            self.pairs.append(found)
            self._starts[start.source.id] = case, start
            self._under[start.source.id] = [found]

    def pilot(self, n: int) -> None:
        """Ask the pilots of the first n cases; where one is lost, its case leaves and the next takes its place."""
        while missing := [pair for pair in self.pairs[:n] if self.wants(pair)]:
            self.pilot_each(missing)

    def pilot_each(self, pairs: Sequence[Pair]) -> tuple[list[Pair], Counter[Reason]]:
        """
        Ask the pilots of some cases; return those with a reply, with the room that they have, and why others have none.

        Several threads may ask at a time, also about the same cases.
        """
        assert self.edit is not None, "there is an edit"
        gone: Counter[Reason] = Counter()
        missing = [pair.source for pair in pairs if self.wants(pair)]
        verdicts = dict(zip([c.id for c in missing], _pilots(self.setup, missing), strict=True))
        for case_id, verdict in verdicts.items():
            if isinstance(verdict, NoReply):
                gone[reason_of(verdict.reason)] += 1
                self.pairs = [pair for pair in self.pairs if pair.source.id != case_id]
                continue
            case, start = self._starts[case_id]
            self._starts[case_id] = case, replace(start, pilot=verdict)
            self._under[case_id] = [_piloted(self.setup, self.edit, one, verdict) for one in self._under[case_id]]
        here = {pair.source.id: place for place, pair in enumerate(self.pairs)}
        for case_id in verdicts.keys() & here.keys():
            self.pairs[here[case_id]] = self._under[case_id][0]
        kept = [pair for pair in pairs if pair.source.id in here]
        self.lost += gone
        pilots = [self._starts[pair.source.id][1].pilot for pair in kept]
        return [_piloted(self.setup, self.edit, *one) for one in zip(kept, pilots, strict=True)], gone

    def wants(self, pair: Pair) -> bool:
        """Return whether a case still needs its pilot."""
        known = self._starts.get(pair.source.id)
        return (
            self.edit is not None
            and known is not None
            and known[1].pilot is None
            and wants_pilot(pair.source, self.edit.expects)
        )

    @property
    def known(self) -> list[Pair]:
        """All cases under all variants so far, in the order of the cases."""
        return [one for pair in self.pairs for one in self._under.get(pair.source.id, [pair])]

    def under(self, pair: Pair, count: int) -> list[Pair]:
        """Return a case under so many variants of the edit, the pair itself first; fewer where no more apply."""
        known = self._under.get(pair.source.id)
        if known is None or self.edit is None or count <= len(known) or not self.edit.variants:
            return [pair] if known is None else known[:count]
        case, start = self._starts[pair.source.id]
        while len(known) < count:
            used = frozenset(one.variant for one in known)
            found = _edited(self.setup, self.edit, case, start, compared=True, used=used)
            if isinstance(found, Reason):
                break
            known.append(found)
        return known[:count]

    def as_variant(self, pair: Pair, variant: AnyEdit) -> Pair | None:
        """Return a case under one variant of the edit; None where that does not apply."""
        case, start = self._starts[pair.source.id]
        found = _edited(self.setup, variant, case, start, compared=True)
        if isinstance(found, Reason):
            return None
        return found if found.held == pair.held else changed(found, held=pair.held)


def pair_up(
    setup: Setup, edit: AnyEdit | None, against: AnyEdit | None, target: str | None = None, *, ties: bool = False
) -> Pairing:
    """
    Return the cases to ask in their order, and the others counted by reason; pilots that aim are asked at once.

    `target` is the id of the answer to treat in each case, where a person chose it. A pair has its place here if one
    answer is the better one; `ties`: or if its gold label is a tie. What a cue does between equal answers, and between
    two without gold, is asked crosswise (`calm.experiment.pulls`).
    """
    bias = None if edit is None else edit.bias
    cases = in_order(setup.cases, setup.seed, bias, as_given=setup.judge.traits.as_given, memo=setup.memo)
    clusters = once(setup.memo, lambda: clusters_of(setup.cases), setup.cases, "clusters")
    found = Pairing(setup, edit, plain=against is None)
    if (record := setup.judge.traits.recorded) is not None:
        judged = [record.judged(c) for c in cases]
        cases = [c for c in judged if c is not None]
        if len(cases) < len(judged):
            found.excluded[because(Kind.NOT_RECORDED)] += len(judged) - len(cases)
    elif target is None:
        if edit is not None and edit.expects is Expects.WORSE and setup.family in ("pairwise", "listwise"):
            cases = [once(setup.memo, partial(_to_harm, case), (case,), "harm") for case in cases]
        bars = [(case, barred(case, setup.family, edit, ties=ties)) for case in cases]
        cases = [case for case, bar in bars if not bar]
        found.excluded.update(bar for _, bar in bars if bar)
    if edit is None:
        hashes = ["" if setup.counting else case.identity() for case in cases]
        found.pairs = [Pair(c, c, hash=one, cluster=clusters[c.id]) for c, one in zip(cases, hashes, strict=True)]
        return found
    aimed_by_pilot = [c for c in cases if target is None and aims_by_pilot(c, edit.expects)]
    pilots = dict(zip([c.id for c in aimed_by_pilot], _pilots(setup, aimed_by_pilot), strict=True))
    for case in cases:
        pilot = pilots.get(case.id)
        if isinstance(pilot, NoReply):
            found.lost[reason_of(pilot.reason)] += 1
            continue
        if record is not None and pilot is not None and not readable(pilot):
            pilot = None  # an order or a framing treats no answer of its own, and its case has other verdicts
        memo = setup.memo if pilot is None else None
        if target is None:
            aimed = once(memo, partial(aim, case, edit.expects, pilot), (case,), "aim", edit.expects)
        else:
            aimed = case.treat(target)
        if isinstance(aimed, Reason):
            found.excluded[aimed] += 1
            continue
        treat = partial(case.treat, aimed.target)
        aimed = once(setup.memo, treat, (case,), "aimed", aimed.treatment)  # one object for all edits that aim at it
        cluster = clusters[case.id]
        start = once(
            memo, partial(Pair, case, case, pilot=pilot, cluster=cluster, memo=setup.memo), (case,), "start", cluster
        )
        if against is not None:
            compared = _edited(setup, against, aimed, start, compared=False)
            if isinstance(compared, Reason):
                found.excluded[because(Kind.CONTROL, compared)] += 1
                continue
            assert compared.shown is not None, "it was edited"
            start = replace(start, clean=compared.shown, control=compared.judge)
        found.add(aimed, start)
    if any(reason.kind is Kind.EDIT_TOO_LONG for reason in found.excluded):
        found.excluded = _together(found.excluded)
    return found


def _to_harm(case: Case) -> Case:
    """Return a case as it is; if no answer is known to be better, with one answer twice, to harm one of them."""
    known = len(case.answers) > 1 and case.better != TIE and _has_gold(case)
    return case if known or len(case.answers) > 2 else replace(equal_pair(case), better=SIDES[0])


def _has_gold(case: Case) -> bool:
    return case.better is not None or any(case.worth(answer.id) is not None for answer in case.answers)


def barred(case: Case, family: Family, edit: AnyEdit | None, *, ties: bool = False) -> Reason:
    """Return why nothing but a cue between equal answers is asked of a case, or `NONE`."""
    if family not in ("pairwise", "listwise"):
        return NONE
    if len(case.answers) < 2:
        return because(Kind.ONE_ANSWER)
    if case.better == TIE and not ties and (edit is None or edit.expects is not Expects.TIE):
        return because(Kind.EQUAL_ANSWERS)
    free = edit is None or edit.expects in (Expects.TIE, Expects.OBSERVE) or edit.bias == "position"
    return NONE if _has_gold(case) or free or family != "pairwise" else because(Kind.NO_GOLD)


def _together(excluded: Counter[Reason]) -> Counter[Reason]:
    """Return the counts with one reason for all cases whose edited prompt is too long for a model; it names them."""
    cases: dict[tuple[Detail, ...], list[Detail]] = {}
    for reason in excluded:
        if reason.kind is Kind.EDIT_TOO_LONG:
            *model, case = reason.details
            cases.setdefault(tuple(model), []).append(case)
    found = Counter({reason: count for reason, count in excluded.items() if reason.kind is not Kind.EDIT_TOO_LONG})
    for about, named in cases.items():
        found[because(Kind.EDIT_TOO_LONG, *about, *sorted(named, key=str))] += len(named)
    return found


def _pilots(setup: Setup, cases: Sequence[Case]) -> list[Verdict]:
    """
    Ask about cases with inert words, and return the verdicts.

    At temperature 0 an ask about the case as it is would be a repeat of the clean arm, and what it says of the room to
    gain would enter the gain. A judge whose verdicts were given beforehand knows the case as it is alone.
    """
    shown = [piloted(c, setup) for c in cases]
    if not shown:
        return []
    return [asked.verdict for asked in setup.engine.ask_each([PlainQuestion(setup.judge, c, 0) for c in shown])]


def piloted(case: Case, setup: Setup) -> Case | Recipe[Case]:
    """Return a case as the pilot shows it."""
    if not setup.repeatable:
        return case
    return once(setup.memo, lambda: remade(setup.memo, pilot_of, case), (case,), "pilot")


def in_order(
    cases: Sequence[Case], seed: int, bias: str | None = None, *, as_given: bool, memo: Memo | None = None
) -> list[Case]:
    """
    Return the cases in the order in which they are asked about a bias, each with an order of its answers.

    It is the order of `calm.cases.sample`: looks are taken in it, so it may not be that of a file or of a test's list.
    """
    salt = "" if as_given else ORDER_SALT
    start = 0.0 if bias is None else start_of(bias, len(cases))

    return once(
        memo,
        lambda: [
            once(memo, partial(case.with_order, salt), (case,), "order", salt)
            for case in sorted(cases, key=lambda case: place_of(seed, case.id, start))
        ],
        tuple(cases),
        *("drawn", seed, start, salt),
    )


def _edited(
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
    return _piloted(setup, variant, found, start.pilot, found.shown())


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
        edited = edited_by(variant, case, setup.seed)
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


def edited_by(variant: Edit, case: Treated, seed: int) -> Treated | Reason:
    """Return a case after one edit, or why it may not be asked about so."""
    if variant.languages is not None and (unserved := not_served(variant, case)) is not None:
        return unserved
    edited = variant.apply(case, seed)
    if edited is None:
        return because(variant.lacking)
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
    both_orders = variant.expects is Expects.WORSE and setup.family in ("pairwise", "listwise")
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
    return _piloted(setup, variant, found, start.pilot, edited.after)


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


def _piloted(setup: Setup, edit: AnyEdit, pair: Pair, pilot: Verdict | None, case: Case | None = None) -> Pair:
    """
    Return a pair with what its pilot said, and with whether the treated answer of a case can still move.

    A pilot that was asked about other criteria than the clean arm says nothing of that.
    """
    treated = recast(Treated, case or pair.source, treatment=pair.treatment)
    telling = pilot if pair.base.criteria == pair.source.criteria else None
    room = has_room(treated, edit.expects, telling, setup.family, setup.judge.scale)
    return changed(pair, pilot=pilot, room=room)


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
