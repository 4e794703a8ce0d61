"""The results of a judge with sets of mitigations: the nouns, and the set to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from calm.errors import ConfigError
from calm.judges.mitigations import NotApplicable, mitigated
from calm.judges.mitigations.mitigation import Reader
from calm.models.pricing import Cost
from calm.models.wire import Judge
from calm.results.audit import Audit
from calm.results.tabular import Unread

BARE = "none"
"""The name of the judge without any mitigation."""
LEVEL = 0.05

MEASURED: Mapping[str, tuple[float, float, bool]] = {
    "robustness": (-2.0, 2.0, True),
    "accuracy": (-1.0, 1.0, True),
    "noise": (-1.0, 1.0, False),
    "ties": (-1.0, 1.0, False),
    "unread": (-1.0, 1.0, False),
}
"""By measure: the range of a difference of two case values, and whether more is better."""


@dataclass(frozen=True, slots=True)
class MitigationSet:
    """A set of mitigations, the first innermost, with the judge that it makes (None: it is left out, and why)."""

    names: tuple[str, ...]
    judge: Judge | None
    reason: str = ""

    @property
    def label(self) -> str:
        """How the set is called."""
        return " + ".join(self.names) or BARE


@dataclass(frozen=True, slots=True)
class Figures:
    """
    The gate on one set.

    `values` holds, by measure, the value of each case (of robustness: of each case of each probe).
    """

    tried: MitigationSet
    audit: Audit
    values: Mapping[str, Mapping[tuple[int, str], float]]
    calls_per_verdict: float
    cost: Cost | None
    """None: the judge is Python code."""
    notes: tuple[str, ...]
    unread: Mapping[str, Unread] = field(default_factory=dict)
    """The replies without a verdict, by arm: of the clean ones those that accuracy, noise and ties are of."""

    @property
    def usd(self) -> float | None:
        """The cost in US dollars; None where a price is not known, or nothing has one."""
        return None if self.cost is None or self.cost.unpriced else self.cost.usd

    @property
    def green(self) -> bool:
        """Whether the set passes the gate."""
        return self.audit.green()

    def mean(self, measure: str) -> float | None:
        """Return the mean of a measure over cases, at most 1; None where no case or no reply has one."""
        arms = {"unread": (), "robustness": ("clean", "perturbed")}.get(measure, ("clean",))
        if any((one := self.unread.get(arm)) and one.count == one.of for arm in arms):
            return None
        values = by_case(self.values[measure])
        return min(1.0, fsum(values.values()) / len(values)) if values else None


def by_case(values: Mapping[tuple[int, str], float]) -> dict[str, float]:
    """Return the mean value of each case over the probes that have one."""
    found: dict[str, list[float]] = {}
    for (_, case), value in values.items():
        found.setdefault(case, []).append(value)
    return {case: fsum(each) / len(each) for case, each in found.items()}


@dataclass(frozen=True, slots=True)
class Difference:
    """
    A measure of a set minus that of the bare judge: the interval is one of 95 %, `p_adjusted` is over the grid.

    A robustness above 1 counts as 1, here as in the table: an edit that moves less than inert words do is no gain.
    """

    label: str
    measure: str
    value: float
    low: float
    high: float
    n: int
    p: float
    p_adjusted: float

    @property
    def certain(self) -> bool:
        """Whether it is more than chance, over all sets and measures."""
        return self.p_adjusted <= LEVEL


@dataclass(frozen=True, slots=True)
class Cell:
    """How often an attack wins against a set, net of a clean re-ask; None where it is not known, and why."""

    attack: str
    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    reason: str = ""

    @property
    def wins(self) -> bool:
        """Whether the attack wins more often than chance, over all cells."""
        return self.p_adjusted is not None and self.p_adjusted <= LEVEL and (self.value or 0.0) > 0


@dataclass(frozen=True, slots=True)
class Study:
    """All that was found."""

    judge: str
    figures: tuple[Figures, ...]
    left_out: tuple[MitigationSet, ...]
    differences: tuple[Difference, ...]
    grid: tuple[Cell, ...] = ()
    floors: tuple[tuple[str, str], ...] = ()

    @property
    def bare(self) -> Figures:
        """The judge as it is."""
        return self.figures[0]


def tried(judge: Judge, sets: Sequence[Sequence[str]], reader: Reader) -> list[MitigationSet]:
    """
    Return the bare judge and each set, with the judge that it makes.

    Raises:
        ConfigError: all wrong names and arguments; a set that is not applicable is not one of them.
    """
    found = [MitigationSet((), judge)]
    problems: list[str] = []
    for names in dict.fromkeys(tuple(names) for names in sets if names):
        try:
            found.append(MitigationSet(names, mitigated(judge, names, reader)))
        except NotApplicable as error:
            reason = str(error).removeprefix("mitigations: ")
            if len(names) == 1:  # the set's own label says which; of several, the reason does
                reason = reason.removeprefix(f"{names[0].partition(':')[0]}: ")
            found.append(MitigationSet(names, None, reason))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    return found


def cheapest(study: Study) -> Figures | None:
    """Return the cheapest set that passes the gate: by cost if all costs are known, else by calls for each verdict."""
    green = [one for one in study.figures if one.green]
    known = all(one.usd is not None for one in green) and any(one.usd for one in green)

    return min(green, key=lambda one: price(one, known=known), default=None)


def price(one: Figures, *, known: bool) -> tuple[float, float, int]:
    """Return what orders sets by price: their cost if all costs are `known`, then calls for each verdict, then size."""
    return (one.usd or 0.0) if known else 0.0, one.calls_per_verdict, len(one.tried.names)
