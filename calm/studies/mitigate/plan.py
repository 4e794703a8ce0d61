"""The calls of a study, before any is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calm.core.case import Case
from calm.gate.plan import CaseArm, PlanEntry, PlanSettings, ProbeRow, Survey, survey
from calm.gate.prices import Assumptions, Figure, plan_of
from calm.gate.requests import Rendering, Source
from calm.models.wire import Judge
from calm.studies.mitigate.study import MitigationSet


@dataclass(frozen=True, slots=True)
class MitigationCosts:
    """The calls of each set alone and of all sets together, with shared calls; at most."""

    sets: tuple[tuple[MitigationSet, Figure], ...]
    together: Figure


def plan_all(
    sets: Sequence[MitigationSet],
    entries: Sequence[PlanEntry],
    cases: Sequence[Case],
    settings: PlanSettings,
    assumed: Assumptions,
) -> MitigationCosts:
    """Return the costs of a run; no judge is asked."""
    rows, surveys = [], []
    for one in sets:
        if one.judge is None:
            continue
        found = survey([_asked_of(one.judge, entry) for entry in entries], one.judge, cases, settings)
        surveys.append(found)
        rows.append((one, plan_of(found, len(found.cases), settings.design, assumed).most))
    whole = _joined(surveys)
    together = plan_of(whole, len(whole.cases), settings.design, assumed).most
    return MitigationCosts(tuple(rows), together)


def _asked_of(judge: Judge, entry: PlanEntry) -> PlanEntry:
    """Return an entry with another judge."""
    order, *beside = (replace(o, setup=replace(o.setup, judge=judge)) for o in (entry.order, *entry.beside))
    return replace(entry, order=order, beside=tuple(beside))


def _joined(surveys: Sequence[Survey]) -> Survey:
    """Return several surveys as one, in which equal calls are counted once."""
    sources: list[Source] = []
    rows: list[ProbeRow] = []
    for place, one in enumerate(surveys):
        where = {}
        for number, source in enumerate(one.sources):
            if source not in sources:
                sources.append(source)
            where[number] = sources.index(source)
        for row in one.rows:
            units = tuple(_moved(unit, str(place), where) for unit in row.units)
            rows.append(replace(row, units=units))
    return replace(surveys[0], rows=tuple(rows), sources=tuple(sources))


def _moved(unit: CaseArm, mark: str, where: Mapping[int, int]) -> CaseArm:
    """Return a unit whose prompts are marked as those of one set, and whose calls name the joined sources."""
    prompts = tuple(
        Rendering(f"{mark}/{p.key}", tuple(call._replace(source=where[call.source]) for call in p.calls))
        for p in unit.prompts
    )
    return unit._replace(prompts=prompts, owner=mark)
