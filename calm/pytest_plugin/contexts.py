"""What the probe of a test works with: in a run, in a look-ahead, and in a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.asking import own
from calm.pytest_plugin.options import flag, limits_of, option
from calm.pytest_plugin.session import (
    CALLED,
    PROBE,
    SESSION,
    SUBJECT,
    asks_of,
    gate_of,
    judge_in,
    lookahead_for,
    setup_of,
    speaker,
    subject_of,
    wanted_of,
)

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.gate.plan import PlanRecord
    from calm.gate.probe import Probe
    from calm.gate.question import Context
    from calm.models.wire import Judge


def probe_of(item: pytest.Item, judge: Judge, cases: Sequence[Case]) -> Iterator[Probe]:
    """Yield the probe of a test, and fail the test afterwards if it left something to complain of."""
    from calm.gate.probe import Probe

    config = item.config
    ours = config.stash[SESSION]
    judge = judge_in(config, judge)
    cases = own(config, judge, cases)
    if ours.plan is not None:
        yield Probe(_planned_context(item, judge, cases, ours.plan))
        return
    context = _context_of(item, judge, cases)
    item.stash[SUBJECT] = subject_of(config, judge, context.setup, len(cases), context.limits)
    made = Probe(context)
    if ours.tracing:
        yield made
        return
    item.stash[PROBE] = made
    if CALLED in item.stash:  # a test may run again
        del item.stash[CALLED]
    yield made
    if item.stash.get(CALLED, False) and (complaint := made.complaint()):
        pytest.fail(complaint, pytrace=False)


def _context_of(item: pytest.Item, judge: Judge, cases: Sequence[Case]) -> Context:
    """Return what the probe of a test works with; while tests are traced, its orders go to the look-ahead."""
    from calm.gate.question import LookaheadSink

    config = item.config
    context = _context(item, judge, cases)
    context.say = speaker(config)
    context.lookahead = lookahead_for(config, judge)
    session = config.stash[SESSION]
    context.announced = session.announced
    context.sink = LookaheadSink(context.lookahead, session.traced) if session.tracing else None
    return context


def _planned_context(item: pytest.Item, judge: Judge, cases: Sequence[Case], record: PlanRecord) -> Context:
    """Return what the probe of a test works with in a plan: its orders are collected and not sent."""
    from calm.cases import upright
    from calm.gate.plan import PlanSink
    from calm.gate.requests import StandIn

    context = _context(item, judge.inner if isinstance(judge, StandIn) else judge, cases)
    record.cases = upright(cases, judge.task, judge.scale) if record.cases is None else record.cases
    context.sink = PlanSink(record)
    return context


def _context(item: pytest.Item, judge: Judge, cases: Sequence[Case]) -> Context:
    from calm.gate.question import Context, Node

    config = item.config
    undecided: Any = option(config, "undecided")
    return Context(
        setup_of(config, judge, cases, asks_of(item)),
        Node(item.nodeid, item.path.stem.removeprefix("test_").replace("_", "-")),
        undecided=undecided,
        every_variant=flag(config, "every-variant"),
        lenient=lambda: item.get_closest_marker("xfail") is not None,
        limits=limits_of(config, item.path),
        gate=gate_of(config),
        wanted_by=partial(wanted_of, config, judge, tuple(cases)),
        claimed=config.stash[SESSION].claimed,
        twice=config.stash[SESSION].twice,
    )
