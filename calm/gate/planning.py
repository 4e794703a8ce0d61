"""
What a run will ask and cost, before any call is made: calls, tokens, dollars and time of each probe.

| name | meaning |
|---|---|
| `Unasked` | a judge that stands for another one and is never asked |
| `Recorder`, `Recorded` | a `probe` that records what it is asked to prove; what it recorded |
| `Settings`, `survey`, `Survey` | the run's settings; which prompts its probes take, case by case |
| `plan_of`, `Plan`, `Line`, `Figure` | the calls and what they cost, for a sample of the cases and a design |
| `fit`, `Budget`, `Fit` | the largest sample that a budget allows, and how often a sound judge then passes the gate |

Prompts are rendered by the judge itself, through a `send` that notes each request and calls nobody.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil
from random import Random
from typing import NamedTuple

from calm import cases as datasets
from calm.core.case import TIE, Case, digest
from calm.core.claims import Claim
from calm.core.edits import AnyEdit, Edit, Expects, PromptEdit
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import NONE, Kind, Reason, because, counted
from calm.core.verdict import FAMILIES, FAMILY, Family, Preferred, Ranking, Task, Tie, Unreadable, Verdict
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ClaimError, ConfigError, EstimateError, JudgeError
from calm.experiment.lookahead import Foreseen
from calm.experiment.run import Design, Pair, Setup, alone, check, pair_up, unserved, with_readability
from calm.experiment.stopping import Stopping
from calm.gate import sizing
from calm.judges.delegating import Delegating
from calm.models.pricing import price_of, tokens_in
from calm.models.server import GREETING
from calm.models.wire import Endpoint, Judge, Limits, Price, Reply, Request, Send
from calm.selfpreference.crossing import Crossing, Tabled, Wanted, arranged_for
from calm.statistics.power import Noise

CHARACTERS = 4
"""Characters of a prompt that are counted as one token."""
OUTPUT_TOKENS = 200
"""Tokens that a reply is taken to have, if max_tokens allows as many."""
CALL_SECONDS = 2.0
"""Seconds that a call is taken to last."""
ENOUGH = 0.80
"""The probability with which a sound judge must pass a gate that is worth its money."""
LEAST_SAMPLE = 2
FIRST_CALL, PILOT, CLEAN, PERTURBED = "first live call", "pilot", "clean arm", "perturbed arm"
CROSS = "judges and authors"
"""The arm of a cross of judges and authors: each answer is asked about once."""
_PILOTS = (
    "cases without a gold label: that each pilot names an answer, one with which the edit applies; "
    "rows with such cases are 'up to'"
)


# ------------------------------------------------------------------------------------------- stand-ins: judge and probe


@dataclass(frozen=True, slots=True, eq=False)
class Unasked(Delegating):
    """A judge that stands for another one: it sees what that one sees, has no model, and is never asked."""

    pilots: Mapping[str, Verdict] = field(default_factory=dict)
    piloted: list[Case] = field(default_factory=list)

    @property
    def fingerprint(self) -> str | None:
        """None: it says nothing that could be kept."""
        return None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """None: nothing is called."""
        return ()

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict that is assumed of a pilot, and note that there is one."""
        self.piloted.append(case)
        return self.pilots.get(case.id, Unreadable("planned, not asked"))


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """What one test asks: an edit, its claims, and whether undecided ones may be topped up."""

    suite: str
    judge: Judge
    cases: tuple[Case, ...]
    own_cases: bool
    edit: AnyEdit | None
    against: AnyEdit | None
    claims: tuple[Claim, ...]
    observed: tuple[Measure, ...] = ()
    top_up: bool = True
    conditional: bool = False
    """Whether an earlier claim of its test may end the test before it is asked."""
    wanted: Wanted | None = None
    """What a cross of judges and authors is made of, if this is one."""

    @property
    def name(self) -> str:
        """How the plan calls it: bias, and the perturbation if it has a name of its own."""
        bias = self.edit.bias if self.edit else self.suite
        return f"{bias}/{self.edit.label}" if self.edit and self.edit.name else bias


class Recorder:
    """A `probe` that asks nothing and records what it is asked for."""

    def __init__(
        self,
        judge: Judge,
        cases: Sequence[Case],
        suite: str,
        record: list[Recorded],
        wanted: Callable[[], Wanted] | None = None,
    ) -> None:
        self._judge = judge.inner if isinstance(judge, Unasked) else judge
        self._wanted = wanted or (lambda: Wanted(self._cases))
        self._cases, self._suite, self._record = tuple(cases), suite, record
        self._first = len(record)

    def __call__(
        self, edit: AnyEdit | None = None, *, against: AnyEdit | None = None, cases: Sequence[Case] | None = None
    ) -> _Question:
        """Return a question that only records."""
        for name, value in (("edit", edit), ("against", against)):
            if value is not None and not isinstance(value, Edit | PromptEdit):
                raise ClaimError(f"probe(): expected {name} to be a perturbation, got {value!r}")
        given = self._cases if cases is None else tuple(cases)
        conditional = any(one.claims for one in self._record[self._first :])
        blank = Recorded(self._suite, self._judge, given, cases is not None, edit, against, (), conditional=conditional)
        return _Question(blank, self._record)

    def cross(self) -> _Question:
        """Return a question about authors and judges that only records."""
        blank = Recorded(self._suite, self._judge, self._cases, True, None, None, (), wanted=self._wanted())
        return _Question(blank, self._record)


class _Question:
    def __init__(self, blank: Recorded, record: list[Recorded]) -> None:
        self._blank, self._record = blank, record

    def proves(self, *claims: Claim, **by_task: Sequence[Claim]) -> bool:
        """Record the claims for the judge's kind of verdict; true, so that the test goes on."""
        return self._noted(claims, by_task, top_up=True)

    def allows(self, *claims: Claim, **by_task: Sequence[Claim]) -> bool:
        """Record claims that are not topped up."""
        return self._noted(claims, by_task, top_up=False)

    def observe(self, *measures: Measure, **by_task: Sequence[Measure]) -> Foreseen:
        """Record measures without a limit; what looks at their values ends the trace."""
        chosen = tuple(by_task.get(FAMILY[self._blank.judge.task], measures))
        self._record.append(replace(self._blank, observed=chosen, top_up=False))
        return Foreseen()

    def _noted(self, claims: tuple[Claim, ...], by_task: Mapping[str, Sequence[Claim]], *, top_up: bool) -> bool:
        for one in (*claims, *(c for group in by_task.values() for c in group)):
            if not isinstance(one, Claim):
                raise ClaimError(f"expected claims such as net_robustness >= 0.95, got {one!r}")
        if unknown := set(by_task) - set(FAMILIES):
            raise ClaimError(f"unknown kind of verdict {min(unknown)!r}; known: {', '.join(FAMILIES)}")
        if not claims and not by_task:
            raise ClaimError("expected at least one claim such as net_robustness >= 0.95")
        chosen = tuple(by_task.get(FAMILY[self._blank.judge.task], claims))
        self._record.append(replace(self._blank, claims=chosen, top_up=top_up))
        return True


# ---------------------------------------------------------------------------------------------- which prompts it takes


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options of a run say of its size."""

    sample: int = 200
    seed: int = 0
    design: Design = field(default_factory=Design)
    stopping: Stopping = Stopping.FIXED
    every_variant: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """What answers: a model on a server, or code of the user's. `free`: it takes neither money nor time to speak of."""

    name: str
    limits: Limits
    price: Price | None
    max_tokens: int
    live: bool
    free: bool


class Call(NamedTuple):
    """A request: what tells it from another one, its length, and the number of its source."""

    key: str
    characters: int
    source: int


class Prompt(NamedTuple):
    """One way to show a case: what tells it from another one, and the calls of an ask."""

    key: str
    calls: tuple[Call, ...]


class Unit(NamedTuple):
    """A case in one arm of a probe; perturbed asks alternate between the prompts. `shared`: the arm's row has it."""

    case: str
    arm: str
    prompts: tuple[Prompt, ...]
    sampled: bool
    shared: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """
    A probe and the prompts that it takes.

    `staged`: undecided claims are topped up. `open`: a pilot may leave cases out. `ruled`: it has claims, so that a run
    which stops early may end it early. `claims` are those that a green gate needs. `alone`: there is no clean arm.
    """

    name: str
    units: tuple[Unit, ...]
    staged: bool
    open: bool
    ruled: bool
    edited: bool
    alone: bool
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What the probes of a run take, whatever the sample and the design."""

    judge: str
    task: Task
    settings: Settings
    cases: tuple[str, ...]
    """The ids of the cases in the order in which a sample takes them."""
    rows: tuple[Row, ...]
    sources: tuple[Source, ...]
    skipped: tuple[tuple[str, str], ...]
    assumed: tuple[str, ...]
    floors: tuple[tuple[str, str], ...] = ()
    """Tests that want a number before they go on, and where: what they ask after that is not known here."""


def survey(recorded: Sequence[Recorded], judge: Judge, cases: Sequence[Case], settings: Settings) -> Survey:
    """
    Return what the probes of a run take; no judge is asked.

    Raises:
        CalmError: a probe that would end in an error in the run, too.
    """
    chosen = tuple(datasets.sample(cases, settings.sample, settings.seed))
    surveyor = _Surveyor(settings, chosen)
    try:
        for one in recorded:
            for asked in _asked(one, settings):
                surveyor.take(asked)
    finally:
        surveyor.engine.close()
    return Survey(
        judge=judge.name,
        task=judge.task,
        settings=settings,
        cases=tuple(case.id for case in chosen),
        rows=tuple(surveyor.rows),
        sources=tuple(surveyor.sources),
        skipped=tuple(surveyor.skipped),
        assumed=tuple(dict.fromkeys(surveyor.assumed)),
    )


def survey_cross(crossing: Crossing) -> Survey:
    """Return what judges take that are asked about the answers of all authors, once each; no judge is asked."""
    settings = Settings(design=Design(1, 0))
    surveyor = _Surveyor(settings, ())
    try:
        surveyor.cross(crossing, "")
    finally:
        surveyor.engine.close()
    first = crossing.members[0]
    return Survey(
        judge=", ".join(member.model for member in crossing.members),
        task=first.task,
        settings=settings,
        cases=tuple(case.id for case in crossing.cases),
        rows=tuple(surveyor.rows),
        sources=tuple(surveyor.sources),
        skipped=(),
        assumed=tuple(dict.fromkeys(surveyor.assumed)),
    )


def _asked(one: Recorded, settings: Settings) -> Iterator[Recorded]:
    """Yield what a test asks: its edit, and each variant of it by itself and its control if the run does so."""
    yield one
    if settings.every_variant and one.edit is not None and one.claims:
        for variant in one.edit.variants:
            yield replace(one, edit=variant, top_up=False)
    if settings.every_variant and one.edit is not None and one.against is None:
        from calm.perturbations.controls import control_beside  # loads a module that most plans need not

        if (control := control_beside(one.edit)) is not None:
            measures = tuple(MEASURES[c.measure] for c in one.claims)
            yield replace(one, edit=control, claims=(), observed=measures or one.observed, top_up=False)


class _Surveyor:
    """Goes through the probes and gathers their rows."""

    def __init__(self, settings: Settings, sample: tuple[Case, ...]) -> None:
        self._settings, self._sample = settings, sample
        self._renderers: dict[int, _Renderer] = {}
        self.engine = Engine(Store(None, Mode.OFF))
        self.rows: list[Row] = []
        self.sources: list[Source] = []
        self.skipped: list[tuple[str, str]] = []
        self.assumed: list[str] = []

    def take(self, one: Recorded) -> None:
        """Add the row of a probe, or the reason why nothing is asked."""
        edit, family = one.edit, FAMILY[one.judge.task]
        if reason := unserved(one.judge, edit.bias if edit else one.suite):
            self.skipped.append((one.name, str(reason)))
            return
        if one.wanted is not None:
            self._cross(one, one.wanted)
            return
        if reason := _nothing_asked(one, family):
            self.skipped.append((one.name, str(reason)))
            return
        if id(one.judge) not in self._renderers:
            self._renderers[id(one.judge)] = _Renderer(one.judge, self.sources, self.assumed)
        renderer = self._renderers[id(one.judge)]
        cases = one.cases if one.own_cases else self._sample
        setup = Setup(one.judge, cases, self.engine, self._settings.seed, self._settings.design)
        pairs, excluded, piloted, unsure = _paired(setup, edit, one.against)
        by_itself, sampled = alone(edit, family), not one.own_cases
        units = [Unit(case.id, PILOT, (p,), sampled, True) for case, p in renderer.prompts(piloted)]
        if not by_itself:
            bases = renderer.prompts([pair.base for pair in pairs], [pair.control for pair in pairs])
            units += [Unit(case.id, CLEAN, (p,), sampled, one.against is None) for case, p in bases]
        if edit is not None:
            edits = [pair.shown or pair.base for pair in pairs]
            orders = (
                [edits, [_turned(case) for case in edits]] if by_itself and edit.expects is Expects.WORSE else [edits]
            )
            judges = [pair.judge for pair in pairs]
            shown = [[prompt for _, prompt in renderer.prompts(cases, judges)] for cases in orders]
            for pair, *prompts in zip(pairs, *shown, strict=True):
                units.append(Unit(pair.source.id, PERTURBED, tuple(prompts), sampled))
        if not pairs:
            self.skipped.append((one.name, str(counted(excluded) or because(Kind.NO_CASES))))
        if unsure:
            self.assumed.append(_PILOTS)
        gated = with_readability(one.edit, one.claims) if one.top_up else ()
        staged = one.top_up and edit is not None and bool(one.claims)
        unsure = unsure or one.conditional or one.judge.traits.at_most
        row = Row(one.name, tuple(units), staged, unsure, bool(one.claims), edit is not None, by_itself, gated)
        self.rows.append(row)

    def _cross(self, one: Recorded, wanted: Wanted) -> None:
        """Add a row for each judge that is asked about the answers of all authors, once each."""
        if not one.claims:
            self.skipped.append((one.name, str(because(Kind.NOTHING_CLAIMED, FAMILY[one.judge.task]))))
            return
        if isinstance(one.judge, Tabled):
            return
        try:
            crossing = arranged_for(one.judge, wanted, self._settings.seed)
        except EstimateError as error:
            self.skipped.append((one.name, str(error)))
            return
        self.cross(crossing, one.name)

    def cross(self, crossing: Crossing, title: str) -> None:
        """Add a row for each judge of a crossing that is to be asked."""
        for place, member in enumerate(crossing.members):
            if member.judge is None:
                continue
            if id(member.judge) not in self._renderers:
                self._renderers[id(member.judge)] = _Renderer(member.judge, self.sources, self.assumed)
            shown = self._renderers[id(member.judge)].prompts(crossing.cases)
            prompts = [(case, Prompt(digest(member.model, prompt.key), prompt.calls)) for case, prompt in shown]
            units = tuple(Unit(case.id, CROSS, (prompt,), False) for case, prompt in prompts)
            name = ": ".join(part for part in (title, member.model if place or not title else "") if part)
            self.rows.append(Row(name, units, False, False, False, False, False, ()))


def _nothing_asked(one: Recorded, family: Family) -> Reason:
    """Return the reason why a probe asks nothing at all, or `NONE`."""
    if not one.claims and not one.observed:
        return because(Kind.NOTHING_CLAIMED, family)
    check(one.edit, [*one.claims, *(Claim(m.name, "<=", 0.0) for m in one.observed)], family)
    for each in (one.edit, one.against):
        if each is not None and family not in each.tasks:
            return because(Kind.OWN_TASKS, ", ".join(each.tasks), one.judge.task)
    return NONE


def _turned(case: Case) -> Case:
    """Return a case with its answers the other way round, as half of the asks about damage show it."""
    return case.arranged(tuple(answer.id for answer in case.shown)[::-1])


def _paired(
    setup: Setup, edit: AnyEdit | None, against: AnyEdit | None
) -> tuple[list[Pair], Counter[Reason], list[Case], bool]:
    """
    Return the pairs to ask, the cases left out by reason, the piloted cases, and whether a pilot can change any of it.

    Of the verdicts that a pilot can give, one is assumed with which the edit applies, if there is one.
    """
    choices = 1
    if edit is not None and any(_open_to_pilot(case) for case in setup.cases):
        choices = max(len(case.answers) for case in setup.cases)
    best: dict[str, Pair] = {}
    stand_in, excluded = Unasked(setup.judge), Counter[Reason]()
    for choice in reversed(range(choices)):
        stand_in = Unasked(setup.judge, {case.id: _pilot(case, choice) for case in setup.cases})
        pairs, excluded, _ = pair_up(replace(setup, judge=stand_in), edit, against)
        best |= {pair.source.id: pair for pair in pairs}
    unsure = any(_open_to_pilot(case) and case.id in best for case in stand_in.piloted)
    ordered = sorted(best.values(), key=lambda pair: digest("sample", setup.seed, pair.source.id))
    return ordered, excluded, sorted(stand_in.piloted, key=lambda case: case.id), unsure


def _open_to_pilot(case: Case) -> bool:
    """Return whether the answer that an edit treats can depend on the pilot."""
    scored = len(case.scores) == len(case.answers) and len(set(case.scores.values())) > 1
    return len(case.answers) > 1 and not scored and (case.better is None or len(case.answers) > 2)


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


class _Renderer:
    """Finds the calls that an ask of a judge makes, by having it judge through a `send` that calls nobody."""

    def __init__(self, judge: Judge, sources: list[Source], assumed: list[str]) -> None:
        self._judge, self._sources = judge, sources
        self._known: dict[str, Prompt] = {}
        self._places: dict[str, int] = {}
        for endpoint in judge.endpoints:
            self._place(endpoint)
        if not judge.endpoints:
            self._code = len(sources)
            sources.append(_code(judge))
        if judge.traits.sends:
            assumed.append(f"{judge.name}: one call an ask, as what a Python judge sends is not known beforehand")

    def prompts(self, cases: Sequence[Case], judges: Sequence[Judge | None] = ()) -> list[tuple[Case, Prompt]]:
        """Return each case with the calls of one ask: of the judge, or of what an edit of its prompt made of it."""
        asked = list(zip(cases, judges or [None] * len(cases), strict=True))
        return asyncio.run(self._all(asked))

    async def _all(self, asked: list[tuple[Case, Judge | None]]) -> list[tuple[Case, Prompt]]:
        return [(case, await self._prompt(case.blind(), judge)) for case, judge in asked]

    async def _prompt(self, case: Case, reworded: Judge | None) -> Prompt:
        judge = reworded.inner if isinstance(reworded, Unasked) else self._judge
        key = digest(case.content()) if judge is self._judge else digest(judge.fingerprint, case.content())
        if key not in self._known:
            self._known[key] = Prompt(key, await self._calls(judge, case, key))
        return self._known[key]

    async def _calls(self, judge: Judge, case: Case, key: str) -> tuple[Call, ...]:
        if not self._judge.endpoints:
            whose = judge.fingerprint
            return (Call(key if whose is None else digest(whose, repr(judge.sees(case))), 0, self._code),)
        send = _Noting()
        with suppress(JudgeError):  # such a case is lost in the run, too, after the calls noted so far
            await judge.judge(case, send)
        return tuple(self._call(request) for request in send.requests)

    def _call(self, request: Request) -> Call:
        text = json.dumps([request.endpoint.identity, request.body], sort_keys=True, separators=(",", ":"))
        return Call(digest(text), sum(len(m.text) for m in request.prompt), self._place(request.endpoint))

    def _place(self, endpoint: Endpoint) -> int:
        if endpoint.identity not in self._places:
            price = price_of(endpoint) if endpoint.live else None
            self._places[endpoint.identity] = len(self._sources)
            live = endpoint.live
            self._sources.append(Source(endpoint.model, endpoint.limits, price, endpoint.max_tokens, live, not live))
        return self._places[endpoint.identity]


def _code(judge: Judge) -> Source:
    """Return what answers where a judge has no endpoint: its own code."""
    limits = Limits(concurrency=judge.traits.concurrency)
    return Source(judge.name, limits, None, OUTPUT_TOKENS, live=False, free=judge.traits.quick)


class _Noting:
    """A `send` that notes each request and calls nobody."""

    ask = 1

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        return Reply(f"p{digest(request.body)[:17]}")  # no verdict; different prompts have different replies


# ---------------------------------------------------------------------------------------------------------- the figures


@dataclass(frozen=True, slots=True)
class Figure:
    """Asks, calls, tokens, dollars (None: not known) and seconds."""

    asks: int = 0
    calls: int = 0
    input: int = 0
    output: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0

    def plus(self, other: Figure) -> Figure:
        """Return the sum of two figures."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Figure(
            self.asks + other.asks,
            self.calls + other.calls,
            self.input + other.input,
            self.output + other.output,
            usd,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a plan: what it adds to the rows before it, at least and at most (a top-up may come)."""

    name: str
    cases: int | None
    least: Figure
    most: Figure
    exact: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run takes."""

    cases: int
    design: Design
    lines: tuple[Line, ...]
    least: Figure
    most: Figure

    @property
    def exact(self) -> bool:
        """Whether nothing is left open."""
        return all(line.exact for line in self.lines)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a plan cannot know: the tokens of a reply, and how long a call takes."""

    output_tokens: int = OUTPUT_TOKENS
    call_seconds: float = CALL_SECONDS


def plan_of(found: Survey, sample: int, design: Design, assumptions: Assumptions = Assumptions()) -> Plan:
    """Return what a run on the first `sample` cases takes with a design."""
    within = set(found.cases[:sample])
    tally = _Tally(found.sources, assumptions)
    early = found.settings.stopping is not Stopping.FIXED
    lines: list[Line] = []
    for place, source in enumerate(found.sources):
        if source.live:
            greeted = tally.figure([Call(f"greeting {place}", len(GREETING), place)], 0)
            lines.append(Line(FIRST_CALL, None, greeted, greeted, True))
    for arm, asks in ((PILOT, range(1)), (CLEAN, range(1, design.clean + 1))):
        shared = [(row, u) for row in found.rows for u in row.units if u.arm == arm and u.shared and _taken(u, within)]
        if shared:
            figure = tally.asked((unit, asks) for _, unit in shared)
            sure = {
                unit.prompts[0].key for row, unit in shared if arm == PILOT or not (row.open or (early and row.ruled))
            }
            exact = all(unit.prompts[0].key in sure for _, unit in shared)
            lines.append(Line(arm, len({unit.case for _, unit in shared}), figure, figure, exact))
    rows = [row for row in found.rows if _applies(row, within)]
    own = [[u for u in row.units if not u.shared and _taken(u, within)] for row in rows]
    firsts = [tally.asked((u, _asks_of(u, design.clean, design.perturbed)) for u in units) for units in own]
    for row, units, first in zip(rows, own, firsts, strict=True):
        most = first
        if row.staged and design.perturbed < design.clean and found.settings.stopping is not Stopping.ANYTIME:
            most = first.plus(tally.asked((u, _asks_of(u, design.clean, design.clean)) for u in units))
        exact = most == first and not (most.asks and (row.open or (early and row.ruled)))
        lines.append(Line(row.name, _applies(row, within), first, most, exact))
    least, most = Figure(), Figure()
    for line in lines:
        least, most = least.plus(line.least), most.plus(line.most)
    return Plan(len(within), design, tuple(lines), least, most)


def _taken(unit: Unit, within: set[str]) -> bool:
    return not unit.sampled or unit.case in within


def _applies(row: Row, within: set[str]) -> int:
    """Return to how many cases the probe applies."""
    arms = (PERTURBED,) if row.edited else (CLEAN, CROSS)
    return len({unit.case for unit in row.units if unit.arm in arms and _taken(unit, within)})


def _asks_of(unit: Unit, clean: int, perturbed: int) -> range:
    if unit.arm == CROSS:
        return range(1, 2)
    return range(1, (clean if unit.arm == CLEAN else perturbed) + 1)


class _Tally:
    """Counts each ask and each call once, however many probes need it."""

    def __init__(self, sources: Sequence[Source], assumptions: Assumptions) -> None:
        self._sources, self._assumptions = sources, assumptions
        self._asked: set[tuple[str, int]] = set()
        self._called: set[tuple[str, int]] = set()

    def asked(self, wanted: Iterable[tuple[Unit, range]]) -> Figure:
        """Return what these asks add to those before."""
        asks, calls = 0, []
        for unit, numbers in wanted:
            for number in numbers:
                prompt, index = unit.prompts[0], number
                if len(unit.prompts) > 1:
                    prompt, index = unit.prompts[(number - 1) % 2], (number + 1) // 2
                if (prompt.key, index) in self._asked:
                    continue
                self._asked.add((prompt.key, index))
                asks += 1
                for call in prompt.calls:
                    if (call.key, index) not in self._called:
                        self._called.add((call.key, index))
                        calls.append(call)
        return self.figure(calls, asks)

    def figure(self, calls: Sequence[Call], asks: int) -> Figure:
        """Return what calls take."""
        total = Figure(asks=asks)
        for place, source in enumerate(self._sources):
            mine = [call for call in calls if call.source == place]
            if mine:
                total = total.plus(self._of(source, mine))
        return total

    def _of(self, source: Source, calls: Sequence[Call]) -> Figure:
        n = len(calls)
        if not source.live:
            return Figure(0, n) if source.free else Figure(0, n, usd=None, seconds=self._seconds(source, n))
        read = sum(ceil(call.characters / CHARACTERS) for call in calls)
        written = n * min(self._assumptions.output_tokens, source.max_tokens)
        usd = None if source.price is None else (read * source.price.input + written * source.price.output) / 1e6
        # as the engine counts them towards the limit of tokens a minute
        paced = sum(tokens_in(call.characters) // 2 + source.max_tokens // 8 for call in calls)
        return Figure(0, n, read, written, usd, self._seconds(source, n, paced))

    def _seconds(self, source: Source, calls: int, tokens: int = 0) -> float:
        limits = source.limits
        together = ceil(calls / limits.concurrency) * self._assumptions.call_seconds
        by_requests = 60 * calls / limits.rpm if limits.rpm else 0.0
        by_tokens = 60 * tokens / limits.tpm if limits.tpm else 0.0
        return max(together, by_requests, by_tokens)


# ----------------------------------------------------------------------------------------------------------- the budget


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a run may take; None: no limit."""

    usd: float | None = None
    minutes: float | None = None

    def refuses(self, figure: Figure) -> list[str]:
        """Return what of it a figure exceeds."""
        exceeded = []
        if self.usd is not None and (figure.usd is None or figure.usd > self.usd):
            exceeded.append("money")
        if self.minutes is not None and figure.seconds > 60 * self.minutes:
            exceeded.append("time")
        return exceeded


@dataclass(frozen=True, slots=True)
class Fit:
    """
    The largest sample within a budget: its plan, the probability of a green gate, and what allows no larger one.

    `at_most` is the probability with all cases.
    """

    sample: int
    design: Design
    plan: Plan
    green: float
    at_most: float
    limited_by: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def enough(self) -> bool:
        """Whether a sound judge passes often enough for the gate to be of use."""
        return self.sample >= LEAST_SAMPLE and self.green >= ENOUGH


def fit(
    found: Survey, budget: Budget, noise: float, designs: Sequence[Design], assumptions: Assumptions = Assumptions()
) -> Fit:
    """
    Return the sample and design within a budget with which a sound judge passes most often; of equals the first design.

    All top-ups are within the budget, too.

    Raises:
        ConfigError: a budget in dollars, and a price that is not known.
    """
    unpriced = [s.name for s in found.sources if s.price is None and not s.free]
    if budget.usd is not None and unpriced:
        mend = "give price_usd_per_mtok = { input = ..., output = ... } in the [model] table of judge.toml"
        live = any(s.live for s in found.sources if s.name == unpriced[0])
        what = f"the model {unpriced[0]!r}; {mend}" if live else f"{unpriced[0]!r}, which is Python code; leave it out"
        raise ConfigError(f"--max-usd: no price is known for {what}")
    fits = [_largest(found, budget, noise, design, assumptions) for design in designs]
    return max(fits, key=lambda one: round(one.green, 2))  # of equals the first


def _largest(found: Survey, budget: Budget, noise: float, design: Design, assumptions: Assumptions) -> Fit:
    low, high = 0, len(found.cases)
    while low < high:
        middle = (low + high + 1) // 2
        refused = budget.refuses(plan_of(found, middle, design, assumptions).most)
        low, high = (low, middle - 1) if refused else (middle, high)
    plan = plan_of(found, low, design, assumptions)
    limited = ["number of cases"]
    if low < len(found.cases):
        limited = budget.refuses(plan_of(found, low + 1, design, assumptions).most)
    at_most, left_out = chance(found, len(found.cases), design, noise)
    green = at_most
    if low < len(found.cases):
        green = chance(found, low, design, noise)[0] if low >= LEAST_SAMPLE else 0.0
        limited += ["number of cases"] if at_most < ENOUGH else []
    return Fit(low, design, plan, green, at_most, tuple(limited), tuple(left_out))


def chance(found: Survey, sample: int, design: Design, noise: float) -> tuple[float, list[str]]:
    """Return how often a sound judge of this noise passes all claims, and the measures that are not in the model."""
    within = set(found.cases[:sample])
    probes, left_out = [], []
    for row in found.rows:
        claims = [c for c in row.claims if design.clean >= (0 if row.alone else MEASURES[c.measure].asks[0])]
        claims = [c for c in claims if not row.edited or design.perturbed >= MEASURES[c.measure].asks[1]]
        left_out += [c.measure for c in claims if not sizing.modelled(c)]
        kept = tuple(c for c in claims if sizing.modelled(c))
        cases = _applies(row, within)
        if kept and cases >= 2:  # with fewer the claims are not tested, and the gate goes without them
            probes.append(sizing.Claimed(kept, cases, row.edited))
    repeats = sizing.Repeats(design.clean, design.perturbed)
    most = max([sample, *(p.cases or 0 for p in probes)])
    if not probes:
        return 0.0, sorted(set(left_out))
    green = sizing.all_green(probes, Noise(noise), repeats, (most,), Random(sizing.SEED))
    return green[0], sorted(set(left_out))


# ------------------------------------------------------------------------------------------------------------- the text


def render(found: Survey, plan: Plan, assumptions: Assumptions = Assumptions()) -> str:
    """Return a plan as text."""
    design = plan.design
    topped = any(line.most != line.least for line in plan.lines)
    asks = f"{design} asks" + (f", undecided claims topped up to {design.clean}+{design.clean}" if topped else "")
    early = "" if found.settings.stopping is Stopping.FIXED else ", stopping early"
    seed = found.settings.seed
    head = f"{found.judge} ({found.task}): {plan.cases} cases, {asks}{early}, seed {seed}. Nothing was asked."
    rows: list[tuple[str, ...]] = [("", "cases", "asks", "calls", "input tokens", "output tokens", "USD", "time")]
    rows += [_cells(line.name, line.cases, line.most, line.exact) for line in plan.lines]
    rows.append(_cells("total", None, plan.most, plan.exact, at_least=bool(found.floors)))
    if topped and found.settings.stopping is Stopping.FIXED:
        rows.append(_cells("without any top-up", None, plan.least, not any(row.open for row in found.rows)))
    if not any(source.live for source in found.sources):  # no tokens, no price
        rows = [(*row[:4], row[-1]) for row in rows]
    text = [head, "", *_aligned(rows)]
    if found.skipped:
        text += ["", *(f"not asked: {name} ({reason})" for name, reason in found.skipped)]
    if found.floors:
        text += ["", *(f"at least: {node} {why}; what it asks after that is not counted" for node, why in found.floors)]
    return "\n".join([*text, "", *_assumed(found, assumptions)])


def _cells(name: str, cases: int | None, figure: Figure, exact: bool, *, at_least: bool = False) -> tuple[str, ...]:
    def shown(value: float, text: str) -> str:
        if at_least:
            return f"at least {text}"
        return text if exact or not value else f"up to {text}"

    counts = (figure.asks, figure.calls, figure.input, figure.output)
    usd = "unknown" if figure.usd is None else shown(figure.usd, dollars(figure.usd))
    time = shown(figure.seconds, duration(figure.seconds))
    return (name, "" if cases is None else str(cases), *(shown(n, str(n)) for n in counts), usd, time)


def dollars(usd: float) -> str:
    """
    Return an amount for people.

    >>> dollars(0.01234), dollars(12.345)
    ('0.0123', '12.35')
    """
    return f"{usd:.4f}" if usd < 10 else f"{usd:.2f}"


def duration(seconds: float) -> str:
    """
    Return a time for people.

    >>> duration(0), duration(42.2), duration(600), duration(9000)
    ('0 s', '43 s', '10.0 min', '2.5 h')
    """
    if seconds < 90:
        return f"{ceil(seconds)} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    return lines


def _assumed(found: Survey, assumptions: Assumptions) -> list[str]:
    lines = ["each call is counted once, in the first row that needs it, and as if nothing were cached"]
    for source in found.sources:
        if source.live:
            lines += _about(source, assumptions)
        elif source.free:
            lines.append(f"{source.name}: no model, so no tokens, no cost and no time to speak of")
        else:
            lines.append(
                f"{source.name}: Python code, tokens and cost are not known here; "
                f"assumes {assumptions.call_seconds:g} s a call, {source.limits.concurrency} at a time"
            )
    return [*lines, *(f"assumes for {text}" for text in found.assumed)]


def _about(source: Source, assumptions: Assumptions) -> list[str]:
    limits, written = source.limits, min(assumptions.output_tokens, source.max_tokens)
    pace = [f"{limits.concurrency} at a time"]
    pace += [f"{limits.rpm} requests a minute"] if limits.rpm else []
    pace += [f"{limits.tpm} tokens a minute"] if limits.tpm else []
    price = source.price
    cost = "no price is known: give price_usd_per_mtok in the [model] table of judge.toml"
    if price is not None:
        cost = f"{price.input:g} USD a million tokens in, {price.output:g} out ({price.source})"
    return [
        f"{source.name}: {cost}",
        f"{source.name}: assumes {CHARACTERS} characters a token, {written} tokens a reply, "
        f"{assumptions.call_seconds:g} s a call, {', '.join(pace)}",
    ]


def render_fit(one: Fit, budget: Budget, noise: float) -> str:
    """Return a fit as text, without the command line."""
    money = [] if budget.usd is None else [f"{budget.usd:g} USD"]
    allowed = " and ".join([*money, *([] if budget.minutes is None else [f"{budget.minutes:g} minutes"])])
    usd = "unknown cost" if one.plan.most.usd is None else f"{dollars(one.plan.most.usd)} USD"
    to = "" if one.plan.exact else "with every top-up "
    takes = f"{to}{one.plan.most.calls} calls, {usd}, {duration(one.plan.most.seconds)}"
    limits = " and ".join(one.limited_by)
    lines = [f"within {allowed}: {one.sample} cases, {one.design} asks ({takes}); what allows no more: {limits}"]
    lines.append(
        f"a sound judge that errs in {noise:g} of asks passes this gate with probability {one.green:.2f}, and "
        f"{one.at_most:.2f} with all cases ({sizing.JOINT_RUNS} simulated runs of a judge with two verdicts, "
        f"seed {sizing.SEED}; assumes that every case has room to gain)"
    )
    if one.left_out:
        lines.append(f"not in the simulation: claims about {', '.join(one.left_out)}")
    if not one.enough:
        lines.append(f"nothing with a probability of {ENOUGH:.2f} or more fits; what limits it: {limits}")
    return "\n".join(lines)
