"""Samples of a table, decided as a run of the gate would decide them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from benchmarks.real_judges.tables import CLAIMS, Table
from calm.core.claims import Claim, Estimate, Outcome, decide_between
from calm.core.measures import MEASURES
from calm.core.reasons import Reason
from calm.core.trials import Trial, Trials
from calm.errors import EstimateError
from calm.experiment.stopping import LEVEL, Asks, Stopping, looks, rule_on
from calm.statistics.sequential import Look

EDGE = 1e-9
"""How far beyond the truth the limit of a claim lies that is just broken."""
LEAST = 0.05
"""The least distance of an edge from the ends of a measure: nearer no claim about it can be decided at these n."""


@dataclass(slots=True)
class Tally:
    """What became of a claim in all samples; how often each bound covered the truth; the questions of a sample."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    low: int = 0
    high: int = 0
    bounded: int = 0
    clusters: int = 0

    def add(self, outcome: Outcome, estimate: Estimate | None, truth: float) -> None:
        """Count a sample."""
        self.outcomes[outcome] += 1
        if estimate is not None:
            self.bounded += 1
            self.low += estimate.low <= truth + EDGE
            self.high += estimate.high >= truth - EDGE
            self.clusters += estimate.clusters


def claims_of(table: Table) -> dict[str, Claim]:
    """Return the claim of the suite, and where there is room one that just holds and one that is just broken."""
    suite = CLAIMS[table.measure]
    found = {"suite": suite}
    edge = abs(table.truth) if suite.op == "abs<=" else table.truth
    if LEAST <= edge <= 1 - LEAST:
        worse = EDGE if suite.op == ">=" else -EDGE
        found["holds"] = Claim(suite.measure, suite.op, edge - worse)
        found["broken"] = Claim(suite.measure, suite.op, edge + worse)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """
    Cases in the order in which they are asked: the place of each in the table, and which copy of its question this is.

    Where each case is a question of its own, there are as many copies of it as it was drawn.
    """

    source: Samples
    drawn: Sequence[tuple[int, int]]
    cells: tuple[float | Reason, ...]

    def rows(self, n: int) -> tuple[Trial, ...]:
        """Return the rows of the first n cases."""
        if self.source.whole:
            return tuple(self.source.row(*one) for one in self.drawn[:n])
        times: Counter[int] = Counter()
        found = []
        for place, _ in self.drawn[:n]:
            times[place] += 1
            found.append(self.source.row(place, times[place]))
        return tuple(found)


class Samples:
    """Draws samples of a table: single cases, each a question of its own, or whole questions with all their cases."""

    def __init__(self, table: Table, *, whole: bool) -> None:
        self.table, self.whole = table, whole
        groups: dict[str, list[int]] = {}
        for place, row in enumerate(table.rows):
            groups.setdefault(row.cluster if whole and row.cluster else row.case, []).append(place)
        self._groups = list(groups.values())
        self._copies: dict[tuple[int, int], Trial] = {}

    def draw(self, n: int, rng: Random) -> Sample:
        """Return at least n cases in a random order."""
        drawn: list[tuple[int, int]] = []
        if not self.whole:
            drawn = [(rng.randrange(len(self._groups)), 0) for _ in range(n)]
        times: Counter[int] = Counter()
        while len(drawn) < n:
            group = rng.randrange(len(self._groups))
            times[group] += 1
            drawn += [(place, times[group]) for place in self._groups[group]]
        if self.whole:
            rng.shuffle(drawn)
        return Sample(self, drawn, tuple(self.table.cells[place] for place, _ in drawn))

    def row(self, place: int, time: int) -> Trial:
        """Return a row as that of a case of its own each time that it is drawn."""
        if (place, time) not in self._copies:
            row = self.table.rows[place]
            cluster = f"{row.cluster or row.case}#{time}" if self.whole else ""
            self._copies[place, time] = replace(row, case=f"{row.case}#{time}", cluster=cluster)
        return self._copies[place, time]


class Estimates:
    """The product's estimates at a look, each made once for samples of single cases with the same values."""

    def __init__(self, table: Table, *, whole: bool) -> None:
        self._table = table
        self._apart = whole or MEASURES[table.measure].whole is not None  # more than the values of its cases decides
        self._known: dict[tuple[object, ...], tuple[Estimate, Estimate]] = {}

    def at(self, look: Look, sample: Sample) -> tuple[Estimate, Estimate] | None:
        """Return the estimate that can prove, and the one that can disprove; None where there are too few values."""
        shown = sample.cells[: look.n]
        key: tuple[object, ...] = ()
        if not self._apart:
            key = (look, *sorted(Counter(c for c in shown if not isinstance(c, Reason)).items()))
            if key in self._known:
                return self._known[key]
        measure, old = MEASURES[self._table.measure], self._table.trials
        trials = Trials(sample.rows(look.n), old.family, old.scale)
        try:
            proof = measure.estimate(trials, look.prove, shown)
            both = proof, proof if look.prove == look.disprove else measure.estimate(trials, look.disprove, shown)
        except EstimateError:
            return None
        if not self._apart:
            self._known[key] = both
        return both


def resample(
    table: Table, n: int, samples: int, *, whole: bool, rule: Stopping = Stopping.SEQUENTIAL
) -> dict[str, Tally]:
    """
    Return what becomes of each claim about a table in many samples of n cases.

    Looks and decisions are those of a run on a judge that cannot be asked again, so that nothing is topped up.
    """
    claims = claims_of(table)
    found = {name: Tally() for name in claims}
    source, estimates = Samples(table, whole=whole), Estimates(table, whole=whole)
    rng = Random(f"{table.judge} {table.measure} {n} {whole}")
    for _ in range(samples):
        for name, (outcome, estimate) in decided(claims, estimates, source.draw(n, rng), rule).items():
            found[name].add(outcome, estimate, table.truth)
    return found


def decided(
    claims: dict[str, Claim], estimates: Estimates, sample: Sample, rule: Stopping
) -> dict[str, tuple[Outcome, Estimate | None]]:
    """Return the decision on each claim at the first look that has one, by the padded t or an exact interval."""
    found: dict[str, tuple[Outcome, Estimate | None]] = {}
    for look in looks(rule, len(sample.cells), top_ups=0).looks:
        both = estimates.at(look, sample)
        for name, claim in claims.items():
            if found.get(name, (Outcome.UNDECIDED,))[0] in (Outcome.PASS, Outcome.FAIL):
                continue
            found[name] = (Outcome.UNDECIDED, None) if both is None else decide_between(*both, claim, LEVEL)
        if all(outcome is not Outcome.UNDECIDED for outcome, _ in found.values()):
            break
    return found


def ruled(table: Table, n: int, samples: int) -> Tally:
    """Return what becomes of the suite's claim by `rule_on`: the test of a rate, one case after the other."""
    tally, source = Tally(), Samples(table, whole=False)
    rng = Random(f"{table.judge} {table.measure} {n} in turn")
    for _ in range(samples):
        tally.add(*in_turn(table, source.draw(n, rng).rows(n)), table.truth)
    return tally


def in_turn(table: Table, rows: Sequence[Trial]) -> tuple[Outcome, Estimate | None]:
    """Return the product's ruling on the suite's claim at the first look that has one."""
    old, asks = table.trials, Asks(len(rows[0].clean), len(rows[0].inert), len(rows[0].perturbed))
    ruling = None
    for look in _looks(len(rows)):
        trials = Trials(tuple(rows[: look.n]), old.family, old.scale)
        ruling = rule_on(Stopping.SEQUENTIAL, CLAIMS[table.measure], trials, asks, look)
        if ruling.decision.outcome in (Outcome.PASS, Outcome.FAIL):
            break
    assert ruling is not None, "there is a look"
    return ruling.decision.outcome, ruling.decision.estimate


def _looks(n: int) -> Iterator[Look]:
    yield from looks(Stopping.SEQUENTIAL, n, top_ups=0).looks
