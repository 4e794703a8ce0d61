"""What an ask leaves behind is freed at once: no cycle of objects waits for the collector."""

import gc
import threading
from dataclasses import replace

import pytest

from calm.cases import bundled
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.engine.thread import RARELY
from calm.gate.from_spec import judge_from


@pytest.fixture
def engine():
    made = Engine(Store(None, Mode.OFF))
    yield made
    made.close()


def test_asks_leave_no_cycles(engine):
    """Requests that are forgotten are gone: they leave the collector less than one object for three of them."""
    judge, cases = judge_from("planted:noise=0.02"), bundled("pairwise")[:100]
    copies = [replace(case, id=f"{case.id}-{n}") for n in range(30) for case in cases]
    asked = [(replace(case, question=f"{case.id}: {case.question}"), 1) for case in copies]
    gc.collect()
    gc.disable()
    try:
        engine.ask(judge, asked)
        found = gc.collect()
    finally:
        gc.enable()

    assert found < 1000


def test_the_collector_looks_rarely_while_a_probe_works_ahead_and_is_set_back(engine):
    """Also where several work at a time, and one of them fails."""
    before = gc.get_threshold()
    with engine.working(threading.Event()):
        during = gc.get_threshold()
        engine.ask(judge_from("planted:noise=0.02"), [(bundled("pairwise")[0], 1)])
        again = gc.get_threshold()
    with pytest.raises(ValueError, match="x"), engine.working(threading.Event()):
        raise ValueError("x")

    assert during == again == tuple(map(max, before, RARELY))
    assert gc.get_threshold() == before
