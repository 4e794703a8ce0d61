"""What a study asks, before any call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calm.core.case import Case
from calm.gate import planning
from calm.gate.planning import Assumptions, Figure, Recorded, Settings
from calm.studies.mitigate.study import Tried


@dataclass(frozen=True, slots=True)
class Planned:
    """What each set takes by itself, at least and at most, and all together where calls are shared."""

    sets: tuple[tuple[Tried, Figure, Figure], ...]
    together: Figure


def plan_all(
    sets: Sequence[Tried], record: Sequence[Recorded], cases: Sequence[Case], settings: Settings, assumed: Assumptions
) -> Planned:
    """Return what a run takes; no judge is asked."""
    rows, surveys = [], []
    for one in sets:
        if one.judge is None:
            continue
        found = planning.survey([replace(r, judge=one.judge) for r in record], one.judge, cases, settings)
        surveys.append(found)
        plan = planning.plan_of(found, len(found.cases), settings.design, assumed)
        rows.append((one, plan.least, plan.most))
    whole = _joined(surveys)
    together = planning.plan_of(whole, len(whole.cases), settings.design, assumed).most
    return Planned(tuple(rows), together)


def _joined(surveys: Sequence[planning.Survey]) -> planning.Survey:
    """Return several surveys as one, in which an equal call stands once whoever makes it."""
    sources: list[planning.Source] = []
    rows: list[planning.Row] = []
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


def _moved(unit: planning.Unit, mark: str, where: Mapping[int, int]) -> planning.Unit:
    """Return a unit whose prompts are told from those of another set, and whose calls name the joined sources."""
    prompts = tuple(
        planning.Prompt(f"{mark} {p.key}", tuple(call._replace(source=where[call.source]) for call in p.calls))
        for p in unit.prompts
    )
    return unit._replace(prompts=prompts)
