"""
A rehearsal: the run of a plan with a sound judge in the place of the real one, to see what it asks.

The experiment itself runs, with its own looks, top-ups and screening of variants, so the questions are those of a run
in which the judge says the same. Nothing is sent: each question is put to the judge with a `send` that calls nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from calm.core.case import Case
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.gate.plan import CROSS, Survey
from calm.gate.prices import Assumptions, Figure, Plan, Tally, greeting, plan_of
from calm.gate.requests import Rendering, RequestFinder
from calm.gate.resolution import NOISE
from calm.gate.stand_in import StandIn, sound
from calm.models.wire import Judge


def rehearsed(found: Survey, plan: Plan, assumptions: Assumptions = Assumptions()) -> Plan:
    """Return a plan with what a judge that never moves takes, and what a sound one that errs now and then."""
    if not found.orders:
        return replace(plan, least=plan.most, expected=plan.most)
    least, expected = (_figure(found, plan, noise, assumptions) for noise in (0.0, NOISE))
    return replace(plan, least=least, expected=expected)


def planned(found: Survey, assumptions: Assumptions = Assumptions()) -> Plan:
    """Return what a run on all cases of a survey takes: at least, as expected, and at most."""
    plan = plan_of(found, len(found.cases), found.settings.design, assumptions)
    return rehearsed(found, plan, assumptions)


def _figure(found: Survey, plan: Plan, noise: float, assumptions: Assumptions) -> Figure:
    """Return what the run takes with a judge that errs in a share of its asks."""
    tally = Tally(found.finders.sources, assumptions)
    total = tally.figure([greeting(place) for place, source in enumerate(found.sources) if source.greeted], 0)
    crossed = [u for row in found.rows for u in row.units if u.arm == CROSS]
    total = total.plus(tally.rendered((u.prompts[0], 1) for u in crossed))
    wanted = set(found.cases[: plan.cases])
    cases = tuple(case for case in found.sampled if case.id in wanted)
    engine = Engine(Store(None, Mode.OFF))
    try:
        for order in found.orders:
            shown = order.setup.cases if order.own_cases else cases
            judge = sound(order.setup.judge, order.edit.expects if order.edit else None, shown, noise)
            finder, settings = found.finders.of(order.setup.judge), found.settings
            setup = replace(order.setup, judge=judge, cases=shown, engine=engine, looks_ahead=0, design=plan.design)
            setup = replace(setup, seed=settings.seed, stopping=settings.stopping, memo=finder.memo)
            replace(order, setup=setup).run()
            total = total.plus(tally.rendered(_rendered(finder, judge.asked)))
    finally:
        engine.close()
    return total


def _rendered(finder: RequestFinder, asked: Sequence[tuple[Judge, Case, int]]) -> Iterator[tuple[Rendering, int]]:
    """Yield the prompt of each ask with its repeat index."""
    judges = [None if judge is finder.judge else StandIn(judge) for judge, _, _ in asked]
    prompts = finder.prompts([case for _, case, _ in asked], judges)
    for (_, prompt), (_, _, number) in zip(prompts, asked, strict=True):
        yield prompt, number
