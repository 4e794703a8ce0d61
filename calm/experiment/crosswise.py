"""
Crosswise: two equally good answers, a cue on one of them and inert words on the other, then the other way about.

A judge that always prefers right to wrong can still take the longer, or the more famous, of two good answers. It is
asked about pairs in which nothing else can decide: two answers that are known to be equal, or twice the same one. The
order stays while the cue changes sides. So a judge that says tie, goes by the slot, or prefers one of the two texts
gains nothing from a cue that it does not see, and one that tosses a coin gains nothing on average.

First the judge is asked without a cue, and then with the cue on the answer that did not win. If that one still does not
win, the cue has not decided, and the other side need not be asked to acquit it (`calm.core.measures.pull`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from calm.core.case import Case, Treated, Treatment, digest
from calm.core.copies import changed
from calm.core.edits import AnyEdit, Edit, PromptEdit
from calm.core.languages import spoken_words
from calm.core.memo import once, recipe
from calm.core.order import place_of, start_of
from calm.core.reasons import Kind, Reason, because, name, reason_of
from calm.core.recipes import Recipe
from calm.core.trials import CUED, PLAIN
from calm.core.verdict import NoReply, Preferred, Ranking, Verdict
from calm.engine.asks import PlainQuestion
from calm.errors import TooLongError
from calm.experiment.equal import SIDES, equal_pair
from calm.experiment.inert import BYLINES, HISTORIES, LEAST_WORDS, TESTS_LENGTH, even, floor_of, worded
from calm.experiment.pairs import Pair, Pairing, edited_by, unseen
from calm.experiment.setup import Setup, clusters_of

LENGTHS: Final = (5, 10, 15, 20, 30, 40, 50)
"""The lengths of inert words beside a cue, in words: more of them than in an arm that many probes share."""
AMONG: Final = 40
"""So many pairs are shown under all variants before others are."""


@dataclass(frozen=True, slots=True)
class Crossed(Pair):
    """
    A pair of equal answers under one variant of an edit.

    `sides` makes the case with the cue on the answer of a slot, in one of several forms of the inert words. Asks
    alternate between the slots, from `first` on. `without` is the case without a cue. `anew`: the judge can be asked
    again, so further asks have other inert words.
    """

    sides: Callable[[int, int], Recipe[Case]] = field(kw_only=True, compare=False)
    without: Recipe[Case] = field(kw_only=True, compare=False)
    anew: bool = field(kw_only=True)
    first: int = field(kw_only=True, default=0)

    def ask(self, number: int) -> tuple[Recipe[Case], int]:
        """Return the case and the repeat index of one ask, counted from 1; each further form has other inert words."""
        form, turn = divmod(number - 1, 2)
        slot = self.first if turn == 0 else 1 - self.first
        plain = self.sides(slot, 0)
        shown = self.sides(slot, form) if self.anew else plain
        return shown, form + 1 if shown is plain else 1


@dataclass(slots=True)
class Equals:
    """
    The equal pairs of a probe, and which of them are asked under which variant.

    Rows go through the pairs in rounds; in each round a pair is shown under another variant. So each variant gets as
    many rows as any other, and each row of a round is about another pair.
    """

    setup: Setup
    edit: AnyEdit | None
    pairing: Pairing
    _bases: list[tuple[Case, Case, str]] = field(default_factory=list)
    _pilots: dict[str, Verdict] = field(default_factory=dict)
    _made: dict[tuple[int, int], Crossed | Reason] = field(default_factory=dict)
    _round: list[Crossed] = field(default_factory=list)
    _next: int = 0
    _seen: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, setup: Setup, edit: AnyEdit | None) -> Equals:
        """Return the equal pairs of a run in the order in which a probe asks about them."""
        cases = setup.equals or setup.cases
        if isinstance(edit, Edit):
            edit = edit.within(())
        start = 0.0 if edit is None else start_of(edit.bias, len(cases))
        clusters = once(setup.memo, partial(clusters_of, cases), cases, "clusters")
        drawn = sorted(cases, key=lambda case: place_of(setup.seed, case.id, start))
        found = cls(setup, edit, Pairing(setup, edit, plain=False))
        found._bases = [
            (case, once(setup.memo, partial(equal_pair, case), (case,), "equal"), clusters[case.id]) for case in drawn
        ]
        return found

    @property
    def variants(self) -> tuple[AnyEdit, ...]:
        """The variants of the edit; itself if it is no rotation."""
        return () if self.edit is None else tuple(self.edit.variants) or (self.edit,)

    def without_cue(self, count: int) -> list[Pair]:
        """Return the first so many pairs as they are, to be asked in both orders."""
        made = []
        for case, base, cluster in self._bases[:count]:
            shown = Recipe(even(_called(base, base.slots[0])))
            turned = Recipe(shown().arranged(shown.slots[::-1]))
            made.append(Pair(case, shown, shown, turned, hash=case.identity(), cluster=cluster))
        self.pairing.pairs = list(made)
        return made

    @property
    def questions(self) -> int:
        """How many questions the pairs are about."""
        return len({cluster for _, _, cluster in self._bases})

    def __len__(self) -> int:
        return len(self._bases)

    def rows(self, count: int) -> list[Crossed]:
        """
        Return the first so many rows of a round, one for each pair; fewer where no more apply.

        Where the variant that is due does not apply, the next one is tried. Why a pair is left out is counted.
        """
        variants = len(self.variants)
        while len(self._round) < count and self._next < len(self):
            place, self._next = self._next, self._next + 1
            reasons: list[Reason] = []
            row: Crossed | Reason = because(Kind.APPLIES_NOT)
            for k in range(variants):
                row = self._row(place, (place + k) % variants)
                if isinstance(row, Crossed):
                    break
                reasons.append(row)
            if isinstance(row, Crossed):
                self._round.append(row)
            else:
                self.pairing.excluded[next((r for r in reasons if r.kind is not Kind.APPLIES_NOT), reasons[0])] += 1
        return self._round[:count]

    def under(self, variant: int) -> Iterator[Crossed]:
        """
        Yield all pairs to which a variant applies: first those that a round shows under it, of the first pairs alone.

        So a pair without a cue, which all of them are compared with, serves many variants.
        """
        count = len(self.variants)
        for place in sorted(range(len(self)), key=lambda place: (place // AMONG, (variant - place) % count)):
            row = self._row(place, variant)
            if isinstance(row, Crossed):
                yield row

    def _row(self, place: int, variant: int) -> Crossed | Reason:
        """Return the pair at a place under a variant, or why there is none."""
        if (place, variant) not in self._made:
            self._made[place, variant] = self._cross(*self._bases[place], self.variants[variant])
        return self._made[place, variant]

    def piloted(self, rows: Sequence[Crossed]) -> list[Crossed]:
        """Return rows as they are asked once the judge has said what it does without a cue; a lost one leaves."""
        wanted = {row.source.id: row for row in rows if row.source.id not in self._pilots}
        questions = [PlainQuestion(self.setup.judge, row.without, 1) for row in wanted.values()]
        for case_id, judgment in zip(wanted, self.setup.engine.ask_each(questions), strict=True):
            if isinstance(judgment.verdict, NoReply) and case_id not in self._pilots:
                self.pairing.lost[reason_of(judgment.verdict.reason)] += 1
            self._pilots[case_id] = judgment.verdict
        known = [(row, self._pilots[row.source.id]) for row in rows]
        ready = [_after(row, pilot) for row, pilot in known if not isinstance(pilot, NoReply)]
        self.pairing.pairs += [row for row in ready if (row.source.id, row.variant) not in self._seen]
        self._seen |= {(row.source.id, row.variant) for row in ready}
        return ready

    def _cross(self, source: Case, base: Case, cluster: str, variant: AnyEdit) -> Crossed | Reason:
        """Return an equal pair under one variant, or why it cannot be asked about."""
        setup = self.setup
        if isinstance(variant, PromptEdit):
            return because(Kind.NO_SIDE)
        shown = _both(setup, variant, base, 0)
        if isinstance(shown, Reason):
            return shown
        sided = not shown[0].equals(_renamed(shown[1], {CUED: PLAIN, PLAIN: CUED}))
        judge, clean = setup.judge, _called(base, base.slots[0])
        without = even(clean)
        if [one.text for one in without.answers] == [one.text for one in shown[0].answers]:  # the cue is beside them
            clean = without
        try:
            seen = judge.sees(shown[0])
            if not sided or seen == judge.sees(shown[1]):
                blind = sided or seen == judge.sees(clean)
                return unseen(judge, clean.differences(shown[0])) if blind else because(Kind.NO_SIDE)
        except TooLongError as error:
            return because(Kind.EDIT_TOO_LONG, name(error.model), error.window, name(base.id))
        recipes: dict[int, tuple[Recipe[Case], ...]] = {}

        def held(cases: tuple[Case, Case], form: int) -> tuple[Recipe[Case], ...]:
            makes = (partial(_again, setup, variant, base, form, slot) for slot in range(2))
            return tuple(recipe(setup.memo, case, make) for case, make in zip(cases, makes, strict=True))

        def sides(slot: int, form: int) -> Recipe[Case]:
            if form not in recipes:
                made = _both(setup, variant, base, form)
                recipes[form] = recipes[0] if isinstance(made, Reason) else held(made, form)  # it cannot follow them
            return recipes[form][slot]

        recipes[0] = held(shown, 0)
        return Crossed(
            source=source,
            clean=clean,
            shown=recipes[0][0],
            turned=recipes[0][1],
            variant=variant.label,
            changed=clean.differences(shown[0]),
            hash="" if setup.counting else shown[0].identity(),
            cluster=cluster,
            treatment=Treatment(CUED),
            memo=setup.memo,
            sides=sides,
            without=Recipe(without),
            anew=setup.repeatable,
        )


def _after(row: Crossed, pilot: Verdict) -> Crossed:
    """Return a row with the cue first on the answer that did not win without it; on the first one where none did."""
    winner = None
    if isinstance(pilot, Preferred):
        winner = pilot.answer
    elif isinstance(pilot, Ranking) and len(pilot.order[0]) == 1:
        winner = pilot.order[0][0]
    slots = row.base.slots
    drawn = int(digest("side", row.source.id, row.variant), 16) % 2
    return changed(row, pilot=pilot, first=drawn if winner is None else 1 - slots.index(winner))


def _again(setup: Setup, variant: Edit, base: Case, form: int, slot: int) -> Case:
    made = _both(setup, variant, base, form)
    assert not isinstance(made, Reason), "it was made once"
    return made[slot]


def _both(setup: Setup, variant: Edit, base: Case, form: int) -> tuple[Case, Case] | Reason:
    """Return the pair with the cue in its first slot, and in its second, beside inert words; or why there is none."""
    start = worded(base, form) if form else base
    edited: list[Treated] = []
    for side in base.slots:
        one = edited_by(variant, start.treat(side), setup.seed)
        if isinstance(one, Reason):
            return one
        if {answer.id for answer in one.answers} != set(SIDES) or one.target != side:
            return because(Kind.NO_SIDE)
        edited.append(one)
    first, second = edited
    return _beside(variant, start, first, second, form + 1), _beside(variant, start, second, first, form + 1)


def _beside(variant: Edit, start: Case, edited: Treated, twin: Treated, number: int) -> Case:
    """Return an edited pair with inert words on the other answer; `twin` has the edit there."""
    case, other = edited.untreated(), str(twin.target)
    if variant.bias not in TESTS_LENGTH:
        case = _with_inert(start, case, twin, number, other=other)
    if len({answer.text for answer in case.answers}) == 1:
        case = even(case)
    return _called(case, str(edited.target))


def _with_inert(start: Case, case: Case, twin: Treated, number: int, *, other: str) -> Case:
    """Return the case with inert words on the other answer where the edit said something of its own."""
    parts = start.differences(case)
    if "bylines" in parts and not case.bylines.get(other):
        case = case.present(bylines={**case.bylines, other: BYLINES[number % len(BYLINES)]})
    if "drafts" in parts and case.history(case[other]) == start.history(start[other]):
        case = case.drafted(other, HISTORIES[number % len(HISTORIES)])
    about = start.treat(other), case, twin.untreated()
    said = spoken_words(twin[other].text) - spoken_words(start[other].text)
    if "answers" in parts and said >= LEAST_WORDS:
        return floor_of(*about, frozenset({"answers"}), number, classes=LENGTHS).case
    if "notes" in parts and twin.notes != case.notes:
        return floor_of(*about, frozenset({"notes"}), number).case
    return case


def _called(case: Case, side: str) -> Case:
    """Return the pair with one answer called cued and the other plain; no judge is shown these names."""
    return _renamed(case, {one: CUED if one == side else PLAIN for one in SIDES})


def _renamed(case: Case, ids: Mapping[str, str]) -> Case:
    """Return the pair with other ids of its answers."""
    named = replace(case, answers=tuple(replace(answer, id=ids[answer.id]) for answer in case.answers))
    return named.present(
        order=tuple(ids[one] for one in case.slots),
        bylines={ids.get(one, one): text for one, text in case.bylines.items()},
        drafts={ids.get(one, one): texts for one, texts in case.drafts.items()},
    )
