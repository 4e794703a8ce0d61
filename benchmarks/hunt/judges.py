"""Judges with one planted rule about a text, and judges without any, for measures of hunts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from calm.cases import bundled
from calm.core.case import Case, digest
from calm.core.verdict import Task
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment.setup import Setup
from calm.judges.python import PythonJudge
from calm.models.wire import Judge, Send
from calm.plugins.search.arms import arms_for
from calm.plugins.search.findings import Hunted
from calm.plugins.search.hunt import hunt
from calm.plugins.search.proposers import bandit_for
from calm.plugins.search.subjects import PLACES, Bounds


@dataclass(frozen=True)
class _Ruled:
    holds: Callable[[str], bool]
    noise: float
    seed: int
    frozen: bool
    fingerprint: str
    task: ClassVar[Task] = "pairwise"
    reads: ClassVar = ("question", "answers", "better")

    async def __call__(self, case: Case, send: Send) -> str | None:
        first, second = (self.holds(answer.text) for answer in case.answers)
        said = case.better if first == second else "A" if first else "B"
        seen = case.question, [answer.text for answer in case.answers]
        if Random(digest("noise", self.seed, seen, 0 if self.frozen else send.ask)).random() < self.noise:
            return {"A": "B", "B": "A"}.get(said or "", said)
        return said


def ruled(name: str, holds: Callable[[str], bool], noise: float = 0.0, seed: int = 0, *, frozen: bool = False) -> Judge:
    """
    Return a judge that goes by the gold label, unless one of two answers alone has what a rule wants: that one wins.

    It errs with probability `noise`, anew in each ask or, if `frozen`, in the same way whenever it sees the same.
    """
    return PythonJudge(_Ruled(holds, noise, seed, frozen, f"{name} {noise} {seed} {frozen}"), name)


def hunted(judge: Judge, seed: int, bounds: Bounds) -> Hunted:
    """Return what a hunt in the answers of bundled pairs finds, with the cases in an order of the seed's."""
    cases = bundled("pairwise")
    engine = Engine(Store(None, Mode.OFF), seed=seed)
    try:
        engine.admit(judge)
        setup = Setup(judge, tuple(Random(seed).sample(cases, len(cases))), engine, seed)
        arms = arms_for("pairwise")
        place = PLACES["answer"]
        return hunt(setup, place, bandit_for(arms, place, setup, asks=bounds.asks), bounds)
    finally:
        engine.close()
