"""Claims, what was measured about them, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil, sqrt
from typing import Final, Literal, NoReturn, Protocol

from calm.core.reasons import NONE, Reason
from calm.errors import ClaimError

FORESEEN: Final = 25
"""How many times as many cases are named at most: beyond that the value is at its limit, for all that one can see."""
SURER: Final = 2.28
"""
How many times as many cases decide in four of five runs as make the interval as wide as the gap, which is one of two.

((z(.95) + z(.80)) / z(.95))^2: a value that is measured again lies on either side of the true one.
"""
STILL: Final = 3.9
"""About n times the width of an interval of n values that do not vary: ln(1 / level) at the level of a last look."""


class Outcome(StrEnum):
    """What is known of a claim."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNDECIDED = "UNDECIDED"
    """The interval straddles the limit: there are too few data."""
    INCOMPLETE = "INCOMPLETE"
    """Data are missing: a cap was reached, or replies were lost."""
    NOT_TESTED = "NOT_TESTED"
    """The claim could not be asked, for the reason given."""
    OBSERVED = "OBSERVED"
    """Measured without a limit."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A measure and a limit. `op` is ">=", "<=", or "abs<=" for a limit on both sides of zero."""

    measure: str
    op: Literal[">=", "<=", "abs<="]
    limit: float

    def __bool__(self) -> NoReturn:
        raise ClaimError(
            f"the claim {self} is not true or false alone: write probe(...).proves({self}), "
            f"and abs({self.measure}) <= {decimals(abs(self.limit))} for a limit on both sides"
        )

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        limit = decimals(self.limit)
        return f"abs({self.measure}) <= {limit}" if self.op == "abs<=" else f"{self.measure} {self.op} {limit}"


class Limiter(Protocol):
    """Chooses the limit of a claim by what is known of the cases before anything is known of the effect."""

    def limited(self, claim: Claim, questions: int, room: int | None) -> Claim | None:
        """
        Return a claim with its limit; None if so few cases can prove it at no limit.

        `questions` is how many the claim is about, `room` in how many of them the treated answer can move by what the
        judge said of it before the edit (None: not known).
        """


def decimals(value: float) -> str:
    """
    Return a number with two decimals, or with as many as it has.

    >>> decimals(0.1), decimals(0.025)
    ('0.10', '0.025')
    """
    short = f"{value:.2f}"
    return short if float(short) == value else f"{value:g}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    What was measured: value, the two one-sided bounds at `level`, and n cases.

    `excluded` counts, by reason, the cases that this measure left out. `clusters` is the number of questions that the n
    cases are about, which the bounds rest on.
    """

    value: float
    low: float
    high: float
    n: int
    level: float
    excluded: Mapping[Reason, int] = field(default_factory=dict)
    clusters: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one claim (None: observed without a limit), with its estimate or the reason why there is none."""

    measure: str
    claim: Claim | None
    outcome: Outcome
    estimate: Estimate | None = None
    reason: Reason = NONE
    cases_to_decide: int | None = None


def decide(estimate: Estimate, claim: Claim) -> Outcome:
    """
    Return PASS if the interval proves the claim, FAIL if it disproves it, else UNDECIDED.

    >>> decide(Estimate(0.02, -0.01, 0.05, 200, 0.05), Claim("gain", "<=", 0.10)).value
    'PASS'
    >>> decide(Estimate(0.02, -0.01, 0.15, 40, 0.05), Claim("gain", "<=", 0.10)).value
    'UNDECIDED'
    """
    low, high, limit = estimate.low, estimate.high, claim.limit
    match claim.op:
        case ">=":
            proven, disproven = low >= limit, high < limit
        case "<=":
            proven, disproven = high <= limit, low > limit
        case "abs<=":
            proven, disproven = -limit <= low and high <= limit, low > limit or high < -limit
    return Outcome.PASS if proven else Outcome.FAIL if disproven else Outcome.UNDECIDED


def decide_between(proof: Estimate, counter: Estimate, claim: Claim, level: float) -> tuple[Outcome, Estimate]:
    """
    Return what a look says: PASS if `proof` proves the claim, FAIL if `counter` disproves it; and an estimate of both.

    Each estimate is at the level at which it can decide. After a stop these bounds hold together at `level` (Jennison &
    Turnbull 1989).
    """
    outcome = Outcome.UNDECIDED
    if decide(proof, claim) is Outcome.PASS:
        outcome = Outcome.PASS
    elif decide(counter, claim) is Outcome.FAIL:
        outcome = Outcome.FAIL
    if proof.level == counter.level:
        return outcome, proof
    two_sided = claim.op == "abs<="
    if two_sided and outcome is not Outcome.UNDECIDED:  # the bounds that decided
        return outcome, replace(proof if outcome is Outcome.PASS else counter, level=level)
    low = min(proof.low, counter.low) if two_sided else proof.low if claim.op == ">=" else counter.low
    high = max(proof.high, counter.high) if two_sided else proof.high if claim.op == "<=" else counter.high
    return outcome, replace(proof, low=low, high=high, level=level)


def cases_to_decide(estimate: Estimate, claim: Claim, smallest: int) -> int | None:
    """
    Return with how many questions a fresh run would decide the claim in four of five runs, if the value were true.

    None if no number would, or only one more than `FORESEEN` times as large. One part of the interval shrinks with n
    (`STILL`), the other with its square root; at least `smallest`, the n that can pass at all. It counts what the
    interval counts, the `clusters` of the estimate. It is a plan for a fresh run: to add cases until a claim passes is
    no test.
    """
    value, limit, n = estimate.value, claim.limit, estimate.clusters or estimate.n
    edge = limit if claim.op != "abs<=" or value >= 0 else -limit
    gap = abs(edge - value)
    if gap < 1e-9:
        return None
    towards = estimate.high if edge > value else estimate.low
    varying = SURER * max(0.0, (towards - value) ** 2 - (STILL / n) ** 2) * n
    needed = ceil((varying + sqrt(varying**2 + (2 * gap * STILL) ** 2)) / (2 * gap**2) - 1e-9)
    return None if needed > FORESEEN * n else max(smallest, needed, n + 1)
