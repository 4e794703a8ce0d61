"""Conditions: which judge meets which gate, and what is counted. A condition gives numbers for each seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import sqrt
from typing import Final, Protocol

from benchmarks.calibration.harness import CASES, Gate, Law, Run, Task, usual_cases
from benchmarks.calibration.laws import Bias, Course, Manner, PairJudge, Ties, one_answer, pairs_of, sound
from benchmarks.calibration.laws import tied as with_ties
from calm.cases import equal_cases
from calm.core.case import Case
from calm.core.claims import Claim, Outcome
from calm.core.measures import MEASURES
from calm.core.verdict import Scale
from calm.gate.question import FINE
from calm.gate.resolution import Limits
from calm.results.notes import repeats, rewording

GATES: Final = 200
"""Seeds of a whole gate."""
PROBES: Final = 1000
"""Seeds of a single probe."""
Numbers = Mapping[str, float]
"""What was counted with one seed, by name; what held is 1, what did not is 0."""


class Condition(Protocol):
    """Something that is simulated with many seeds."""

    @property
    def runs(self) -> int:
        """How many seeds are wanted."""
        ...

    def measure(self, seed: int) -> Numbers:
        """Return what is counted with one seed."""
        ...


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number, its Monte-Carlo error (one standard deviation), and on how many seeds it rests."""

    value: float
    error: float
    runs: int

    def __str__(self) -> str:
        places = 0 if abs(self.value) >= 100 else 1 if abs(self.value) >= 10 else 3
        return f"{self.value:,.{places}f} ± {self.error:.{places}f}"


def figure(values: Sequence[float]) -> Figure:
    """Return the mean of numbers, one a seed. The error of a share that is 0 or 1 is that of one seed in all."""
    runs = len(values)
    middle = sum(values) / runs
    if all(v in (0, 1) for v in values):
        p = min(max(middle, 1 / runs), 1 - 1 / runs)
        return Figure(middle, sqrt(max(0.0, p * (1 - p)) / runs), runs)
    return Figure(middle, sqrt(sum((v - middle) ** 2 for v in values) / max(1, runs - 1) / runs), runs)


@dataclass(frozen=True, slots=True)
class Whole:
    """
    A whole gate: the judge, what its edits do, how its server behaves, and what is counted.

    `ties` is what the judge does with two equal answers. `tied`: 40 % of the cases are honestly tied. `own`: the cases
    are a user's own, each with one answer and no gold.
    """

    task: Task = "pairwise"
    judge: str = "noise .05"
    bias: Bias = field(default_factory=Bias)
    course: Course = field(default_factory=Course)
    frozen: bool = False
    ties: Ties = "text"
    tied: bool = False
    own: bool = False
    cluster: int = 1
    wrong_gold: float = 0.0
    stubborn: float | None = None
    scale: Scale = field(default_factory=Scale)
    cases: int = CASES
    limits: Limits = "suites"
    named: str = ""
    """A prefix of the keys of claims that are to FAIL, and no others."""
    runs: int = GATES

    def measure(self, seed: int) -> Numbers:
        """Run the gate once."""
        gate = gate_of(
            self.task,
            tied=self.tied,
            own=self.own,
            cluster=self.cluster,
            scale=self.scale,
            n=self.cases,
            limits=self.limits,
        )
        run = self.run(gate, seed)
        found = {
            "green": run.green,
            "fail": bool(run.failed),
            "calls": run.calls,
            "says rewording": bool(rewording(run.findings)),
            "says repeats": bool(repeats(run.findings)),
        }
        if self.named:
            found["named"] = any(key.startswith(self.named) for key in run.failed)
            found["others"] = any(not key.startswith((self.named, "run/")) for key in run.failed)
        for f in run.findings:
            if f.bias == "run":
                found[f"PASS {f.key}"] = f.outcome is Outcome.PASS
                found[f"FAIL {f.key}"] = f.outcome is Outcome.FAIL
        found |= {f"red {key}": True for key in run.red}
        return {name: float(number) for name, number in found.items()}

    def run(self, gate: Gate, seed: int) -> Run:
        """Return the run with one seed."""
        manner = Manner(self.bias, self.course, *both_clusters(gate, self.cluster), ties=self.ties)
        if gate.task == "pairwise":
            equals, wrong = len(gate.equals), self.wrong_gold
            drawn = pairs_of(self.judge, gate.cases, seed, equals=equals, wrong_gold=wrong, stubborn=self.stubborn)
            law: Law = PairJudge(gate.cases, drawn, seed, manner)
        else:
            law = sound(gate, self.judge, seed, manner)
        changes = bool(self.course.drift or self.course.swapped)
        return gate.run(law, seed, frozen=self.frozen, interleaved=changes)


@cache
def _gates() -> dict[tuple[object, ...], Gate]:
    return {}


def gate_of(
    task: Task,
    *,
    tied: bool = False,
    own: bool = False,
    cluster: int = 1,
    scale: Scale | None = None,
    n: int = CASES,
    limits: Limits = "suites",
) -> Gate:
    """Return the gate about the usual cases, made once; `cluster` of them, or equal pairs, are about one question."""
    scale = Scale() if scale is None else scale
    key = task, tied, own, cluster, scale.low, scale.high, n, limits
    known = _gates()
    if key not in known:
        cases = usual_cases(task, n)
        cases = with_ties(cases) if tied else one_answer(cases) if own else cases
        equals = equal_cases(task, cases) or cases
        if cluster > 1:
            cases, equals = _clustered(cases, cluster), _clustered(equals, cluster)
        known[key] = Gate(task, cases, scale, limits, equals)
    return known[key]


def _clustered(cases: Sequence[Case], size: int) -> tuple[Case, ...]:
    named = zip(cases, clusters(len(cases), size), strict=True)
    return tuple(replace(case, tags={**case.tags, "cluster": f"q{number}"}) for case, number in named)


def both_clusters(gate: Gate, size: int) -> tuple[list[int], list[int]]:
    """Return the cluster of each case of a gate, and of each of its equal pairs."""
    return clusters(len(gate.cases), size), clusters(len(gate.equals), size)


def clusters(n: int, size: int) -> list[int]:
    """Return the cluster of each of n cases, `size` of them in each."""
    return [place // size for place in range(n)]


@dataclass(frozen=True, slots=True)
class AtLimit:
    """
    A single probe whose true value is exactly at the limit of one claim, for a judge of pairs.

    An edit decides a share of the cases, or of the equal pairs; that share is what puts the mean of the claim's values
    at its limit.
    """

    claim: Claim
    probe: str = "authority"
    judge: str = "noise .05"
    variant: str = ""
    """The one variant that has the effect; empty: all of them."""
    cluster: int = 1
    cases: int = CASES
    frozen: bool = False
    turns: float = 0.0
    share: float | None = None
    """The share of cases to decide, where it is not to be found from the limit."""
    ties: Ties = "text"
    unread: float = 0.0
    runs: int = PROBES

    def measure(self, seed: int) -> Numbers:
        """Run the probe once."""
        gate = gate_of("pairwise", cluster=self.cluster, n=self.cases)
        dose = dose_for(self.claim, self.judge) if self.share is None else self.share
        dose /= 1 - 2 * self.turns  # a turned verdict of a decided case is turned as well
        bias = Bias(variants={(self.probe, self.variant): dose}) if self.variant else Bias(probes={self.probe: dose})
        course = Course(turns=self.turns, unread=self.unread)
        manner = Manner(bias, course, *both_clusters(gate, self.cluster), ties=self.ties)
        mean = MEASURES[self.claim.measure].worst_of
        claims = [*(c for c in gate.orders[self.probe].claims if c.measure == mean), self.claim]
        drawn = pairs_of(self.judge, gate.cases, seed, equals=len(gate.equals))
        law = PairJudge(gate.cases, drawn, seed, manner)
        run = gate.probe(self.probe, law, seed, claims, frozen=self.frozen)
        one = next(f for f in run.findings if f.measure == self.claim.measure)
        outcomes = {o.value: float(one.outcome is o) for o in (Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED)}
        outcomes["green"] = float(one.outcome in FINE)
        asked = {f"{arm} calls": float(run.by_arm[arm]) for arm in ("clean", "pilot", "inert", "edited", "equal")}
        return {**outcomes, **asked, "calls": run.calls, "cases": float(len({t.case for t in one.trials}))}


@cache
def dose_for(claim: Claim, judge: str) -> float:
    """Return the share of cases to decide that puts a claim about pairs at its limit: its mean is linear in it."""
    cases = usual_cases("pairwise")
    if MEASURES[claim.measure].crosswise:  # what is not decided is even
        return claim.limit / (2 * pairs_of(judge, cases, 0).sure - 1)
    room = moved = gained = 0.0
    for seed in range(100_000, 100_100):
        drawn = pairs_of(judge, cases, seed)
        for wrong in drawn.wrong:
            room += 1 - wrong
            gained += (1 - wrong) * (drawn.sure - wrong)
            apart = wrong * (1 - drawn.sure) + (1 - wrong) * drawn.sure - 2 * wrong * (1 - wrong)
            moved += (1 - wrong) * apart
    limit = 1 - claim.limit if claim.op == ">=" else claim.limit
    return limit * room / (moved if claim.op == ">=" else gained)
