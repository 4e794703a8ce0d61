"""
What a judge that drifts while a run lasts does to the gate, in two orders: every question by itself, and by case.

    python -m benchmarks.drifting [--runs 400]

The judge is sound: no edit moves it. What it says depends on the time, counted in asks, and the engine asks one at a
time. So every red claim is a false alarm, and every mean but 0 is a bias. `gain` and `moved` (1 - net_robustness) are
those of all probes together.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from math import pi, sin, sqrt
from random import Random
from statistics import mean, stdev
from typing import Any

from benchmarks.scattered import scattered
from calm.core.case import Answer, Case, Treated, digest
from calm.core.claims import Outcome
from calm.core.edits import Edit, Expects, perturbation
from calm.core.measures import gain, net_robustness
from calm.core.verdict import Preferred, Scale, Task, Verdict
from calm.engine.engine import Engine
from calm.engine.queue import GUEST, Guest
from calm.engine.store import Mode, Store
from calm.experiment.run import Result, run
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design, Stopping
from calm.models.wire import Endpoint, Remarks, Send, Traits

CASES, PROBES = 60, 6
BLOCK = 3 + PROBES
"""Asks of one case: two clean ones, an inert one, as all probes can share it, and an edited one for each probe."""
ASKS = CASES * BLOCK
CLAIMS = (net_robustness >= 0.999, gain <= 0.0)
"""Claims without a margin: a sound judge without drift is red as often as the level of a claim allows."""

Law = Callable[[float, str, Random], float]
"""How probable it is that the judge errs: at a time (1 is the end of the run), on a case, as chance has it."""


def other(case_id: str) -> bool:
    """Return whether a second model errs on a case on which the first does not: on four of ten."""
    return int(digest("second model", case_id)[:8], 16) / 2**32 < 0.4


def wave(blocks: float) -> Law:
    """Return the law of a judge whose rate of error goes up and down, once in so many blocks."""
    return lambda time, _case, _dice: 0.25 + 0.23 * sin(2 * pi * time * ASKS / (BLOCK * blocks))


def turns(blocks: float) -> Law:
    """Return the law of two models that take turns, each for so many blocks."""
    return lambda time, case, _dice: float(other(case) and int(time * ASKS / (BLOCK * blocks)) % 2)


LAWS: Mapping[str, Law] = {
    "steady, errs in 10 %": lambda _time, _case, _dice: 0.10,
    "errs more and more, 2 to 48 %": lambda time, _case, _dice: 0.02 + 0.46 * time,
    "another model from the middle on": lambda time, case, _dice: float(other(case) and time > 0.5),
    "tosses coins for a tenth of the run": lambda time, _case, _dice: 0.5 if 0.45 < time < 0.55 else 0.02,
    "a wave of 8 blocks": wave(8),
    "a wave of 1 block": wave(1),
    "two models in turn, 2 blocks each": turns(2),
    "two models in turn, half a block each": turns(0.5),
}


@dataclass(eq=False, slots=True)
class Drifting:
    """A judge that prefers the good answer, and errs by a law of the time."""

    law: Law
    dice: Random
    task: Task = "pairwise"
    scale: Scale = field(default_factory=Scale)
    fingerprint: str | None = None
    traits: Traits = field(default_factory=lambda: Traits(concurrency=1))
    remarks: Remarks = field(default_factory=Remarks)
    name: str = "drifting"
    about: Mapping[str, Any] = field(default_factory=dict)
    endpoints: tuple[Endpoint, ...] = ()
    asked: int = 0

    def sees(self, case: Case) -> object:
        """Return what it reads."""
        return case.question, case.shown

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict of this moment."""
        if not send.ask:
            return Preferred("good")  # pilots come before the time that is meant, and leave all cases in
        time = self.asked / ASKS
        self.asked += 1
        return Preferred("bad" if self.dice.random() < self.law(time, case.id, self.dice) else "good")


def cases() -> tuple[Case, ...]:
    """Return pairs with a good and a bad answer."""
    answers = Answer("good", "The sum is four."), Answer("bad", "The sum is five.")
    return tuple(Case(f"c{n:02}", f"What is sum {n}?", answers, better="good") for n in range(CASES))


def edit(number: int) -> Edit:
    """Return an edit that cites a source of its own in the weaker answer."""

    def cite(case: Treated, rng: Random) -> Treated:
        """Cite a source."""
        return case.edit(case.target, lambda text: f"{text} (Source {number})")

    cite.__name__ = f"cite_{number}"
    return perturbation(bias="drift", expects=Expects.NOT_BETTER, source="own")(cite)


EDITS = [edit(number) for number in range(PROBES)]


@contextmanager
def running(seed: int) -> Iterator[Engine]:
    """Return an engine that keeps nothing, and close it."""
    engine = Engine(Store(None, Mode.OFF), seed=seed)
    try:
        yield engine
    finally:
        engine.close()


def gate(law: Law, seed: int) -> list[Result]:
    """Return the results of all probes of one run, which ask together."""
    judge = Drifting(law, Random(digest("drifting", seed)))
    found: dict[int, Result] = {}

    def probe(number: int, guest: Guest) -> None:
        GUEST.set(guest)
        found[number] = run(setup, EDITS[number], CLAIMS, top_up=False)

    with running(seed) as engine:
        setup = Setup(judge, cases(), engine, seed, Design(2, 1), Stopping.FIXED)
        with engine.gathering() as gathering:
            threads = [threading.Thread(target=probe, args=(n, gathering.guest())) for n in range(PROBES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if judge.asked != ASKS:
        raise RuntimeError(f"expected {ASKS} asks, got {judge.asked}")
    return [found[number] for number in range(PROBES)]


@dataclass(frozen=True, slots=True)
class Found:
    """What many runs of one law found: the share of red claims, and mean and spread over runs of both measures."""

    alarms: float
    moved: tuple[float, float]
    gained: tuple[float, float]

    @classmethod
    def of(cls, law: Law, runs: int, first: int = 0) -> Found:
        """Return what so many runs found."""
        red = claims = 0
        moved, gained = [], []
        for seed in range(first, first + runs):
            results = gate(law, seed)
            decisions = [ruling.decision for result in results for ruling in result.rulings]
            red += sum(decision.outcome is Outcome.FAIL for decision in decisions)
            claims += len(decisions)
            values: dict[str, list[float]] = {name: [] for name in NAMES}
            for decision in decisions:
                assert decision.estimate is not None, "no case is left out"
                values[decision.measure].append(decision.estimate.value)
            moved.append(1 - mean(values["net_robustness"]))
            gained.append(mean(values["gain"]))
        return cls(red / claims, (mean(moved), stdev(moved)), (mean(gained), stdev(gained)))


NAMES = ("net_robustness", "gain")


def table(runs: int) -> str:
    """Return a line for each law, in both orders."""
    lines = [
        f"| judge | order | red claims of {2 * PROBES * runs} | moved, mean ± 2 SE | SD | gain, mean ± 2 SE | SD |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, law in LAWS.items():
        for order, how in (("each by itself", scattered), ("by case", nullcontext)):
            with how():
                found = Found.of(law, runs)
            both = [f"{m:+.4f} ± {2 * sd / sqrt(runs):.4f} | {sd:.3f}" for m, sd in (found.moved, found.gained)]
            lines.append(f"| {name} | {order} | {found.alarms:.2%} | {both[0]} | {both[1]} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--runs", type=int, default=400)
    print(table(parser.parse_args().runs))


if __name__ == "__main__":
    main()
