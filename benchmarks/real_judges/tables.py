"""What the whole table of a judge says: the value of each case by each measure, through the product's own run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from calm import (
    accuracy,
    annotator_advantage,
    balanced_accuracy,
    consistency_rate,
    gain,
    gwet_ac,
    kappa,
    net_robustness,
    readable_rate,
    repeat_distance,
    slot_pull,
)
from calm.core.claims import Claim
from calm.core.measures import MEASURES, Measure, robustness_rate
from calm.core.reasons import Reason
from calm.core.trials import Trial, Trials
from calm.core.verdict import FAMILY
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment.pairs import clusters_of
from calm.experiment.run import run
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design
from calm.gate.from_spec import cases_from, judge_from
from calm.judges.recorded.published import judges_of
from calm.judges.recorded.replay import Replay
from calm.perturbations.position import swap

CLAIMS: dict[str, Claim] = {
    "slot_pull": abs(slot_pull) <= 0.20,
    "gain": abs(gain) <= 0.15,
    "net_robustness": net_robustness >= 0.85,
    "consistency_rate": consistency_rate >= 0.75,
    "repeat_distance": repeat_distance <= 0.15,
    "accuracy": accuracy >= 0.70,
    "kappa": kappa >= 0.40,
    "annotator_advantage": annotator_advantage >= -0.20,
    "balanced_accuracy": balanced_accuracy >= 0.70,
    "gwet_ac": gwet_ac >= 0.40,
}
"""
What the shipped suites claim of the measures that are resampled; the last two they only observe.

The gain of pairs that were asked once in each order is their slot pull, held against a limit of its own.
"""
AGREED: dict[str, tuple[Measure, ...]] = {
    "llmbar": (kappa, balanced_accuracy, gwet_ac),
    "pandalm": (kappa, balanced_accuracy, gwet_ac, annotator_advantage),
}
"""Measures of agreement of each set: of all rows together, so that a sample takes longer."""
EVERY = 6
"""Of `llmbar` each sixth judge is held against these."""
OF_SET: dict[str, tuple[tuple[Measure, ...], tuple[Measure, ...]]] = {
    "position": ((slot_pull, net_robustness), (consistency_rate, readable_rate)),
    "scores": ((), (repeat_distance, readable_rate)),
    "llmbar": ((gain,), (accuracy, readable_rate)),
    "pandalm": ((), (accuracy, readable_rate)),
}
"""The measures of each set: after a swap of the answers, and on the cases as they are."""


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a judge for one measure, with the value of each, or the reason why it has none."""

    judge: str
    measure: str
    trials: Trials
    cells: tuple[float | Reason, ...]

    @property
    def truth(self) -> float:
        """The measure over the whole table."""
        values = [cell for cell in self.cells if not isinstance(cell, Reason)]
        mean = fsum(values) / len(values)
        return 1 - mean if MEASURES[self.measure].flipped else mean

    @property
    def n(self) -> int:
        """How many rows have a value."""
        return sum(not isinstance(cell, Reason) for cell in self.cells)

    @property
    def rows(self) -> Sequence[Trial]:
        """The rows."""
        return self.trials.rows


def specs(names: Sequence[str] = tuple(OF_SET)) -> list[str]:
    """Return the specifications of all judges of some sets."""
    return [f"{name}/{judge}" for name in names for judge in judges_of(name)]


def tables(judge: str) -> Iterator[Table]:
    """Yield a table for each measure that a judge's record can serve, by its specification without `recorded:`."""
    name = judge.partition("/")[0]
    swapped, plain = OF_SET[name]
    if swapped:
        yield from ran(judge, True, swapped)
        yield from ran(judge, True, (robustness_rate,))  # alone it needs no floor, so all repeats are compared
    yield from replayed(judge, plain)
    if judge in agreeing():
        yield from ran(judge, False, AGREED[name])


def agreeing() -> list[str]:
    """Return the judges whose agreement with the gold labels is resampled."""
    return [*specs(("llmbar",))[::EVERY], *specs(("pandalm",))]


def replayed(judge: str, measures: Sequence[Measure]) -> Iterator[Table]:
    """Yield the tables of the cases as they are: all verdicts of the record, which a run asks for one by one."""
    replay = judge_from(f"recorded:{judge}")
    cases = cases_from([], replay)
    assert isinstance(replay, Replay), "it replays a table"
    clusters = clusters_of(cases)
    rows = tuple(
        Trial(case=case.id, better=case.better, clean=tuple(said), cluster=clusters[case.id])
        for case in cases
        if (said := replay.record.verdicts(case))
    )
    trials = Trials(rows, FAMILY[replay.task], replay.scale)
    for measure in measures:
        yield Table(judge, measure.name, trials, tuple(measure.cells(trials)))


def ran(judge: str, swapped: bool, measures: Sequence[Measure]) -> Iterator[Table]:
    """Yield the tables that a run of the gate makes of all cases."""
    replay = judge_from(f"recorded:{judge}")
    asks = replay.traits.repeats or 1
    engine = Engine(Store(None, Mode.OFF))
    try:
        setup = Setup(replay, tuple(cases_from([], replay)), engine, design=Design(asks, asks))
        found = run(setup, swap if swapped else None, [], observed=measures)
    finally:
        engine.close()
    for measure, ruling in zip(measures, found.rulings, strict=True):
        if ruling.trials is not None and ruling.decision.estimate is not None:
            yield Table(judge, measure.name, ruling.trials, tuple(measure.cells(ruling.trials)))
