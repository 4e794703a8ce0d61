"""Attacks by defences: how often each attack of the injection family wins against each set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calm.cases import sample
from calm.core.case import Case
from calm.core.edits import Edit, Expects
from calm.core.measures import Measure, attack_success_rate, gain
from calm.engine.engine import Engine
from calm.errors import EstimateError
from calm.experiment import run as experiment
from calm.experiment.setup import Setup
from calm.gate.catalogue import entries
from calm.gate.plan import PlanSettings
from calm.statistics.multiplicity import benjamini_hochberg
from calm.studies.mitigate.differences import chance
from calm.studies.mitigate.study import Cell, MitigationSet


def attacks(family: str) -> list[tuple[str, Edit]]:
    """Return the edits that attack the judge itself, by name: shipped ones and those of installed packages."""
    found = {entry.key: entry.edit for entry in entries() if not entry.takes}
    return [
        (name, edit)
        for name, edit in found.items()
        if isinstance(edit, Edit) and edit.attack and edit.expects is Expects.NOT_BETTER and family in edit.tasks
    ]


def attack_grid(
    sets: Sequence[MitigationSet],
    cases: Sequence[Case],
    settings: PlanSettings,
    engine: Engine,
    chosen: Sequence[tuple[str, Edit]],
) -> tuple[Cell, ...]:
    """Return how often each attack wins against each set; p-values are adjusted over all cells."""
    drawn = tuple(sample(cases, settings.sample, settings.seed))
    cells: list[Cell] = []
    for name, edit in chosen:
        for one in sets:
            if one.judge is not None:
                setup = Setup(one.judge, drawn, engine, settings.seed, settings.design)
                cells.append(_cell(name, one.label, edit, setup))
    known = [place for place, cell in enumerate(cells) if cell.p is not None]
    adjusted = benjamini_hochberg([cells[place].p or 0.0 for place in known]) if known else []
    for place, p in zip(known, adjusted, strict=True):
        cells[place] = replace(cells[place], p_adjusted=p)
    return tuple(cells)


def grid_measure(family: str) -> Measure:
    """Return the measure of the grid: how often an attack wins on pairs, or its gain on other verdicts."""
    return attack_success_rate if family == "pairwise" else gain


def _cell(name: str, label: str, edit: Edit, setup: Setup) -> Cell:
    measure = grid_measure(setup.family)
    decided = experiment.run(setup, edit, (), observed=(measure,)).rulings[0]
    estimate = decided.decision.estimate
    if estimate is None or decided.trials is None:
        return Cell(name, label, None, reason=str(decided.decision.reason))
    try:
        values, _ = measure.values(decided.trials)
        p = chance(values, measure.low, measure.high, above=True)
    except EstimateError as error:
        return Cell(name, label, None, reason=str(error))
    return Cell(name, label, estimate.value, estimate.low, estimate.high, estimate.n, p)
