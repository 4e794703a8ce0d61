"""What an ask leaves behind is freed at once: no cycle of objects waits for the collector."""

import gc
from dataclasses import replace

import pytest

from calm.cases import bundled
from calm.engine.engine import Engine
from calm.engine.requests import MOST_REQUESTS
from calm.engine.store import Mode, Store
from calm.gate.from_spec import judge_from


@pytest.fixture
def engine():
    made = Engine(Store(None, Mode.OFF))
    yield made
    made.close()


def test_asks_leave_no_cycles(engine):
    """Requests that are forgotten are gone: they leave the collector less than one object each."""
    judge, cases = judge_from("planted:noise=0.02"), bundled("pairwise")[:100]
    copies = [replace(case, id=f"{case.id}-{n}") for n in range(3 * MOST_REQUESTS // 100) for case in cases]
    asked = [(replace(case, question=f"{case.id}: {case.question}"), 1) for case in copies]
    gc.collect()
    gc.disable()
    try:
        engine.ask(judge, asked)
        found = gc.collect()
    finally:
        gc.enable()

    assert found < MOST_REQUESTS
