"""Probes that are asked together: their arms are spread alike over the time of the run, and it ends when it must."""

import asyncio
import threading
from dataclasses import dataclass, replace
from math import sqrt
from statistics import fmean

import pytest

from calm.core.edits import Expects, perturbation
from calm.core.measures import net_robustness
from calm.experiment.lookahead import Lookahead, Order
from calm.experiment.setup import Design, Setup
from calm.models.wire import Traits
from tests.planted import Planted, engine, fair, pairs

PROBES, CASES = 12, 60


def polite(number):
    """Return an edit that adds a word to the question."""

    def add(case, rng):
        """Add a word to the question."""
        return replace(case, question=f"{case.question} Please ({number}).")

    add.__name__ = f"polite_{number}"
    return perturbation(bias="load", expects=Expects.SAME, source="own")(add)


EDITS = [polite(number) for number in range(PROBES)]


@dataclass(eq=False)
class Slow(Planted):
    """A planted judge that takes a while."""

    async def judge(self, case, send):
        """Return the planted verdict after a moment."""
        found = await super().judge(case, send)
        await asyncio.sleep(0.001)
        return found


def run(probes, seed=0):
    """Ask all probes, so many at a time; return the questions in the order asked, and the rulings."""
    judge = Slow(fair, traits=Traits(concurrency=4))
    with engine(seed=seed) as running:
        setup = Setup(judge, pairs(CASES), running, seed, Design(2, 1))
        orders = [Order(setup, edit, (net_robustness >= 0.8,), top_up=False) for edit in EDITS]
        ahead = Lookahead(probes)
        for order in orders:
            ahead.submit(order)
        ahead.begin()
        rulings = [[r.decision for r in ahead.result(order).result.rulings] for order in orders]
        ahead.stop()
    return [(case.question, case.id, ask) for case, ask in judge.asked], rulings


def mean_place(asked, *, clean):
    """Return the mean place of the questions of the clean arm, or of those of all edits."""
    return fmean(place for place, (question, *_) in enumerate(asked, 1) if clean != ("Please" in question))


def test_the_clean_arm_is_spread_over_the_run_like_the_edits():
    """
    The mean place of its 120 questions among 840 is that of a random draw.

    By chance it would lie more than 4.4 standard deviations off for one seed in 90,000.
    """
    asked, _ = run(PROBES)
    count, few = len(asked), sum("Please" not in question for question, *_ in asked)

    assert (count, few) == (PROBES * CASES + 2 * CASES, 2 * CASES)
    deviation = sqrt((count + 1) * (count - few) / (12 * few))
    assert abs(mean_place(asked, clean=True) - (count + 1) / 2) < 4.4 * deviation
    assert mean_place(run(1)[0], clean=True) < (count + 1) / 2 - 10 * deviation  # probe by probe it comes first


def test_the_order_of_the_calls_is_drawn_from_the_seed():
    """It does not depend on which thread is first; another seed has another one, and the same findings."""
    asked, found = run(PROBES)

    again, same = run(PROBES)
    other, others = run(PROBES, seed=5)

    assert again == asked
    assert other != asked
    assert sorted(other) == sorted(asked)
    assert found == same == others == run(1)[1] == run(5)[1]


@pytest.mark.parametrize("probes", [1, 5, PROBES])
def test_what_was_stopped_ends(probes):
    """No thread is left, however many orders had begun; nothing is asked after the stop but what was under way."""
    judge = Slow(fair, traits=Traits(concurrency=4))
    with engine() as running:
        setup = Setup(judge, pairs(CASES), running, 0, Design(2, 1))
        ahead = Lookahead(probes)
        for edit in EDITS:
            ahead.submit(Order(setup, edit, (net_robustness >= 0.8,)))
        ahead.begin()
        while len(judge.asked) < 20:
            pass
        ahead.stop()
        running.stop()
        asked = len(judge.asked)

    for thread in threading.enumerate():
        if thread.name.startswith("calm-lookahead"):
            thread.join(timeout=30)
            assert not thread.is_alive()
    assert len(judge.asked) == asked < PROBES * CASES
