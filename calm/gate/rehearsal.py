"""
A rehearsal: the run of a plan with a sound judge in the place of the real one, to see what it asks.

The experiment itself runs, with its own looks, top-ups and screening of variants, so the questions are those of a run
in which the judge says the same. Nothing is sent: each question is put to the judge with a `send` that calls nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from calm.engine.thread import RareCollections
from calm.experiment.lookahead import Order
from calm.gate.plan import CROSS, Survey
from calm.gate.prices import Assumptions, Figure, Plan, Tally, greeting, plan_of
from calm.gate.requests import Rendering, RequestFinder, RequestFinders
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
        setup = replace(order.setup, cases=shown, equals=order.setup.equals[: len(shown)], design=plan.design)
        setup = replace(setup, seed=settings.seed, stopping=settings.stopping)
        total = total.plus(_rehearsed(replace(order, setup=setup), found.finders, tally, noise))
    return total


def shares(orders: Sequence[Order], assumptions: Assumptions = Assumptions()) -> list[Figure]:
    """
    Return what each order adds to those before it, with a sound judge that errs now and then.

    An edit that breaks, or a claim that does not fit, takes nothing: its test says so.
    """
    finders = RequestFinders()
    tally = Tally(finders.sources, assumptions)
    found = []
    with RareCollections():
        for order in orders:
            try:
                found.append(_rehearsed(order, finders, tally, NOISE))
            except Exception:  # noqa: BLE001 - it is reported where its test runs
                found.append(Figure())
    return found


def _rehearsed(order: Order, finders: RequestFinders, tally: Tally, noise: float) -> Figure:
    """Run an order with a judge that errs in a share of its asks, and return what it adds to what was tallied."""
    finder = finders.of(order.setup.judge)
    expects = order.edit.expects if order.edit else None
    judge = sound(order.setup.judge, expects, order.setup.cases, noise, finder.memo)
    setup = replace(order.setup, judge=judge, engine=stage(), looks_ahead=0, memo=finder.memo, counting=True)
    replace(order, setup=setup).run()
    return tally.rendered(_rendered(finder, judge.asked.values()))


def _rendered(finder: RequestFinder, asked: Iterable[Asked]) -> Iterator[tuple[Rendering, int]]:
    """Yield the prompt of each ask with its repeat index."""
    each = list(asked)
    judges = [None if one.judge is finder.judge else StandIn(one.judge) for one in each]
    for (_, prompt), one in zip(finder.prompts([one.case for one in each], judges), each, strict=True):
        yield prompt, one.ask
