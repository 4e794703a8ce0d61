"""
A judge with sets of mitigations: which can be asked at all, how each differs from the bare judge, and which to take.

All sets share one engine, so a call that two of them make is made once. The cost of a set is that of a run of its own,
whatever was shared. Differences are paired by case, by the padded t, adjusted over all sets and measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Final

from calm.core.case import Case
from calm.core.claims import Outcome
from calm.core.reasons import Kind, reason_of
from calm.core.verdict import NoReply, Unreadable
from calm.errors import ConfigError, JudgeError, StorageError
from calm.experiment.pairs import pair_up
from calm.experiment.run import refuse_unshowable
from calm.experiment.setup import Setup
from calm.models.pricing import Cost
from calm.models.wire import Judge
from calm.plugins.mitigate.mitigation import NotApplicable, Reader
from calm.plugins.mitigate.mitigations import mitigated
from calm.results.audit import Audit, Finding
from calm.results.steps import excess
from calm.results.tabular import Unread
from calm.statistics.intervals import padded_t
from calm.statistics.multiplicity import benjamini_hochberg

BARE = "none"
"""The name of the judge without any mitigation."""
LEVEL = 0.05

MEASURED: Mapping[str, tuple[float, float]] = {
    "robustness": (-2.0, 2.0),
    **dict.fromkeys(("accuracy", "noise", "ties", "unread"), (-1.0, 1.0)),
}
"""By measure: the range of a difference of two case values."""


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
    told: tuple[str, ...] = ()
    """What the judges inside say of all asks together, such as the weights of a panel."""
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
    bill: str = ""
    """What all sets together took, as it was counted: what they share is there once."""

    @property
    def bare(self) -> Figures:
        """The judge as it is."""
        return self.figures[0]

    def moved(self, one: Figures) -> dict[str, Difference]:
        """Return the differences of a set by their measure."""
        return {d.measure: d for d in self.differences if d.label == one.tried.label}


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


TRIED: Final = 3
"""A set is left out if its servers serve none of so many cases: one case may be refused for what it says."""


def shown(sets: Sequence[MitigationSet], cases: Sequence[Case]) -> list[MitigationSet]:
    """
    Return the sets, without a judge those that cannot be shown the cases; no judge is asked.

    Raises:
        ConfigError: the judge alone cannot be shown them, or no mitigation is left.
    """
    found = []
    for one in sets:
        try:
            if one.judge is not None:
                refuse_unshowable(one.judge, cases)
            found.append(one)
        except ConfigError as error:
            if not one.names:
                raise
            found.append(without(one, error))
    some_left(found)
    return found


def served(sets: Sequence[MitigationSet], setup: Setup) -> list[MitigationSet]:
    """
    Return the sets, without a judge those that their servers cannot serve, each with the reason.

    Each set is asked about one case as it is, and about `TRIED` where that brings nothing; its gate asks the same, so
    a set that is served pays for no call more.

    Raises:
        ConfigError: the judge alone cannot be served, or no mitigation is left.
        StorageError: the cache cannot be read or written.
    """
    found = []
    for one in sets:
        why = None if one.judge is None else _unserved(one.judge, replace(setup, judge=one.judge))
        if why is not None and not one.names:
            raise why
        found.append(one if why is None else without(one, why))
    some_left(found)
    return found


def without(one: MitigationSet, why: object) -> MitigationSet:
    """Return a set that is left out, and why."""
    return replace(one, judge=None, reason=" ".join(str(why).split()))


def some_left(sets: Sequence[MitigationSet]) -> None:
    """
    Return if a mitigation is left.

    Raises:
        ConfigError: none is; it names why each is left out.
    """
    if any(one.judge is not None and one.names for one in sets):
        return
    raise ConfigError(
        [
            "--try: expected a mitigation that this judge and its server can carry out, got none; nothing is compared",
            *(f"{one.label}: {one.reason}" for one in sets if one.judge is None),
        ]
    )


def _unserved(judge: Judge, setup: Setup) -> ConfigError | None:
    try:
        setup.engine.admit(judge)
    except StorageError:
        raise
    except ConfigError as error:
        return error
    why = None
    for pair in pair_up(setup, None, None, ties=True).pairs[:TRIED]:
        try:
            [asked] = setup.engine.ask(judge, [(pair.base, 1)])
        except JudgeError as error:
            return ConfigError(str(error))
        said, why = asked.verdict, None
        if isinstance(said, NoReply) and not (reason := reason_of(said.reason)).unmade:
            why = ConfigError(str(reason))
        if isinstance(said, Unreadable) and said.why.kind is Kind.NO_TOKENS:
            why = ConfigError(said.reason)
        if why is None:
            return None
    return why


MUCH_UNREAD = 0.05
"""Share of clean replies without a verdict above which a remark says so."""


def differences(figures: Sequence[Figures]) -> tuple[Difference, ...]:
    """Return each measure of each set minus that of the bare judge, on the cases that both have."""
    bare, rows = figures[0], []
    for one in figures[1:]:
        for measure, (low, high) in MEASURED.items():
            ours, theirs = one.values[measure], bare.values[measure]
            common = ours.keys() & theirs.keys()  # the probes that both have
            mine, other = (by_case({key: side[key] for key in common}) for side in (ours, theirs))
            # a mean above 1 counts as 1 on either side
            above = [max(0.0, fsum(side.values()) / max(1, len(side)) - 1) for side in (mine, other)]
            values = [(mine[case] - above[0]) - (other[case] - above[1]) for case in sorted(mine)]
            if len(values) < 2:
                continue
            interval = padded_t(values, low, high, LEVEL / 2)
            mean = fsum(values) / len(values)
            rows.append((one.tried.label, measure, mean, *interval, len(values), chance(values, low, high)))
    adjusted = benjamini_hochberg([row[-1] for row in rows]) if rows else []
    return tuple(Difference(*row, p) for row, p in zip(rows, adjusted, strict=True))


def chance(values: Sequence[float], low: float, high: float, *, above: bool = False) -> float:
    """
    Return the p-value of a mean of 0 by the padded t: the least level whose interval excludes 0.

    It is two-sided, or with `above` one-sided. Smallest n: 2.

    >>> chance([0.0] * 40, -1, 1), round(chance([1.0] * 40, -1, 1), 6) < 0.001
    (1.0, True)
    """

    def outside(level: float) -> bool:
        bounds = padded_t(values, low, high, level)
        return bounds[0] > 0 or (bounds[1] < 0 and not above)

    least, most = 1e-9, 0.499
    if not outside(most):
        return 1.0
    if outside(least):
        return least
    for _ in range(40):
        middle = (least * most) ** 0.5
        least, most = (least, middle) if outside(middle) else (middle, most)
    return min(1.0, most * (1 if above else 2))


def remarks(study: Study, one: Figures) -> tuple[str, ...]:
    """Return the remarks on a set."""
    found = study.moved(one)
    said = [words for words, _ in moves(study, one)]
    noise = found.get("noise")
    if noise is not None and noise.certain:
        said.append(f"{'adds' if noise.value > 0 else 'takes away'} noise ({noise.value:+.3f})")
    unread = one.mean("unread")
    if unread is not None and unread > MUCH_UNREAD:
        said.append(f"{unread:.0%} of the clean replies hold no verdict, so its robustness says little")
    return (*said, *one.notes)


def losses(study: Study, one: Figures) -> list[str]:
    """Return in words what a set makes worse."""
    return [words for words, worse in moves(study, one) if worse]


def moves(study: Study, one: Figures) -> list[tuple[str, bool]]:
    """Return the certain changes of robustness, accuracy and ties by a set, in words, and whether each is worse."""
    found, said = study.moved(one), []
    for name in ("robustness", "accuracy"):
        moved = found.get(name)
        if moved is not None and moved.certain:
            worse = moved.value <= 0
            said.append((f"{'lowers' if worse else 'raises'} {name} ({moved.value:+.3f})", worse))
    right, ties = found.get("accuracy"), found.get("ties")
    if ties is not None and ties.certain and ties.value > 0 and (right is None or right.value <= 0):
        said.append((f"only adds ties ({ties.value:+.3f}): no more verdicts are right", True))
    return said


ORDER = (Outcome.UNDECIDED, Outcome.FAIL)
"""Outcomes of a set that can help, from near to far: not yet proven, and disproven."""


def nearest(study: Study) -> Figures | None:
    """
    Return the set that comes nearest to passing; None where one passes, and where none is better than doing nothing.

    A set is better if it takes the worst claim of the bare judge nearer to its limit by more than chance, if no other
    claim is then as far beyond its own, and if it does not certainly lower robustness or accuracy. An undecided set is
    nearer than one that failed. Then the least worst excess comes first, then the lowest price.
    """
    bare = worst_claim(study.bare)
    if cheapest(study) is not None or bare is None or not excess(bare):
        return None
    known = all(one.usd is not None for one in study.figures) and any(one.usd for one in study.figures)

    better = [
        one
        for one in study.figures[1:]
        if outcome_of(one) in ORDER
        and _lost(one) < (excess(bare) or 0.0)
        and _takes_nearer(one, bare)
        and not any((d := study.moved(one).get(m)) and d.certain and d.value < 0 for m in ("robustness", "accuracy"))
    ]
    return min(better, key=lambda o: (ORDER.index(outcome_of(o)), _lost(o), price(o, known=known)), default=None)


def _lost(one: Figures) -> float:
    worst = worst_claim(one)
    return 1.0 if worst is None else excess(worst) or 0.0


def _takes_nearer(one: Figures, bare: Finding) -> bool:
    found = same_claim(one, bare)
    if found is None or found.low is None or found.high is None or bare.value is None or bare.claim is None:
        return False
    match bare.claim.op:
        case ">=":
            return found.low > bare.value
        case "<=":
            return found.high < bare.value
        case "abs<=":
            return max(abs(found.low), abs(found.high)) < abs(bare.value)


def same_claim(one: Figures, claim: Finding) -> Finding | None:
    """Return the finding of a set on a claim of another one; None where the set has none."""
    return next((found for found in one.audit.findings if found.key == claim.key), None)


def outcome_of(one: Figures) -> Outcome:
    """Return the outcome of a set; one that proved everything but was not whole is INCOMPLETE."""
    outcome = one.audit.outcome
    return Outcome.INCOMPLETE if outcome is Outcome.PASS and not one.green else outcome


def worst_claim(one: Figures) -> Finding | None:
    """Return the red claim whose estimate lies furthest beyond its limit; None where no red claim has an estimate."""
    red = [(found, beyond) for found in one.audit.findings if found.red and (beyond := excess(found)) is not None]
    return max(red, key=lambda pair: pair[1])[0] if red else None
