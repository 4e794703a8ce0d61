"""Probes that are asked together: their arms are spread alike over the time of the run, and it ends when it must."""

import asyncio
import threading
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from statistics import fmean

import pytest

from calm.core.edits import Expects, perturbation
from calm.core.measures import net_robustness
from calm.experiment.lookahead import Lookahead, Order
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design, Stopping
from calm.models.wire import Traits
from tests.planted import Planted, engine, fair, pair, pairs

PROBES, CASES = 12, 60


def polite(number):
    """Return an edit that adds a word: to the question, or, every other one, to an answer that a pilot must look at."""

    def ask_politely(case, rng):
        """Add a word to the question."""
        return replace(case, question=f"{case.question} Please ({number}).")

    def answer_politely(case, rng):
        """Add a word to the treated answer."""
        return case.edit(case.target, lambda text: f"{text} Please ({number}).")

    piloted = number % 2
    made = answer_politely if piloted else ask_politely
    made.__name__ = f"polite_{number}"
    expects = Expects.NOT_BETTER if piloted else Expects.SAME
    return perturbation(bias="load", expects=expects, source="own")(made)


EDITS = [polite(number) for number in range(PROBES)]


@dataclass(eq=False)
class Slow(Planted):
    """A planted judge that takes a while."""

    async def judge(self, case, send):
        """Return the planted verdict after a moment."""
        found = await super().judge(case, send)
        await asyncio.sleep(0.001)
        return found


@cache
def run(probes, seed=0, time=1):
    """Ask all probes, so many at a time; return the questions in the order asked, and the rulings: once each time."""
    judge = Slow(fair, traits=Traits(concurrency=4))
    with engine(seed=seed) as running:
        setup = Setup(judge, pairs(CASES), running, seed, Design(2, 1), Stopping.FIXED)
        orders = [Order(setup, edit, (net_robustness >= 0.8,), top_up=False) for edit in EDITS]
        ahead = Lookahead(probes)
        for order in orders:
            ahead.submit(order)
        ahead.begin()
        rulings = [[r.decision for r in ahead.result(order).result.rulings] for order in orders]
        ahead.stop()
    return [(arm(case, ask), case.id, ask) for case, ask in judge.asked], rulings


def arm(case, ask):
    """Return the arm that a question belongs to, and of which edit it is."""
    said = f"{case.question} {[a.text for a in case.answers]}"
    if ask == 0:
        return "pilot"
    if "Please" in said:
        return f"edit {said.partition('Please (')[2].partition(')')[0]}"
    return "clean" if case.answers == pair(case.id).answers and case.question == pair(case.id).question else "inert"


def far_off(asked, name):
    """Return how many standard deviations the mean place of an arm is from that of a random draw of the looks."""
    looks = [arm for arm, *_ in asked if arm != "pilot"]
    places = [place for place, arm in enumerate(looks, 1) if arm == name]
    count, few = len(looks), len(places)
    return (fmean(places) - (count + 1) / 2) / sqrt((count + 1) * (count - few) / (12 * few))


def test_all_arms_are_spread_alike_over_the_run():
    """
    The mean place of the questions of each arm, shared or not, is that of a random draw, after all pilots.

    By chance one of 14 would lie more than 5 standard deviations off for one seed in 120,000.
    """
    asked, _ = run(PROBES)
    arms = Counter(arm for arm, *_ in asked)

    assert set(arms) == {"pilot", "clean", "inert", *(f"edit {number}" for number in range(PROBES))}
    assert {arm for arm, *_ in asked[: arms["pilot"]]} == {"pilot"}
    assert {name: far_off(asked, name) for name in arms if name != "pilot" and abs(far_off(asked, name)) > 5} == {}
    assert far_off(run(1)[0], "clean") < -10  # probe by probe it comes first


def test_the_order_of_the_calls_is_drawn_from_the_seed():
    """It does not depend on which thread is first; another seed has another one, and the same findings."""
    asked, found = run(PROBES)

    again, same = run(PROBES, time=2)
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
