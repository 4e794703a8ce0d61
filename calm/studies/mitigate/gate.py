"""The gate on one set: what the probes ask, what it costs, and its values case by case."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum
from pathlib import Path
from typing import TypeVar, cast

from calm.cases import sample
from calm.core.case import Case
from calm.core.claims import Outcome
from calm.core.edits import AnyEdit, Expects
from calm.core.measures import MEASURES
from calm.core.reasons import Reason
from calm.core.trials import Trial, Trials
from calm.core.verdict import Criteria, Label, Preferred, Ranking, Scale, Score, Tie, Verdict, readable
from calm.engine.asks import Judgment, Question
from calm.engine.engine import Engine
from calm.experiment import run as experiment
from calm.experiment.asks import Asks
from calm.experiment.lookahead import Order
from calm.experiment.setup import Setup
from calm.experiment.stopping import Ruling, Stopping
from calm.gate.plan import PlanEntry, PlanSettings
from calm.gate.question import TOLERATED
from calm.gate.stand_in import StandIn
from calm.judges.mitigations import mitigated
from calm.judges.mitigations.mitigation import InFolder, Reader
from calm.models.pricing import Cost, cost, price_of
from calm.models.wire import Judge, Reply, Request
from calm.results.audit import Finding, finding
from calm.results.tabular import Unread, unread_of
from calm.studies.mitigate.study import MEASURED, Figures, MitigationSet
from calm.studies.provenance import audit_of

COUNTED = 20
"""The number of cases on which the asks of a judge in code are counted."""


T = TypeVar("T")
R = TypeVar("R")


class _Meter:
    """The part of an engine that an experiment needs; it notes what was asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.store = engine, engine.store
        self.keys: set[bytes] = set()
        self.calls: list[int] = []

    def ask(self, judge: Judge, questions: Sequence[tuple[Case, int]]) -> list[Judgment]:
        return self.ask_each([(judge, case, ask) for case, ask in questions])

    def ask_each(self, questions: Sequence[Question]) -> list[Judgment]:
        found = self._engine.ask_each(questions)
        for asked in found:
            self.keys |= {*asked.calls, *asked.once}
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
        _cost(judge, engine, meter.keys),
        tuple(map(str, judge.remarks.notes)),
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
        first = [_first_asks(row, asks) for row in rows[: asks.perturbed]]
        values = [MEASURES["net_robustness"].per_case(row, trials.scale) for row in first]
        known = [1 - value for value in values if not isinstance(value, Reason)]
        if known:
            found[place, case] = fsum(known) / len(known)
    return found


def _first_asks(row: Trial, asks: Asks) -> Trial:
    """Return a row with so many asks."""
    return replace(
        row, clean=row.clean[: asks.clean], inert=row.inert[: asks.inert], perturbed=row.perturbed[: asks.perturbed]
    )


def _clean_values(trials: Trials, cases: Sequence[Case]) -> dict[str, dict[tuple[int, str], float]]:
    """Return accuracy, noise, ties and unread replies of the clean asks, case by case."""
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
    """Return how often a judge in code is asked for one verdict, counted on a stand-in that is never asked."""
    stand_ins = _StandIns(reader)
    inside = one.judge
    while inside is not None and hasattr(inside, "inner"):
        inside = inside.inner
    assert inside is not None
    judge = mitigated(stand_ins.of(inside), one.names, stand_ins)
    shown = cases[:COUNTED]
    asyncio.run(_asked_all(judge, shown))
    return sum(len(s.piloted) for s in stand_ins.made) / len(shown) if shown else 0.0


class _StandIns:
    """Reads other judges as a reader does, and makes a stand-in for each."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.folder = reader.folder if isinstance(reader, InFolder) else Path()
        self.made: list[StandIn] = []

    def of(self, judge: Judge) -> Judge:
        """Return a stand-in for a judge."""
        self.made.append(StandIn(judge))
        return self.made[-1]

    def __call__(self, spec: str) -> Judge:
        return self.of(self._reader(spec))


async def _asked_all(judge: Judge, cases: Sequence[Case]) -> None:
    for case in cases:
        await judge.judge(case, _Nobody())


class _Nobody:
    """A `send` that calls no server."""

    ask = 1

    async def __call__(self, request: Request) -> Reply:
        return Reply("planned, not asked")


def _cost(judge: Judge, engine: Engine, keys: set[bytes]) -> Cost | None:
    """Return the cost of calls, including those that another set made before; None for Python code."""
    if not judge.endpoints:
        return None
    live = [endpoint for endpoint in judge.endpoints if endpoint.live]
    prices = {engine.served.get(e.identity, e.model): price_of(e) for e in live}
    prices |= {e.model: price_of(e) for e in live}
    unpriced = tuple(dict.fromkeys(e.model for e in live if prices[e.model] is None))
    other = None if unpriced else next(iter(prices.values()), None)
    total = 0.0
    for key in keys:
        reply = engine.store.get(key)
        price = None if reply is None else prices.get(reply.model, other)
        if reply is not None and price is not None:
            total += cost(price, reply.usage)
    return Cost(total, unpriced)
