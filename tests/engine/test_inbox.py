"""Questions that are asked before anybody waits for them: fewer steps, equal results."""

from dataclasses import replace

import pytest

from calm.core.edits import Expects, perturbation
from calm.core.measures import net_robustness
from calm.experiment.run import run
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design, Stopping
from tests.planted import Planted, chance, engine, fair, pairs


def noisy(case, ask):
    """Give the other answer in about a tenth of the asks."""
    verdict = fair(case, ask)
    other = next(a.id for a in case.answers if a.id != verdict.answer)
    return replace(verdict, answer=other) if chance(case.id, case.question, ask).random() < 0.1 else verdict


@perturbation(bias="load", expects=Expects.SAME, source="own")
def please(case, rng):
    """Add a word to the question."""
    return replace(case, question=f"{case.question} Please.")


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_looks_ahead_change_no_decision(ahead):
    """Questions that are asked while a look is decided change neither the finding nor how many asks it rests on."""
    found = []
    for looks_ahead in (0, ahead):
        judge = Planted(noisy)
        with engine() as running:
            setup = Setup(judge, tuple(pairs(200)), running, 0, Design(), Stopping.SEQUENTIAL, looks_ahead)
            found.append((run(setup, please, [net_robustness >= 0.80]), len(judge.asked)))

    (plain, asked), (other, more) = found
    assert [d.decision for d in other.rulings] == [d.decision for d in plain.rulings]
    assert [d.trials for d in other.rulings] == [d.trials for d in plain.rulings]
    assert other.asked == plain.asked <= asked <= more


def test_what_is_withdrawn_is_not_asked():
    """Withdrawn questions are asked only if they had begun."""
    judge = Planted(fair)
    cases = pairs(300)
    with engine() as running:
        prefetch = running.prefetch([(judge, case, 1) for case in cases])
        running.withdraw(prefetch)
        running.ask(judge, [(cases[0], 2)])

    assert len(judge.asked) < 300


def test_what_was_prefetched_is_asked_once():
    """A prefetched question has one verdict, for whoever asks it later."""
    judge = Planted(fair)
    cases = pairs(40)
    with engine() as running:
        running.prefetch([(judge, case, 1) for case in cases])
        found = running.ask(judge, [(case, 1) for case in cases])

    assert [a.verdict for a in found] == [fair(case, 1) for case in cases]
    assert len(judge.asked) == 40
