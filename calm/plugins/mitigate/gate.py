"""
The gate on one set: what the probes ask, what it costs, and its values case by case.

Also how often each attack of the injection family wins against each set, and the calls of a study before any is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import TypeVar, cast

from calm.cases import sample
from calm.core.case import Case
from calm.core.claims import Outcome
from calm.core.edits import AnyEdit, Edit, Expects
from calm.core.measures import MEASURES, Measure, attack_success_rate, gain
from calm.core.reasons import Reason
from calm.core.trials import Trial, Trials
from calm.core.verdict import Criteria, Label, NoReply, Preferred, Ranking, Scale, Score, Tie, Verdict, readable
from calm.engine.asks import Judgment, Question
from calm.engine.engine import Engine
from calm.errors import EstimateError
from calm.experiment import run as experiment
from calm.experiment.lookahead import Order
from calm.experiment.setup import Setup
from calm.experiment.stopping import Ruling, Stopping
from calm.gate.catalogue import entries
from calm.gate.plan import PlanEntry, PlanSettings, ProbeRow, Survey, survey
from calm.gate.prices import Assumptions, Figure, plan_of
from calm.gate.question import TOLERATED
from calm.gate.rehearsal import expected
from calm.gate.requests import Rendering, Source, StandIn
from calm.models.pricing import Cost, cost, price_of
from calm.models.wire import Judge, Reply, Request
from calm.plugins.mitigate.mitigation import Reader, folder_of
from calm.plugins.mitigate.mitigations import mitigated
from calm.plugins.mitigate.study import MEASURED, Cell, Figures, MitigationSet, chance
from calm.results.audit import Finding
from calm.results.findings import finding
from calm.results.study_provenance import audit_of
from calm.results.tabular import Unread, unread_of
from calm.statistics.multiplicity import benjamini_hochberg

COUNTED = 20
"""The number of cases on which the asks of a judge in code are counted."""


T = TypeVar("T")
R = TypeVar("R")


class _Meter:
    """The part of an engine that an experiment needs; it notes what was asked: each call, and where it went."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.store = engine, engine.store
        self.places: dict[bytes, str] = {}
        self.calls: list[int] = []

    def ask(self, judge: Judge, questions: Sequence[tuple[Case, int]]) -> list[Judgment]:
        return self.ask_each([(judge, case, ask) for case, ask in questions])

    def ask_each(self, questions: Sequence[Question]) -> list[Judgment]:
        found = self._engine.ask_each(questions)
        for asked in found:
            self.places |= {key: (asked.places or {}).get(key, "") for key in (*asked.calls, *asked.once)}
            if not isinstance(asked.verdict, NoReply):
                self.calls.append(len(set(asked.calls)))
        return found

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        return self._engine.each(work, items)


def assess(
    one: MitigationSet,
    entries: Sequence[PlanEntry],
    cases: Sequence[Case],
    settings: PlanSettings,
    *,
    engine: Engine,
    reader: Reader,
) -> Figures:
    """
    Ask the questions of the probes on one set, and return its figures.

    All cases are asked, as sets are compared case by case: no set stops earlier than another.

    Raises:
        CalmError: the first live call failed, or a probe that is wrong.
    """
    judge = one.judge
    assert judge is not None
    engine.admit(judge)
    meter = _Meter(engine)
    drawn = tuple(sample(cases, settings.sample, settings.seed))
    setup = Setup(judge, drawn, cast(Engine, meter), settings.seed, settings.design, Stopping.FIXED)
    findings: dict[str, Finding] = {}
    robust: dict[tuple[int, str], float] = {}
    for place, entry in enumerate(entries):
        own = replace(setup, cases=entry.order.setup.cases) if entry.order.own_cases else setup
        order = replace(entry.order, setup=own)
        if entry.wanted is not None or order.idle:
            continue
        for decided in order.run().rulings:
            found = _finding(order, decided)
            findings.setdefault(found.key, found)
            mean = not MEASURES[found.measure].worst_of
            if decided.trials is not None and order.edit is not None and mean:
                robust |= _robust(place, order.edit, decided.trials, own)
    clean = experiment.run(setup, None, (), observed=(MEASURES["readable_rate"],)).rulings[0].trials
    values = {"robustness": robust, **(_clean_values(clean, drawn) if clean is not None else {})}
    missing: dict[str, dict[tuple[int, str], float]] = {name: {} for name in MEASURED}
    calls = meter.calls
    if not judge.endpoints:
        per_verdict = _asks_of_code(one, drawn, reader)
    else:
        per_verdict = fsum(calls) / len(calls) if calls else 0.0
    audit = audit_of(setup, tuple(findings.values()), engine, of=len(cases), asks=str(settings.design))
    said = [verdict for row in clean.rows for verdict in row.clean] if clean is not None else []
    return Figures(
        one,
        audit,
        {**missing, **values},
        per_verdict,
        _cost(judge, engine, meter.places),
        tuple(map(str, judge.remarks.notes)),
        tuple(map(str, judge.remarks.agreement)),
        {**unread_of(audit), "clean": Unread(sum(not readable(verdict) for verdict in said), len(said))},
    )


def _finding(order: Order, decided: Ruling) -> Finding:
    found = finding(
        bias=order.bias,
        node=order.suite,
        task=order.setup.judge.task,
        edit=order.edit,
        against=order.against,
        decision=decided.decision,
        trials=decided.trials,
    )
    tolerated = not order.top_up and found.outcome is Outcome.UNDECIDED  # claimed with .allows
    return replace(found, accepted=TOLERATED) if tolerated else found


def _robust(place: int, edit: AnyEdit, trials: Trials, setup: Setup) -> dict[tuple[int, str], float]:
    """
    Return the net robustness of each case of a probe whose edit must not move the verdict.

    It is that of the asks before any top-up, so that a case has as many of them under each set.
    """
    if edit.expects not in (Expects.SAME, Expects.NOT_BETTER):
        return {}
    asks = setup.design.asks()
    shown: dict[str, list[Trial]] = {}
    for row in trials.rows:
        shown.setdefault(row.case, []).append(row)
    found = {}
    for case, rows in shown.items():
        first = [
            replace(
                r, clean=r.clean[: asks.clean], inert=r.inert[: asks.inert], perturbed=r.perturbed[: asks.perturbed]
            )
            for r in rows[: asks.perturbed]
        ]
        values = [MEASURES["net_robustness"].per_case(row, trials.scale) for row in first]
        known = [1 - value for value in values if not isinstance(value, Reason)]
        if known:
            found[place, case] = fsum(known) / len(known)
    return found


def _clean_values(trials: Trials, cases: Sequence[Case]) -> dict[str, dict[tuple[int, str], float]]:
    by_id = {case.id: case for case in cases}
    found: dict[str, dict[tuple[int, str], float]] = {"accuracy": {}, "noise": {}, "ties": {}, "unread": {}}
    for row in trials.rows:
        key = (0, row.case)
        right = [r for v in row.clean if (r := accuracy(v, by_id[row.case], row, trials.scale)) is not None]
        if right:
            found["accuracy"][key] = fsum(right) / len(right)
        noise = MEASURES["repeat_distance"].per_case(row, trials.scale) if len(row.clean) > 1 else None
        if isinstance(noise, float):
            found["noise"][key] = noise
        read = MEASURES["readable_rate"].per_case(row, trials.scale)
        if not isinstance(read, Reason):
            found["unread"][key] = 1 - read
        if trials.family == "pairwise":
            found["ties"][key] = fsum(isinstance(v, Tie) for v in row.clean) / len(row.clean)
    return found


def accuracy(verdict: Verdict, case: Case, row: Trial, scale: Scale) -> float | None:
    """
    Return how right a verdict is by the gold label, from 0 to 1; None if the case has none.

    For a score it is 1 minus the distance to the gold score as a share of the scale, for a rubric the share of right
    criteria. An unreadable reply is wrong.
    """
    if scale.classes is not None:
        return None if case.label is None else float(isinstance(verdict, Label) and verdict.value == case.label)
    if row.met:
        met = verdict.met if isinstance(verdict, Criteria) else {}
        return fsum(met.get(c) == true for c, true in row.met.items()) / len(row.met)
    if len(case.answers) == 1:
        gold = case.scores.get(case.answers[0].id)
        if gold is None:
            return None
        near = 1 - abs(verdict.value - gold) / (scale.high - scale.low) if isinstance(verdict, Score) else 0.0
        return min(1.0, max(0.0, near))
    if case.better is None:
        return None
    if isinstance(verdict, Ranking):
        return float(verdict.order[0] == (case.better,))
    if case.better == "tie":
        return float(isinstance(verdict, Tie))
    return float(isinstance(verdict, Preferred) and verdict.answer == case.better)


def _asks_of_code(one: MitigationSet, cases: Sequence[Case], reader: Reader) -> float:
    stand_ins = _StandIns(reader)
    inside = one.judge
    while inside is not None and hasattr(inside, "inner"):
        inside = inside.inner
    assert inside is not None
    judge = mitigated(stand_ins.of(inside), one.names, stand_ins)
    shown = cases[:COUNTED]

    async def ask_all() -> None:
        for case in shown:
            await judge.judge(case, _Nobody())

    asyncio.run(ask_all())
    return sum(len(s.piloted) for s in stand_ins.made) / len(shown) if shown else 0.0


class _StandIns:
    """Reads other judges as a reader does, and makes a stand-in for each."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.folder = folder_of(reader)
        self.made: list[StandIn] = []

    def of(self, judge: Judge) -> Judge:
        self.made.append(StandIn(judge))
        return self.made[-1]

    def __call__(self, spec: str) -> Judge:
        return self.of(self._reader(spec))


class _Nobody:
    ask = 1

    async def __call__(self, request: Request) -> Reply:
        return Reply("planned, not asked")


def _cost(judge: Judge, engine: Engine, places: Mapping[bytes, str]) -> Cost | None:
    """Return what calls cost, each by the price of the endpoint that it went to ("": the only one); None for code."""
    if not judge.endpoints:
        return None
    prices = {one.identity: price_of(one) if one.live else None for one in judge.endpoints}
    prices[""] = prices[judge.endpoints[0].identity]
    total = 0.0
    for key, place in places.items():
        reply, price = engine.store.get(key), prices[place]
        if reply is not None and price is not None:
            total += cost(price, reply.usage)
    return Cost(total, tuple(dict.fromkeys(e.model for e in judge.endpoints if e.live and not prices[e.identity])))


def attacks(family: str) -> list[tuple[str, Edit]]:
    """Return the edits that attack the judge itself, by name: shipped ones and those of installed packages."""
    found = {entry.key: entry.edit for entry in entries() if not entry.takes}
    return [
        (name, edit)
        for name, edit in found.items()
        if isinstance(edit, Edit) and edit.attack and edit.expects is Expects.NOT_BETTER and family in edit.tasks
    ]


def attack_grid(
    sets: Sequence[MitigationSet],
    cases: Sequence[Case],
    settings: PlanSettings,
    engine: Engine,
    chosen: Sequence[tuple[str, Edit]],
) -> tuple[Cell, ...]:
    """Return how often each attack wins against each set; p-values are adjusted over all cells."""
    drawn = tuple(sample(cases, settings.sample, settings.seed))
    cells: list[Cell] = []
    for name, edit in chosen:
        for one in sets:
            if one.judge is not None:
                setup = Setup(one.judge, drawn, engine, settings.seed, settings.design)
                cells.append(_cell(name, one.label, edit, setup))
    known = [place for place, cell in enumerate(cells) if cell.p is not None]
    adjusted = benjamini_hochberg([cells[place].p or 0.0 for place in known]) if known else []
    for place, p in zip(known, adjusted, strict=True):
        cells[place] = replace(cells[place], p_adjusted=p)
    return tuple(cells)


def grid_measure(family: str) -> Measure:
    """Return the measure of the grid: how often an attack wins on pairs, or its gain on other verdicts."""
    return attack_success_rate if family == "pairwise" else gain


def _cell(name: str, label: str, edit: Edit, setup: Setup) -> Cell:
    measure = grid_measure(setup.family)
    decided = experiment.run(setup, edit, (), observed=(measure,)).rulings[0]
    estimate = decided.decision.estimate
    if estimate is None or decided.trials is None:
        return Cell(name, label, None, reason=str(decided.decision.reason))
    try:
        values, _ = measure.values(decided.trials)
        p = chance(values, measure.low, measure.high, above=True)
    except EstimateError as error:
        return Cell(name, label, None, reason=str(error))
    return Cell(name, label, estimate.value, estimate.low, estimate.high, estimate.n, p)


def plan_all(
    sets: Sequence[MitigationSet],
    entries: Sequence[PlanEntry],
    cases: Sequence[Case],
    settings: PlanSettings,
    begun: Callable[[MitigationSet], None],
) -> tuple[list[tuple[MitigationSet, Figure, int]], Figure, int]:
    """
    Return what each set alone, and all together, ask and cost at most, and about how many calls; no judge is asked.

    About: the share of all asks that a sound judge takes which errs now and then, the same with each set, and what is
    asked once in a run. `begun` is called with each set before its turn.
    """
    rows: list[tuple[MitigationSet, Figure, int]] = []
    surveys, share, assumed = [], 1.0, Assumptions()
    for one in sets:
        if one.judge is None:
            continue
        begun(one)
        judged = []
        for entry in entries:
            order, *beside = (replace(o, setup=replace(o.setup, judge=one.judge)) for o in (entry.order, *entry.beside))
            judged.append(replace(entry, order=order, beside=tuple(beside)))
        found = survey(judged, one.judge, cases, settings)
        surveys.append(found)
        plan = plan_of(found, len(found.cases), settings.design, assumed)
        if not one.names:
            every = replace(found, settings=replace(settings, stopping=Stopping.FIXED))
            share = expected(every, plan, assumed).asks / max(1, plan.most.asks)
        rows.append((one, plan.most, _about(found, plan.most, share)))
    whole = _joined(surveys)
    together = plan_of(whole, len(whole.cases), settings.design, assumed).most
    return rows, together, _about(whole, together, share)


def _about(found: Survey, most: Figure, share: float) -> int:
    shown = (prompt for row in found.rows for unit in row.units for prompt in unit.prompts[:1])
    once = len({call.key for prompt in shown for call in prompt.calls if call.once})
    return round(once + share * max(0, most.calls - once))


def _joined(surveys: Sequence[Survey]) -> Survey:
    sources: list[Source] = []
    rows: list[ProbeRow] = []
    for place, one in enumerate(surveys):
        where = {}
        for number, source in enumerate(one.sources):
            if source not in sources:
                sources.append(source)
            where[number] = sources.index(source)
        for row in one.rows:
            units = []
            for unit in row.units:  # its prompts are marked as those of one set, its calls name the joined sources
                prompts = tuple(
                    Rendering(f"{place}/{p.key}", tuple(call._replace(source=where[call.source]) for call in p.calls))
                    for p in unit.prompts
                )
                units.append(unit._replace(prompts=prompts, owner=str(place)))
            rows.append(replace(row, units=tuple(units)))
    return replace(surveys[0], rows=tuple(rows), sources=tuple(sources))
