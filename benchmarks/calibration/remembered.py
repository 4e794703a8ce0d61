"""
What does not depend on the seed of a judge, made once: edited cases, inert forms, levels, and the values of a row.

Nothing here changes a number. `Memory.remembering` puts functions that remember in the place of the product's own for
as long as gates run; what is only shown (texts, flips) is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast
from unittest.mock import patch

from calm.core import measures
from calm.core.case import Case, changed, digest
from calm.core.edits import AnyEdit
from calm.core.measures import MEASURES, Flips, Measure
from calm.core.order import Recipe, made
from calm.core.reasons import Reason
from calm.core.texts import CaseTexts
from calm.core.trials import Trial, Trials
from calm.core.verdict import Scale, Verdict
from calm.engine.asks import Judgment
from calm.engine.engine import Engine
from calm.experiment import (
    pairs,
    pulls,
    stopping,
    worst,
)
from calm.experiment import (
    pulls as crosswise,
)
from calm.experiment import run as experiment
from calm.experiment.arms import Arms, Row
from calm.experiment.edited import Pair, with_pilot
from calm.experiment.inert import Floor, pilot_of
from calm.experiment.pairs import Pairing, pair_up
from calm.experiment.pulls import Crossed, Equals
from calm.experiment.setup import Setup
from calm.experiment.stopping import Asks
from calm.models.wire import Judge
from calm.results import findings
from calm.results import pairing as pooled_module
from calm.results.audit import Finding, TrialRecord
from calm.statistics import intervals
from calm.statistics.sequential import nominal_levels

if TYPE_CHECKING:
    from benchmarks.calibration.harness import Prompt, SimulatedEngine

_levels = lru_cache(maxsize=None)(nominal_levels)


_digest = lru_cache(maxsize=None)(digest)
_clopper_pearson = lru_cache(maxsize=None)(intervals.clopper_pearson)


def _nominal_levels(spent: Sequence[float], information: Sequence[float]) -> tuple[float, ...]:
    return _levels(tuple(spent), tuple(information))


class _Nobody:
    """Stands where an engine would, and is asked nothing."""

    def ask_each(self, questions: Sequence[object]) -> list[object]:
        """Return no verdicts on no questions."""
        assert not questions, "gold chooses the targets"
        return []


class Template:
    """The pairing of a probe before anything is asked; all runs of the probe start from it."""

    def __init__(
        self, name: str, setup: Setup, edit: AnyEdit | None, against: AnyEdit | None, *, ties: bool = False
    ) -> None:
        asked = replace(setup, engine=cast(Engine, _Nobody()))
        self.name, self.edit, self.against = name, edit, against
        self.pairing = pair_up(asked, edit, against, ties=ties)
        self.first = {pair.source.id: pair for pair in self.pairing.pairs}
        self.exhausted: set[str] = set()
        self.variants: dict[tuple[str, str], Pair | None] = {}


class Remembered(Pairing):
    """A pairing that takes its cases from a template, and pilots and rooms from the run."""

    template: Template
    memory: Memory

    @classmethod
    def of(cls, template: Template, setup: Setup, memory: Memory) -> Remembered:
        """Return a pairing of which nothing was asked yet."""
        known = template.pairing
        found = cls(
            setup,
            known.edit,
            plain=known.plain,
            pairs=list(known.pairs),
            excluded=Counter(known.excluded),
            _starts=dict(known._starts),
            _under={case: under[:1] for case, under in known._under.items()},
        )
        found.template, found.memory = template, memory
        return found

    def under(self, pair: Pair, count: int) -> list[Pair]:
        """Return a case under so many variants, as the product does, each edited once for all runs."""
        case = pair.source.id
        known = self._under.get(case)
        if known is None or self.edit is None or count <= len(known) or not self.edit.variants:
            return [pair] if known is None else known[:count]
        shared = self.template.pairing
        if case not in self.template.exhausted:
            before = len(shared._under[case])
            shared.under(self.template.first[case], count)
            for one in shared._under[case][before:]:
                self.memory.note(one, self.template)
            if len(shared._under[case]) < count:
                self.template.exhausted.add(case)
        pilot = self._starts[case][1].pilot
        for one in shared._under[case][len(known) : count]:
            known.append(one if pilot is None else self.memory.with_pilot(self.setup, self.edit, one, pilot))
        return known[:count]

    def as_variant(self, pair: Pair, variant: AnyEdit) -> Pair | None:
        """Return a case under one variant, edited once for all runs."""
        case = pair.source.id
        key = case, variant.label
        if key not in self.template.variants:
            found = self.template.pairing.as_variant(self.template.first[case], variant)
            self.template.variants[key] = found
            if found is not None:
                self.memory.note(found, self.template)
        found = self.template.variants[key]
        pilot = self._starts[case][1].pilot
        return found if found is None or pilot is None else self.memory.with_pilot(self.setup, variant, found, pilot)


class RememberedEquals(Equals):
    """Equal pairs that are crossed with a variant once for all runs; what the judge does without a cue is the run's."""

    template: Equals
    plain: list[Pair]
    seen: Callable[[Crossed], Crossed]

    @classmethod
    def like(
        cls, template: Equals, plain: list[Pair], setup: Setup, seen: Callable[[Crossed], Crossed]
    ) -> RememberedEquals:
        """Return equal pairs of which nothing was asked yet; `plain` are those without a cue."""
        found = cls(setup, template.edit, Pairing(setup, template.edit, plain=False))
        found._bases, found._made = template._bases, template._made
        found.template, found.plain, found.seen = template, plain, seen
        return found

    def without_cue(self, count: int) -> list[Pair]:
        """Return the first so many pairs as they are, made once for all runs."""
        self.pairing.pairs = self.plain[:count]
        return self.plain[:count]

    def _row(self, place: int, variant: int) -> Crossed | Reason:
        new = (place, variant) not in self._made
        row = self.template._row(place, variant)
        if new and isinstance(row, Crossed):
            row = self._made[place, variant] = self.seen(row)
        return row


class QuickArms(Arms):
    """Arms that make the questions of a row once for all runs, and its trial once for each set of verdicts."""

    def __init__(self, memory: Memory, setup: Setup, pairing: Pairing, *, has_clean: bool, has_floor: bool) -> None:
        super().__init__(setup, pairing, has_clean=has_clean, has_floor=has_floor)
        self._memory = memory
        self._shape = has_clean, has_floor

    def ask_rows(self, rows: Sequence[Row], asks: Asks) -> Trials:
        """Return the trials of some rows, in their order; no law loses a reply."""
        memory = self._memory
        wanted = [self._wanted(row, asks) for row in rows]
        engine = cast("SimulatedEngine", self._setup.engine)
        answers = iter(engine.answer([one for arms in wanted for arm in arms for one in arm]))
        found = []
        for row, (clean, inert, perturbed) in zip(rows, wanted, strict=True):
            given = [tuple(islice(answers, len(arm))) for arm in (clean, inert, perturbed)]
            key = id(row.pair), *(tuple(map(id, arm)) for arm in given)
            known = memory.trials.get(key)
            if known is None:
                shown = [row.pair.ask(number + 1)[0].slots for number in range(len(given[2]))]
                one, other, third = ([Judgment(v) for v in arm] for arm in given)
                if other:
                    self._floors[row.pair.source.id, row.pair.variant, 1] = row.pair.floor(1)
                trial = self._trial(row.pair, one, other, third, shown)
                assert isinstance(trial, Trial), "every ask has a reply"
                known = memory.trials[key] = row.pair, trial
            found.append(known[1])
        edited = self._pairing.edit is not None
        said = f"{asks.clean if self._has_clean else 0}+{asks.perturbed if edited else 0}"
        scale = self._setup.judge.scale
        return Trials(tuple(found), self._setup.family, scale, self._pairing.excluded, {}, said)

    def asks_for(self, n: int, asks: Asks) -> int:
        """Return nothing: what was planned is in no figure."""
        return 0

    def texts(self, trials: Trials) -> tuple[CaseTexts, ...]:
        """Return nothing: texts are only shown."""
        return ()

    def _wanted(self, row: Row, asks: Asks) -> tuple[list[tuple[Prompt, int]], ...]:
        key = id(row.pair), self._shape, asks.clean, asks.inert, row.perturbed
        known = self._memory.wanted.get(key)
        if known is None:
            arms = self._questions(row, asks)
            prompts = tuple([(self._memory.prompt(case), ask) for _, case, ask in arm] for arm in arms)
            known = self._memory.wanted[key] = row.pair, prompts
        return known[1]


MOST: Final = 200_000
"""Trials that are remembered at most."""


class Memory:
    """The cases of a gate as prompts, and what is remembered of them."""

    def __init__(self, cases: Sequence[Case], judge: Judge, equals: Sequence[Case] = ()) -> None:
        self.judge = judge
        self._place = {case.id: place for place, case in enumerate(cases)}
        self._equal_place = {case.id: place for place, case in enumerate(equals)}
        self._templates: dict[tuple[int, int, bool], Template] = {}
        self._equals: dict[int, tuple[AnyEdit | None, Equals, list[Pair]]] = {}
        self._sided: dict[tuple[int, int], tuple[Crossed, Verdict, Crossed]] = {}
        self._prompts: dict[int, tuple[Case | Recipe[Case], Prompt]] = {}
        self._contents: dict[str, Prompt] = {}
        self._floors: dict[tuple[object, ...], Floor] = {}
        self._pilots: dict[int, tuple[Case, Case]] = {}
        self._piloted: dict[tuple[int, int], tuple[Pair, Verdict | None, Pair]] = {}
        self._asks: dict[tuple[int, int, int], tuple[Pair, tuple[Recipe[Case], int]]] = {}
        self._shown: dict[int, tuple[Case, tuple[str, ...]]] = {}
        self._rows: dict[int, tuple[Finding, Trials]] = {}
        self._records: dict[tuple[int, bool, bool], tuple[Trial, TrialRecord]] = {}
        self.trials: dict[tuple[object, ...], tuple[Pair, Trial]] = {}
        self.wanted: dict[tuple[object, ...], tuple[Pair, tuple[list[tuple[Prompt, int]], ...]]] = {}

    def prompt(self, case: Case | Recipe[Case]) -> Prompt:
        """Return what is known of a case as it is shown."""
        known = self._prompts.get(id(case)) or self._prompts[id(made(case))]
        return known[1]

    def recognised(self, case: Case) -> Prompt:
        """Return what is known of a case that is shown with the same content."""
        return self._contents[digest(case.content())]

    def prepare(self, name: str, setup: Setup, edit: AnyEdit | None, against: AnyEdit | None) -> None:
        """Edit the cases of a probe, unless that was done."""
        for ties in (False, True) if edit is None else (False,):
            key = id(edit), id(against), ties
            if key not in self._templates:
                template = self._templates[key] = Template(name, setup, edit, against, ties=ties)
                for pair in template.pairing.pairs:
                    self.note(pair, template)

    def keep(self, one: Finding, trials: Trials | None) -> None:
        """Keep the trials that a finding records, for the claims about the run."""
        if trials is not None:
            self._rows[id(one.trials)] = one, trials

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Let the product's code use what is remembered."""
        self._rows.clear()
        if len(self.trials) > MOST:
            self.trials.clear()
            self._records.clear()

        def floor(pair: Pair, number: int) -> Floor:
            return self._floor(pair, number)

        def ask(pair: Pair, number: int) -> tuple[Recipe[Case], int]:
            return self._ask(pair, number)

        with ExitStack() as stack:
            for where, name, new in (
                (experiment, "pair_up", self._pair_up),
                (experiment, "Equals", _Maker(self)),
                (crosswise, "_after", self._after),
                (pulls, "Arms", partial(QuickArms, self)),
                (pulls, "clopper_pearson", _clopper_pearson),
                (pairs, "pilot_of", self._pilot_of),
                (pairs, "with_pilot", self.with_pilot),
                (Pair, "floor", floor),
                (Pair, "ask", ask),
                (Case, "slots", property(self._slots)),
                (worst, "nominal_levels", _nominal_levels),
                (worst, "digest", _digest),
                (stopping, "clopper_pearson", _clopper_pearson),
                (experiment, "Arms", partial(QuickArms, self)),
                (findings, "_record", self._record),
                (findings, "flips", lambda _trials: Flips()),
                (findings, "rate", lambda _measure, _trials: None),
                (pooled_module, "rows_of", lambda one: self._rows[id(one.trials)][1].rows),
            ):
                stack.enter_context(patch.object(where, name, new))
            stack.enter_context(patch.dict(cast(Any, MEASURES), _remembering_measures()))
            yield

    def with_pilot(self, setup: Setup, edit: AnyEdit, pair: Pair, pilot: Verdict | None) -> Pair:
        """Return a pair with its pilot, made once for all runs."""
        key = id(pair), id(pilot)
        known = self._piloted.get(key)
        if known is None:
            known = self._piloted[key] = pair, pilot, with_pilot(setup, edit, pair, pilot)
        return known[2]

    def _pair_up(self, setup: Setup, edit: AnyEdit | None, against: AnyEdit | None, *, ties: bool = False) -> Pairing:
        return Remembered.of(self._templates[id(edit), id(against), ties], setup, self)

    def equals(self, setup: Setup, edit: AnyEdit | None) -> Equals:
        """Return the equal pairs of a probe, of which nothing was asked yet."""
        known = self._equals.get(id(edit))
        if known is None:
            made_once = Equals.of(replace(setup, engine=cast(Engine, _Nobody())), edit)
            plain = made_once.without_cue(len(made_once)) if edit is None else []
            for pair in plain:
                for case in (pair.shown, pair.turned):
                    assert case is not None, "it is shown in both orders"
                    self._registered(case, "equal", turned=case is pair.turned)
            known = self._equals[id(edit)] = edit, made_once, plain
        _, template, plain = known
        name = next((one.name for key, one in self._templates.items() if key[0] == id(edit)), "")
        return RememberedEquals.like(template, plain, setup, partial(self._crossed, name, edit))

    def _crossed(self, name: str, edit: AnyEdit | None, row: Crossed) -> Crossed:
        """Return a pair of equal answers whose prompts are known, whichever side and form is asked about."""
        assert edit is not None, "it was crossed with one"
        self._registered(row.without, "equal")

        def sides(slot: int, form: int) -> Recipe[Case]:
            made_case = row.sides(slot, form)
            if id(made_case) not in self._prompts:
                about = {"probe": name, "variant": row.variant, "expects": edit.expects.value}
                self._registered(made_case, "equal", cued=True, **about)
            return made_case

        return changed(row, sides=sides)

    def _after(self, row: Crossed, pilot: Verdict) -> Crossed:
        key = id(row), id(pilot)
        known = self._sided.get(key)
        if known is None:
            known = self._sided[key] = row, pilot, _REAL_AFTER(row, pilot)
        return known[2]

    def _pilot_of(self, case: Case) -> Case:
        known = self._pilots.get(id(case))
        if known is None:
            known = self._pilots[id(case)] = case, pilot_of(case)
            self._register(known[1], "pilot")
        return known[1]

    def _ask(self, pair: Pair, number: int) -> tuple[Recipe[Case], int]:
        assert pair.shown is not None, "there is a perturbed arm"
        key = id(pair.shown), id(pair.again), number
        known = self._asks.get(key)
        if known is None:
            known = pair, _REAL_ASK(pair, number)
            case = known[1][0]
            if case is pair.shown or case is pair.turned:
                return known[1]
            self._asks[key] = known
            if id(case) not in self._prompts:
                content = digest(case().content())
                if content not in self._contents:
                    like = self.prompt(pair.shown)
                    self._contents[content] = replace(like, word=int(content[:16], 16), shown=case())
                self._prompts[id(case)] = case, self._contents[content]
        return known[1]

    def _floor(self, pair: Pair, number: int) -> Floor:
        key = id(pair.source), id(pair.clean), id(pair.shown), pair.brief, number
        known = self._floors.get(key)
        if known is None:
            known = self._floors[key] = _REAL_FLOOR(pair, number)
            self._register(known.shown, "inert")
        return known

    def _record(self, row: Trial, *, controlled: bool, tied: bool) -> TrialRecord:
        key = id(row), controlled, tied
        known = self._records.get(key)
        if known is None:
            known = self._records[key] = row, _REAL_RECORD(row, controlled=controlled, tied=tied)
        return known[1]

    def _slots(self, case: Case) -> tuple[str, ...]:
        known = self._shown.get(id(case))
        if known is None:
            known = self._shown[id(case)] = case, tuple(answer.id for answer in case.shown)
        return known[1]

    def note(self, pair: Pair, template: Template) -> None:
        """Register what a pair shows."""
        if template.against is None:
            self._register(pair.clean, "clean")
        else:
            self._register(pair.clean, "edited", pair, template)
        for case in (pair.shown, pair.turned):
            if case is not None:
                arm = "inert" if template.name.partition("/")[0] == "rewording" else "edited"
                self._register(case, arm, pair, template)

    def _register(
        self, held: Case | Recipe[Case], arm: Any, pair: Pair | None = None, template: Template | None = None
    ) -> None:
        of: dict[str, Any] = {}
        if pair is not None and template is not None and arm == "edited":
            assert template.edit is not None, "there is an edited arm"
            treatment = pair.treatment
            of = {"probe": template.name, "variant": pair.variant, "expects": template.edit.expects.value}
            of |= {"damaged": treatment.damaged, "hit": treatment.hit}
        self._registered(held, arm, **of)

    def _registered(self, held: Case | Recipe[Case], arm: Any, **of: Any) -> None:
        from benchmarks.calibration.harness import Prompt

        if id(held) in self._prompts:
            return
        case = made(held)
        key = digest(case.content())
        prompt = self._contents.get(key)
        if prompt is None:
            word, ids = int(key[:16], 16), tuple(a.id for a in case.answers)
            if arm == "equal":
                prompt = Prompt(-1, arm, word, case, ids=case.slots, equal=self._equal_place[case.id], **of)
            else:
                prompt = Prompt(self._place[case.id], arm, word, case, ids=ids, **of)
            self._contents[key] = prompt
        self._prompts[id(held)] = held, prompt


class _Maker:
    """Makes the equal pairs of a probe from what is remembered."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def of(self, setup: Setup, edit: AnyEdit | None) -> Equals:
        """Return them, of which nothing was asked yet."""
        return self._memory.equals(setup, edit)


_REAL_ASK = Pair.ask
_REAL_FLOOR = Pair.floor
_REAL_AFTER = crosswise._after
_REAL_RECORD = findings._record


@lru_cache(maxsize=1)
def _remembering_measures() -> dict[str, Measure]:
    """Return the measures with values of rows that are looked up by their verdicts, and quantiles that are kept."""
    intervals.student_quantile = lru_cache(maxsize=None)(intervals.student_quantile)
    intervals.pad = lru_cache(maxsize=None)(intervals.pad)
    by_verdicts = {name: one for name, one in measures.MEASURES.items() if name != "slot_pull"}  # that goes by slots
    return {name: replace(one, per_case=_remembering(one.per_case)) for name, one in by_verdicts.items()}


def remembering_values(measure: Measure, row: Trial, scale: Scale) -> float | Reason:
    """Return the value of a row, looked up by its verdicts."""
    return _remembering_measures()[measure.name].per_case(row, scale)


def _remembering(real: Callable[[Trial, Scale], float | Reason]) -> Callable[[Trial, Scale], float | Reason]:
    """Return a function that looks the value of a row up. Laws give one object for one verdict, which lives on."""
    known: dict[tuple[object, ...], float | Reason] = {}

    def per_case(row: Trial, scale: Scale) -> float | Reason:
        key = (
            row.room,
            bool(row.order),
            id(row.pilot),
            row.target,
            row.damaged,
            row.hit,
            row.better,
            row.case if row.points else "",
            scale.low,
            scale.high,
            tuple(map(id, row.clean)),
            tuple(map(id, row.inert)),
            tuple(map(id, row.perturbed)),
        )
        found = known.get(key)
        if found is None:
            found = known[key] = real(row, scale)
        return found

    return per_case
