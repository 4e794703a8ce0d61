"""What the fixture `verdict_of` gives: one object for the whole session, which asks the judge of the test that runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.session import CASES, SESSION, SUBJECT, asks_of, cases_of, judge_in, setup_of, subject_of

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.experiment.setup import Setup
    from calm.gate.verdict_of import NoVerdict, VerdictOf
    from calm.models.wire import Judge

NAME = "verdict_of"


def searches(item: pytest.Item) -> bool:
    """Return whether Hypothesis runs a test: it does so many times, so it is not run ahead for what it would ask."""
    hypothesis = sys.modules.get("hypothesis")
    return hypothesis is not None and hypothesis.is_hypothesis_test(getattr(item, "function", None))


def asks_alone(item: pytest.Item) -> bool:
    """Return whether a test takes `verdict_of`, and no probe."""
    names = getattr(item, "fixturenames", ())
    return NAME in names and "probe" not in names


def ended_without_verdict(call: pytest.CallInfo[None]) -> NoVerdict | None:
    """Return what ended a test that got no reply; None for every other end."""
    known = sys.modules.get("calm.gate.verdict_of")
    error = call.excinfo.value if call.excinfo is not None else None
    return error if known is not None and isinstance(error, known.NoVerdict) else None


@contextmanager
def verdict_of_run(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> Iterator[VerdictOf]:
    """Give what asks the judge of a run, made once; Hypothesis takes no fixture of a single test."""
    from calm.gate.verdict_of import VerdictOf

    session = config.stash[SESSION]
    judge = judge_in(config, judge)
    cases = own(config, judge, cases)
    made = session.asking = VerdictOf(setup_of(config, judge, cases), lambda: session.tracing)
    with drawing(made.setup, cases):
        yield made


@contextmanager
def asking_for(item: pytest.Function) -> Iterator[None]:
    """Let `verdict_of` ask the judge of a test, and strategies draw its cases, while the test runs."""
    ours = item.config.stash[SESSION]
    if ours.asking is None or item.funcargs.get(NAME) is not ours.asking:
        yield
        return
    config = item.config
    given: dict[str, Any] = item.funcargs
    judge = judge_in(config, given["judge"])
    cases = own(config, judge, given["cases"])
    setup = setup_of(config, judge, cases, asks_of(item))
    if not ours.tracing:
        item.stash[SUBJECT] = subject_of(config, judge, setup, len(cases))
    with ours.asking.about(setup), drawing(setup, cases):
        yield


@contextmanager
def drawing(setup: Setup, cases: Sequence[Case]) -> Iterator[None]:
    """Let strategies draw the sample of a run, in the order of its cases."""
    from calm.core.plugins import hook

    if (during := hook("drawing")) is None:
        yield
        return
    chosen = {case.id for case in setup.cases}
    judge = setup.judge
    with during([c for c in cases if c.id in chosen], judge.task, str(judge.about.get("model") or judge.name)):
        yield


def own(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> Sequence[Case]:
    """Return the cases of a test: pytest keeps one value of a session fixture, though folders have other judges."""
    if any(cases is known for known in config.stash.get(CASES, {}).values()):
        return cases_of(config, judge)
    return cases
