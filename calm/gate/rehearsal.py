"""
A rehearsal: the run of a plan with a sound judge in the place of the real one, to see what it asks.

The experiment itself runs, with its own looks, top-ups and screening of variants, so the questions are those of a run
in which the judge says the same. Nothing is sent: each question is put to the judge with a `send` that calls nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from calm.engine.collector import RareCollections
from calm.gate.plan import CROSS, Survey
from calm.gate.prices import Assumptions, Figure, Plan, Tally, greeting, plan_of
from calm.gate.requests import Rendering, RequestFinder
from calm.gate.resolution import NOISE
from calm.gate.stand_in import Asked, StandIn, sound, stage


def rehearsed(found: Survey, plan: Plan, assumptions: Assumptions = Assumptions()) -> Plan:
    """Return a plan with what a judge that never moves takes, and what a sound one that errs now and then."""
    if not any(row.order for row in found.rows):
        return replace(plan, least=plan.most, expected=plan.most)
    with RareCollections():
        least, expected = (_figure(found, plan, noise, assumptions) for noise in (0.0, NOISE))
    return replace(plan, least=least, expected=expected)


def expected(found: Survey, plan: Plan, assumptions: Assumptions = Assumptions()) -> Figure:
    """Return what a sound judge takes that errs now and then, in one run of this seed."""
    if not any(row.order for row in found.rows):
        return plan.most
    with RareCollections():
        return _figure(found, plan, NOISE, assumptions)


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
    settings = found.settings
    for row in found.rows:
        order = row.order
        if order is None:
            continue
        shown = order.setup.cases if order.own_cases else cases
        finder = found.finders.of(order.setup.judge)
        judge = sound(order.setup.judge, order.edit.expects if order.edit else None, shown, noise, finder.memo)
        setup = replace(order.setup, judge=judge, cases=shown, engine=stage(), looks_ahead=0, design=plan.design)
        setup = replace(setup, seed=settings.seed, stopping=settings.stopping, memo=finder.memo, counting=True)
        setup = replace(setup, equals=setup.equals[: len(shown)])
        replace(order, setup=setup).run()
        total = total.plus(tally.rendered(_rendered(finder, judge.asked.values())))
    return total


def _rendered(finder: RequestFinder, asked: Iterable[Asked]) -> Iterator[tuple[Rendering, int]]:
    """Yield the prompt of each ask with its repeat index."""
    each = list(asked)
    judges = [None if one.judge is finder.judge else StandIn(one.judge) for one in each]
    for (_, prompt), one in zip(finder.prompts([one.case for one in each], judges), each, strict=True):
        yield prompt, one.ask
