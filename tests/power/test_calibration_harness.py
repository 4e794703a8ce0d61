"""The harness of the calibration page finds what the product finds, with its engine and without what is remembered."""

from dataclasses import dataclass, replace

import pytest

from benchmarks.calibration.harness import TASKS, Gate, SimulatedEngine, usual_cases
from benchmarks.calibration.laws import Bias, Course, Manner, one_answer, sound
from calm.core.claims import Outcome
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment.setup import Setup
from calm.judges.wrapper import JudgeWrapper
from calm.results.findings import finding
from calm.results.pairing import pooled


@dataclass(frozen=True, slots=True, eq=False)
class Lawful(JudgeWrapper):
    """A judge that says what the simulated engine says of the same prompt and ask."""

    gate: Gate
    engine: SimulatedEngine

    @property
    def fingerprint(self):
        """None: nothing of it is kept."""
        return None

    @property
    def endpoints(self):
        """None: nothing is called."""
        return ()

    async def judge(self, case, send):
        """Return the verdict."""
        return self.engine.verdict(self.gate.memory.recognised(case), send.ask)


def told(findings):
    """Return all of the findings that is decided or recorded."""
    return {
        (f.key, f.outcome, f.reason, f.value, f.low, f.high, f.n, f.cases_to_decide, tuple(f.excluded.items()))
        for f in findings
    }, [f.trials for f in findings]


@pytest.mark.parametrize("task", TASKS)
def test_the_harness_finds_what_the_product_finds(task):
    """The same findings, rows and calls of the whole default gate, for a noisy judge with a bias of 3 %."""
    gate = Gate(task, usual_cases(task))
    law = sound(gate, "beta", 7, Manner(Bias(everywhere=0.03)))

    same_as_for_real(gate, law)


@pytest.mark.parametrize("ties", ["coin", "text"])
def test_the_harness_asks_of_equal_pairs_what_the_product_asks(ties):
    """The same for a judge that goes by right and wrong first, some of whose replies cannot be read."""
    gate = Gate("pairwise", usual_cases("pairwise", 100))
    bias = Bias(equal=Bias(probes={"authority": 0.6, "verbosity": 1.0}))
    law = sound(gate, "beta", 8, Manner(bias, Course(unread=0.02), ties=ties))

    findings = same_as_for_real(gate, law)

    assert {f.bias for f in findings if f.outcome is Outcome.FAIL} == {"authority", "verbosity"}


def test_the_harness_asks_of_one_answer_and_its_copy_what_the_product_asks():
    """The same on a user's own cases, each with one answer and no gold."""
    gate = Gate("pairwise", one_answer(usual_cases("pairwise", 60)), limits="attainable")
    law = sound(gate, "noise .05", 9, Manner(Bias(probes={"injection": 0.5}), ties="first"))

    same_as_for_real(gate, law)


def same_as_for_real(gate, law):
    """Assert that both find the same with as many calls, and return what is found."""
    simulated = gate.run(law, 7)
    findings, calls = run_for_real(gate, SimulatedEngine(gate.memory.prompt, law, 7))

    assert told(simulated.findings) == told(findings)
    assert simulated.calls == calls
    return findings


def run_for_real(gate, said):
    """Return the findings of the product's engine and the calls that it made."""
    judge = Lawful(gate.memory.judge, gate, said)
    engine = Engine(Store(None, Mode.OFF))
    found = []
    try:
        for order in gate.orders.values():
            setup = Setup(judge, gate.cases, engine, equals=gate.equals)
            result = order_on(order, setup).run()
            found += [
                finding(
                    bias=order.bias,
                    node=order.bias,
                    task=gate.task,
                    edit=order.edit,
                    against=order.against,
                    decision=ruling.decision,
                    trials=ruling.trials,
                )
                for ruling in result.rulings
            ]
        found += pooled(found, gate.scale, gate.task, {}, gate.limiter)
        return found, engine.ledger.calls["made"]
    finally:
        engine.close()


def order_on(order, setup):
    """Return the order with another setup."""
    return replace(order, setup=setup)
