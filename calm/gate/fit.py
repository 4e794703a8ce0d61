"""The largest sample that a budget allows, and how often a sound judge then passes the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from calm.core.measures import MEASURES
from calm.core.verdict import FAMILY
from calm.errors import ConfigError
from calm.experiment.asks import Design
from calm.gate import sizing
from calm.gate.plan import Survey
from calm.gate.prices import Assumptions, Figure, Plan, applies, plan_of
from calm.gate.rehearsal import expected
from calm.models.pricing import SET_PRICE
from calm.statistics.power import Noise

ENOUGH = 0.80
"""A gate is worth its money if a sound judge passes it at least this often."""
LEAST_SAMPLE = 2
STEP = 20
"""A sample is found to a twentieth of it: each that is tried takes a run with a sound judge."""


@dataclass(frozen=True, slots=True)
class PlanBudget:
    """The most that a run may take; None: no limit."""

    usd: float | None = None
    minutes: float | None = None
    calls: int | None = None

    def refuses(self, figure: Figure) -> list[str]:
        """Return which limits a figure exceeds, of money, time and calls; none: it is within all of them."""
        exceeded = []
        if self.usd is not None and (figure.usd is None or figure.usd > self.usd):
            exceeded.append("money")
        if self.minutes is not None and figure.seconds > 60 * self.minutes:
            exceeded.append("time")
        if self.calls is not None and figure.calls > self.calls:
            exceeded.append("calls")
        return exceeded


@dataclass(frozen=True, slots=True)
class Fit:
    """
    The largest sample within a budget: its plan, the probability of a green gate, and what keeps it from being larger.

    `at_most` is the probability with all cases.
    """

    sample: int
    design: Design
    plan: Plan
    green: float
    at_most: float
    limited_by: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def enough(self) -> bool:
        """Whether a sound judge passes often enough for the gate to be useful."""
        return self.sample >= LEAST_SAMPLE and self.green >= ENOUGH


def fit(
    found: Survey, budget: PlanBudget, noise: float, designs: Sequence[Design], assumptions: Assumptions = Assumptions()
) -> Fit:
    """
    Return the sample and design within a budget with which a sound judge passes most often; of equals, the first.

    What a sound judge is expected to take is within the budget. What a run takes at most can be many times as much, as
    claims that stay close are asked about again: the run itself has to be capped.

    Raises:
        ConfigError: a budget in dollars, and a price that is not known.
    """
    unpriced = [s.name for s in found.sources if s.price is None and not s.free]
    if budget.usd is not None and unpriced:
        live = any(s.live for s in found.sources if s.name == unpriced[0])
        what = (
            f"the model {unpriced[0]!r}; {SET_PRICE}, or give --max-calls instead"
            if live
            else f"{unpriced[0]!r}, which is Python code; leave it out"
        )
        raise ConfigError(f"--max-usd: no price is known for {what}")
    fits = [_largest(found, budget, noise, design, assumptions) for design in designs]
    return max(fits, key=lambda one: round(one.green, 2))  # of equals the first


def _largest(found: Survey, budget: PlanBudget, noise: float, design: Design, assumptions: Assumptions) -> Fit:
    refused: dict[int, list[str]] = {}

    def refuses(sample: int) -> list[str]:
        if sample not in refused:
            plan = plan_of(found, sample, design, assumptions)
            refused[sample] = budget.refuses(expected(found, plan, assumptions))
        return refused[sample]

    low, high = 0, len(found.cases)
    low = high if high and not refuses(high) else low
    while low + max(1, low // STEP) < high:
        middle = (low + high) // 2
        low, high = (low, middle) if refuses(middle) else (middle, high)
    plan = plan_of(found, low, design, assumptions)
    limited = refuses(high) if low < len(found.cases) else ["number of cases"]
    at_most, left_out = chance(found, len(found.cases), design, noise)
    green = at_most
    if low < len(found.cases):
        green = chance(found, low, design, noise)[0] if low >= LEAST_SAMPLE else 0.0
        limited += ["number of cases"] if at_most < ENOUGH else []
    return Fit(low, design, plan, green, at_most, tuple(limited), tuple(left_out))


def chance(found: Survey, sample: int, design: Design, noise: float) -> tuple[float, list[str]]:
    """Return how often a sound judge of this noise passes all claims, and the measures that are not in the model."""
    within = set(found.cases[:sample])
    probes, left_out = [], []
    for row in found.rows:
        claims = [c for c in row.claims if design.clean >= (0 if row.alone else MEASURES[c.measure].asks[0])]
        claims = [c for c in claims if not row.edited or design.perturbed >= MEASURES[c.measure].asks[1]]
        left_out += [c.measure for c in claims if not sizing.modelled(c)]
        kept = tuple(c for c in claims if sizing.modelled(c))
        cases = applies(row, within)
        if kept and cases >= 2:  # with fewer the claims are not tested, and the gate goes without them
            probes.append(sizing.ProbeClaims(kept, cases, row.expects, row.variants))
    if not probes:
        return 0.0, sorted(set(left_out))
    most = max([sample, *(p.cases or 0 for p in probes)])
    judge, rules = sizing.Simulated(FAMILY[found.task], Noise(noise)), sizing.Rules(design, found.settings.stopping)
    green = sizing.all_green(probes, judge, rules, most, Random(sizing.SEED))
    return green, sorted(set(left_out))
