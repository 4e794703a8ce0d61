"""
The plan of a run: which prompts its probes take, case by case, found before any call is made.

A plan is a look-ahead that is not sent: a `PlanSink` collects the orders of each test, `survey` finds what they ask.
Prices, the fit into a budget, and the text of a plan each have a module of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from calm.cases import sample
from calm.core.case import TIE, Case, digest
from calm.core.claims import Claim
from calm.core.edits import AnyEdit, Edit, Expects
from calm.core.measures import MEASURES, readable_rate
from calm.core.order import made
from calm.core.reasons import NONE, Kind, Reason, because, counted
from calm.core.verdict import Preferred, Ranking, Task, Tie, Unreadable, Verdict
from calm.engine.thread import RareCollections
from calm.errors import EstimateError
from calm.experiment.crossing import (
    CrossDesign,
    CrossInputs,
    TableJudge,
    arranged_for,
)
from calm.experiment.edited import Pair
from calm.experiment.inert import CLASSES
from calm.experiment.lookahead import Order
from calm.experiment.pairs import aims_by_pilot, open_to_pilot, pair_up, piloted, wants_pilot
from calm.experiment.pulls import Equals
from calm.experiment.run import alone, check
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design, Stopping
from calm.gate.requests import Prompts, Rendering, RequestFinder, RequestFinders, Source, StandIn, stage
from calm.gate.resolution import foreseen
from calm.models.wire import Judge

PILOT, CLEAN, INERT, PERTURBED = "pilot", "clean arm", "inert arm", "perturbed arm"
CROSS = "judges and authors"
"""The arm of a cross of judges and authors: each answer is asked about once."""
_PILOTS = (
    "cases without a gold label: that each pilot names an answer, one with which the edit applies; "
    "rows with such cases are 'up to'"
)


@dataclass(frozen=True, slots=True, eq=False)
class PlanEntry:
    """
    What one question of a test asks: its order, and beside it those of variants and control.

    `conditional`: an earlier claim of its test may end the test before it is asked. `wanted`: what a cross of judges
    and authors is made of, if this is one.
    """

    order: Order
    beside: tuple[Order, ...] = ()
    conditional: bool = False
    wanted: CrossInputs | None = None


@dataclass(slots=True)
class PlanRecord:
    """What all traced tests ask, and the run's cases."""

    entries: list[PlanEntry] = field(default_factory=list)
    cases: Sequence[Case] | None = None


class PlanSink:
    """The sink of a plan: collects the entries of one test behind those of the tests before it."""

    def __init__(self, record: PlanRecord) -> None:
        self._entries, self._first = record.entries, len(record.entries)

    @property
    def _conditional(self) -> bool:
        return any(entry.order.claims for entry in self._entries[self._first :])

    def take(self, orders: Sequence[Order]) -> None:
        """Add an entry."""
        order, *beside = orders
        self._entries.append(PlanEntry(order, tuple(beside), self._conditional))

    def take_cross(self, order: Order, wanted: Callable[[], CrossInputs]) -> None:
        """Add an entry about authors and judges."""
        self._entries.append(PlanEntry(order, (), self._conditional, wanted()))


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What the options of a run say of its size."""

    sample: int = 200
    seed: int = 0
    design: Design = field(default_factory=Design)
    stopping: Stopping = Stopping.SEQUENTIAL
    every_variant: bool = False


class CaseArm(NamedTuple):
    """
    A case in one arm of a probe. `shared`: it counts in the arm's row. `owner`: the judge, where several are planned.

    Ask after ask takes the next of its prompts, and the first again after the last.
    """

    case: str
    arm: str
    prompts: Sequence[Rendering]
    sampled: bool
    shared: bool = False
    owner: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ProbeRow:
    """
    A probe and the prompts that it takes.

    `staged`: undecided claims are topped up. `open`: a pilot may leave cases out. `ruled`: it has claims, so a run that
    stops early may end it early. `claims`: those that a green gate needs. `alone`: there is no clean arm. `variants`:
    how many its rotation has; `worst`: each of them is decided on by itself, too. `lengths`: of how many lengths the
    inert words of its variants can be. `order`: what is asked, but of judges and authors.
    """

    name: str
    units: tuple[CaseArm, ...]
    staged: bool = False
    open: bool = False
    ruled: bool = False
    edited: bool = False
    alone: bool = False
    claims: tuple[Claim, ...] = ()
    expects: Expects | None = None
    variants: int = 1
    worst: bool = False
    lengths: int = 1
    order: Order | None = None
    equal: int = 0
    """How often each pair of equal answers is asked about at most; 0: it is about the cases as they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What the probes of a run take, whatever the sample and the design."""

    judge: str
    task: Task
    settings: PlanSettings
    cases: tuple[str, ...]
    """The ids of the cases in the order in which a sample takes them."""
    there: int
    """How many cases there are: more than are in the sample, where one was drawn."""
    rows: tuple[ProbeRow, ...]
    sources: tuple[Source, ...]
    skipped: tuple[tuple[str, str], ...]
    assumed: tuple[str, ...]
    floors: tuple[tuple[str, str], ...] = ()
    """Tests that need a number before they go on, and where. What they ask after that is not known here."""
    sampled: tuple[Case, ...] = ()
    finders: RequestFinders = field(default_factory=RequestFinders)
    """What finds the requests of its judges, with all that was found so far."""


def survey(entries: Sequence[PlanEntry], judge: Judge, cases: Sequence[Case], settings: PlanSettings) -> Survey:
    """
    Return what the probes of a run take; no judge is asked.

    The cases are those of the run, of which a sample is taken; the orders name the judges.

    Raises:
        CalmError: a probe that would end in an error in the run, too.
    """
    chosen = tuple(sample(cases, settings.sample, settings.seed))
    surveyor = _Surveyor(settings, chosen)
    with RareCollections():
        for entry in entries:
            surveyor.take(entry)
    return surveyor.survey(judge.name, judge.task, chosen, len(cases))


def survey_clean(judge: Judge, cases: Sequence[Case], settings: PlanSettings) -> Survey:
    """Return what a judge takes that is asked about the cases as they are; no judge is asked."""
    chosen = tuple(sample(cases, settings.sample, settings.seed))
    surveyor = _Surveyor(settings, chosen)
    surveyor.take(PlanEntry(Order(Setup(judge, chosen, stage()), None, (), (readable_rate,))))
    return surveyor.survey(judge.name, judge.task, chosen, len(cases))


def survey_cross(crossing: CrossDesign) -> Survey:
    """Return what judges take that are asked about the answers of all authors, once each; no judge is asked."""
    surveyor = _Surveyor(PlanSettings(design=Design(1, 0)), ())
    surveyor.cross(crossing, "")
    names = ", ".join(member.name for member in crossing.members)
    return surveyor.survey(names, crossing.members[0].task, crossing.cases, len(crossing.cases))


class _Surveyor:
    """Goes through the probes and gathers their rows."""

    def __init__(self, settings: PlanSettings, sample: tuple[Case, ...]) -> None:
        self._settings, self._sample = settings, sample
        self._finders = RequestFinders()
        self.rows: list[ProbeRow] = []
        self.skipped: list[tuple[str, str]] = []

    def survey(self, judge: str, task: Task, cases: Sequence[Case], there: int) -> Survey:
        """Return what was gathered about these cases, of so many."""
        return Survey(
            judge,
            task,
            self._settings,
            tuple(case.id for case in cases),
            there,
            rows=tuple(self.rows),
            sources=tuple(self._finders.sources),
            skipped=tuple(self.skipped),
            assumed=tuple(dict.fromkeys(self._finders.assumed)),
            sampled=self._sample,
            finders=self._finders,
        )

    def take(self, entry: PlanEntry) -> None:
        """Add the rows of an entry, or the reasons why nothing is asked."""
        if entry.wanted is not None and not entry.order.idle:
            self._cross(entry.order, entry.wanted)
            return
        for order in (entry.order, *entry.beside):
            if reason := order.unserved or _nothing_asked(order):
                self.skipped.append((order.title, str(reason)))
                continue
            crossed, rest = order.parted()
            if crossed is not None:
                row = self._of_equals(order)
                self.rows.append(replace(row, order=order) if rest is None else row)
            if rest is not None:
                before = len(self.skipped)
                row = self._row(rest, conditional=entry.conditional)
                self.rows.append(replace(row, order=order))
                if crossed is not None:  # the other half of it is asked
                    named = [(f"{name}: pairs with a better answer", why) for name, why in self.skipped[before:]]
                    self.skipped[before:] = named

    def _of_equals(self, order: Order) -> ProbeRow:
        """Return what an order asks of pairs of equal answers at most: of about the size of the pairs without a cue."""
        setup = order.setup if order.own_cases or order.setup.equals else replace(order.setup, cases=self._sample)
        equals = Equals.of(setup, order.edit)
        pairs = equals.without_cue(len(equals))
        prompts = self._finders.of(order.setup.judge).prompts([pair.base for pair in pairs])
        own = not order.own_cases and not order.setup.equals
        units = tuple(CaseArm(case.id, PERTURBED, (prompt,), own) for case, prompt in prompts)
        asks = 2 if order.edit is None else 4 * len(equals.variants) + 1
        name = f"{order.title}: equal answers"
        return ProbeRow(name, units, edited=True, alone=True, variants=len(equals.variants), equal=asks)

    def _row(self, order: Order, *, conditional: bool) -> ProbeRow:
        edit, judge = order.edit, order.setup.judge
        cases = order.setup.cases if order.own_cases else self._sample
        memo, settings = self._finders.of(judge).memo, self._settings
        setup = Setup(judge, cases, stage(), settings.seed, settings.design, memo=memo, counting=True)
        pairs, excluded, wanting, unsure = _paired(setup, edit, order.against)
        units = self._units(order, setup, wanting, pairs)
        if not pairs:
            self.skipped.append((order.title, str(counted(excluded) or because(Kind.NO_CASES))))
        if unsure:
            self._finders.assumed.append(_PILOTS)
        return ProbeRow(
            order.title,
            tuple(units),
            staged=self._staged(order, setup),
            open=unsure or conditional or judge.traits.at_most,
            ruled=bool(order.claims),
            edited=edit is not None,
            alone=alone(edit, order.setup.family),
            claims=foreseen(order, len({pair.cluster for pair in pairs})) if order.top_up else (),
            expects=edit.expects if edit is not None else None,
            variants=max(1, len(edit.variants)) if edit is not None else 1,
            worst=any(MEASURES[c.measure].worst_of for c in order.claims),
            lengths=len(CLASSES) if edit and any(isinstance(one, Edit) for one in edit.variants[1:]) else 1,
            order=order,
        )

    def _staged(self, order: Order, setup: Setup) -> bool:
        """Return whether undecided claims of an order are topped up."""
        return (
            order.top_up and setup.repeatable and bool(order.claims) and self._settings.stopping is not Stopping.ANYTIME
        )

    def _units(self, order: Order, setup: Setup, wanting: Sequence[Case], pairs: Sequence[Pair]) -> list[CaseArm]:
        """Return each case in each arm, with the prompts that it takes there."""
        edit, finder, sampled = order.edit, self._finders.of(order.setup.judge), not order.own_cases
        by_itself = alone(edit, order.setup.family)
        shown_to_pilot = [made(piloted(case, setup)) for case in wanting]
        units = [CaseArm(case.id, PILOT, (p,), sampled, True) for case, p in finder.prompts(shown_to_pilot)]
        judges, controls = [pair.judge for pair in pairs], [pair.control for pair in pairs]
        stages = setup.design.stages()
        first, last = stages[-1 if self._staged(order, setup) else 0], stages[-1]
        if not by_itself:
            bases = _rendered(finder, [[pair.base] for pair in pairs], controls)
            units += [
                CaseArm(p.source.id, CLEAN, shown, sampled, order.against is None)
                for p, shown in zip(pairs, bases, strict=True)
            ]
        if has_floor(order, setup):
            floors = [partial(_floor, pair) for pair in pairs]
            inert = _prompts(finder, floors, controls, first=first.inert, most=last.inert)
            units += [CaseArm(p.source.id, INERT, shown, sampled, True) for p, shown in zip(pairs, inert, strict=True)]
        if edit is not None:
            several = len(edit.variants) > 1  # then each further ask shows another variant, of about this size
            most = 1 if several else last.perturbed
            asks = [partial(_edited, pair) for pair in pairs]
            edited = _prompts(finder, asks, judges, first=min(most, first.perturbed), most=most)
            units += [CaseArm(p.source.id, PERTURBED, shown, sampled) for p, shown in zip(pairs, edited, strict=True)]
        return units

    def _cross(self, order: Order, wanted: CrossInputs) -> None:
        """Add a row for each judge that is asked about the answers of all authors, once each."""
        if isinstance(order.setup.judge, TableJudge):
            return
        try:
            measures = [claim.measure for claim in order.claims]
            crossing = arranged_for(order.setup.judge, wanted, self._settings.seed, measures)
        except EstimateError as error:
            self.skipped.append((order.title, str(error)))
            return
        self.cross(crossing, order.title)

    def cross(self, crossing: CrossDesign, title: str) -> None:
        """Add a row for each judge of a crossing that is to be asked."""
        for place, member in enumerate(crossing.members):
            if member.judge is None:
                continue
            shown = self._finders.of(member.judge).prompts([member.asked(case) for case in crossing.cases])
            prompts = [(case, Rendering(digest(member.name, prompt.key), prompt.calls)) for case, prompt in shown]
            units = tuple(CaseArm(case.id, CROSS, (prompt,), False) for case, prompt in prompts)
            name = ": ".join(part for part in (title, member.name if place or not title else "") if part)
            self.rows.append(ProbeRow(name, units))


def _rendered(
    finder: RequestFinder, cases: Sequence[Sequence[Case]], judges: Sequence[Judge | None]
) -> list[tuple[Rendering, ...]]:
    """Return the prompts of each sequence of cases, as its judge renders them; all of them in one go."""
    flat = [(case, judge) for each, judge in zip(cases, judges, strict=True) for case in each]
    prompts = iter(finder.prompts([case for case, _ in flat], [judge for _, judge in flat]))
    return [tuple(prompt for _, prompt in islice(prompts, len(each))) for each in cases]


def _prompts(
    finder: RequestFinder,
    asks: Sequence[Callable[[int], Case]],
    judges: Sequence[Judge | None],
    *,
    first: int,
    most: int,
) -> list[Prompts]:
    """Return the prompts of the asks of each pair: those of the first asks together, the others when wanted."""
    together = _rendered(finder, [[ask(number) for number in range(1, first + 1)] for ask in asks], judges)

    def later(ask: Callable[[int], Case], judge: Judge | None, number: int) -> Rendering:
        return finder.prompts([ask(number)], [judge])[0][1]

    return [
        Prompts(found, most, partial(later, ask, judge))
        for found, ask, judge in zip(together, asks, judges, strict=True)
    ]


def _floor(pair: Pair, number: int) -> Case:
    return pair.floor(number).case


def _edited(pair: Pair, number: int) -> Case:
    return pair.ask(number)[0]()


def has_floor(order: Order, setup: Setup) -> bool:
    """Return whether an order has an inert arm."""
    if order.edit is None or alone(order.edit, setup.family) or not setup.repeatable:
        return False
    return any(m.floored for m in (*(MEASURES[c.measure] for c in order.claims), *order.observed))


def _nothing_asked(order: Order) -> Reason:
    """Return the reason why an order asks nothing at all, or `NONE`."""
    family = order.setup.family
    if not order.claims and not order.observed:
        return because(Kind.NOTHING_CLAIMED, family)
    check(order.edit, [*order.claims, *(Claim(m.name, "<=", 0.0) for m in order.observed)], family)
    for each in (order.edit, order.against):
        if each is not None and family not in each.tasks:
            return because(Kind.OWN_TASKS, ", ".join(each.tasks), order.setup.judge.task)
    return NONE


def _paired(
    setup: Setup, edit: AnyEdit | None, against: AnyEdit | None
) -> tuple[list[Pair], Counter[Reason], list[Case], bool]:
    """
    Return the pairs to ask, the cases left out by reason, the piloted cases, and whether a pilot can change any of it.

    A pilot can give several verdicts. One with which the edit applies is assumed, if there is one.
    """
    choices = 1
    if edit is not None and any(open_to_pilot(case) for case in setup.cases):
        choices = max(len(case.answers) for case in setup.cases)
    best: dict[str, Pair] = {}
    stand_in, excluded = StandIn(setup.judge), Counter[Reason]()
    for choice in reversed(range(choices)):
        stand_in = StandIn(setup.judge, {case.id: _pilot(case, choice) for case in setup.cases})
        pairing = pair_up(replace(setup, judge=stand_in), edit, against)
        excluded = pairing.excluded
        best |= {pair.source.id: pair for pair in pairing.pairs}
    ordered = sorted(best.values(), key=lambda pair: digest("sample", setup.seed, pair.source.id))
    wants = [pair.source for pair in ordered if edit is not None and wants_pilot(pair.source, edit.expects)]
    unsure = any(open_to_pilot(case) for case in wants)
    aimed = [case for case in setup.cases if edit is not None and aims_by_pilot(case, edit.expects)]
    wanting = {case.id: case for case in (*wants, *aimed)}
    return ordered, excluded, [wanting[name] for name in sorted(wanting)], unsure


def _pilot(case: Case, choice: int) -> Verdict:
    """Return the gold label as a verdict; where there is none, one of those that can be."""
    ids = [a.id for a in case.answers]
    if len(ids) == 1:
        return Unreadable("planned, not asked")
    if len(ids) > 2:
        turn = choice % len(ids)
        return Ranking(tuple((i,) for i in ids[turn:] + ids[:turn]))
    if case.better == TIE:
        return Tie()
    return Preferred(case.better or ids[choice % 2])
