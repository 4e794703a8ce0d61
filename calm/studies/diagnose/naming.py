"""
Naming: which cases a judge is unsure about and which criteria are vague, with the share of wrong names bounded.

A case or a criterion is tested by one hypothesis: that each ask of it gives something else than its usual verdict
with at most the probability `Limits.rate`, and that its wording changes nothing. The first part is tested by how many
asks dissent. Where so many are unlikely (`SCREEN`), the second is tested, too, by lots, and the p-value is the smallest
of these tests times their number: a wording that always turns the verdict shows in few asks.

A criterion is tested over its cases without the quarter that dissents most, so one hard case makes no criterion vague;
a case is tested over its criteria without the worst quarter, so one vague criterion makes no case ambiguous. To leave
out the worst can only raise the p-value of the first test. Benjamini and Hochberg's rule over all of them bounds the
expected share of wrong names; if none is to be named, it is the probability of any name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum
from random import Random
from typing import Final, Literal, TypeAlias

from calm.core.case import digest
from calm.core.verdict import Scale
from calm.experiment.stopping import LEVEL
from calm.statistics.dissent import at_least, at_least_in_shares, more_than, turns_on_wording
from calm.statistics.intervals import clopper_pearson
from calm.statistics.multiplicity import benjamini_hochberg, holm
from calm.studies.diagnose.split import SOURCES, WORDED, Part, Source, Worded, split, value_of
from calm.studies.diagnose.units import Unit, block, dissents

What: TypeAlias = Literal["case", "criterion"]

WORST: Final = 4
"""One in so many units of a row is left out: those that dissent most."""
SCREEN: Final = 0.05
"""Lots are drawn for what dissents so much that it has at most this probability; the rest has the p-value 1."""
EXPLAINED: Final = 0.05
"""The p-value, by Holm over all names and wordings, up to which a wording explains what is named."""


@dataclass(frozen=True, slots=True)
class Limits:
    """
    When something is named.

    `rate`: in at most this share of asks may a sound judge say something else than usual. `wrong`: the expected share
    of wrong names. `tolerance`: scores this share of the scale to both sides of the middle are the same.
    """

    rate: float = 0.10
    wrong: float = 0.05
    tolerance: float = 0.10


@dataclass(frozen=True, slots=True)
class Row:
    """A case or a criterion, with the units that count for it, and all that it has."""

    what: What
    name: str
    units: tuple[Unit, ...]
    every: tuple[Unit, ...]
    dissents: float
    asks: int
    p: float


Tested: TypeAlias = tuple[Row, float, Mapping[Worded, float]]
"""A row, its adjusted p-value, and that of each wording by lots."""


@dataclass(frozen=True, slots=True)
class Named:
    """
    A case (by its id) or a criterion (by its text) that is named, and why.

    `cases` are those that count for it. In `dissents` of `asks` it was given another verdict than the usual one: the
    share lies between `low` and `high`, each bound at 5 % of the names (Benjamini and Yekutieli 2005). `p` is adjusted
    for all that was tested. `causes` are the sources that explain it: the wordings that do, or else noise. `parts` are
    the means of each source over its units (None: not asked), `p_wording` the adjusted p-value of each wording.
    `counts` holds the verdicts on a case, by criterion where there are some.
    """

    what: What
    name: str
    cases: tuple[str, ...]
    dissents: float
    asks: int
    low: float
    high: float
    p: float
    causes: tuple[Source, ...]
    parts: Mapping[Source, float | None]
    p_wording: Mapping[Worded, float]
    bounds: tuple[Part, ...]
    counts: Mapping[str, Mapping[str, int]]

    @property
    def rate(self) -> float:
        """The share of asks that gave another verdict than the usual one."""
        return self.dissents / self.asks


@dataclass(frozen=True, slots=True)
class Found:
    """What is named, the worst first, and how much was tested."""

    named: tuple[Named, ...]
    cases: int
    criteria: int


def named(
    first: Sequence[Unit], units: Sequence[Unit], scale: Scale, limits: Limits, *, frozen: bool, seed: int
) -> Found:
    """
    Return the cases and criteria that a judge is unsure about.

    `first` holds the first asks of each case, `units` all asks. Of a `frozen` judge, which repeats itself, the first
    ask of each wording counts: its repeats are no new replies, and no lots among them explain anything.
    """
    early, every = ([unit.once for unit in side] if frozen else list(side) for side in (first, units))
    once = {(unit.case, unit.criterion): unit for unit in early}
    criteria = [_criterion(name, group, once, scale, limits) for name, group in _groups(every, "criterion")]
    rows = [*criteria, *(_case(name, group, scale, limits) for name, group in _groups(every, "case"))]
    counts = {what: sum(row.what == what for row in rows) for what in ("case", "criterion")}
    if not rows:
        return Found((), 0, 0)
    lots = [_lots(row, scale, seed) if row.p <= SCREEN and not frozen else {} for row in rows]
    tests = 1 + sum(any(_twice(unit, source) for unit in early) for source in WORDED) * (not frozen)
    whole = [
        min(1.0, tests * min([row.p, *told.values()])) if row.p <= SCREEN else 1.0
        for row, told in zip(rows, lots, strict=True)
    ]
    adjusted = benjamini_hochberg(whole)
    kept = _without_echoes(
        [one for one in zip(rows, adjusted, lots, strict=True) if one[1] <= limits.wrong], once, scale, limits
    )
    level = LEVEL * max(1, len(kept)) / len(rows)
    causes = _adjusted([told for _, _, told in kept])
    found = [_named(row, p, cause, level, scale) for (row, p, _), cause in zip(kept, causes, strict=True)]
    found.sort(key=lambda one: (one.what != "criterion", one.p, -one.rate, one.name))
    return Found(tuple(found), counts["case"], counts["criterion"])


def _groups(units: Sequence[Unit], what: What) -> list[tuple[str, list[Unit]]]:
    groups: dict[str, list[Unit]] = {}
    for unit in units:
        name = unit.case if what == "case" else unit.text
        if name and len(unit.verdicts) > 1:
            groups.setdefault(name, []).append(unit)
    return list(groups.items())


def _case(name: str, units: Sequence[Unit], scale: Scale, limits: Limits) -> Row:
    marks = _marks(units, scale, limits)
    kept = _without_the_worst(units, marks)
    asks, much = _by_ask(kept, marks)
    alone = len(kept) == 1
    p = at_least(round(much), asks, limits.rate) if alone else at_least_in_shares(much, asks, limits.rate)
    return Row("case", name, tuple(kept), tuple(units), much, asks, p)


def _criterion(
    name: str, units: Sequence[Unit], first: Mapping[tuple[str, str], Unit], scale: Scale, limits: Limits
) -> Row:
    """
    Return the row of a criterion. Each of its cases has a p-value on all asks.

    The share of dissents is that of the first asks, of which all cases have as many, if there are several cases.
    """
    marks = _marks(units, scale, limits)
    kept = _without_the_worst(units, marks)
    p_values = [at_least(sum(marks[id(unit)]), len(marks[id(unit)]), limits.rate) for unit in units]
    p = more_than(len(units) - len(kept), p_values)
    shown = [first[unit.case, unit.criterion] for unit in kept] if len(units) > 1 else kept
    counted = _marks(shown, scale, limits).values()
    return Row("criterion", name, tuple(kept), tuple(units), float(sum(map(sum, counted))), sum(map(len, counted)), p)


def _marks(units: Sequence[Unit], scale: Scale, limits: Limits) -> dict[int, tuple[bool, ...]]:
    """Return which verdicts of each unit are not the usual one."""
    return {id(unit): dissents(unit.verdicts, scale, limits.tolerance) for unit in units}


def _without_the_worst(units: Sequence[Unit], marks: Mapping[int, Sequence[bool]]) -> list[Unit]:
    if len(units) == 1:
        return list(units)
    by_rate = sorted(units, key=lambda unit: sum(marks[id(unit)]) / len(marks[id(unit)]))
    gone = {id(unit) for unit in by_rate[len(units) - ceil(len(units) / WORST) :]}
    return [unit for unit in units if id(unit) not in gone]


def _by_ask(units: Sequence[Unit], marks: Mapping[int, Sequence[bool]]) -> tuple[int, float]:
    """
    Return the asks of a case, and the sum over them of the share of its criteria that dissent.

    The criteria of one ask may stand in one reply, so they are no asks of their own.
    """
    asks = min(len(marks[id(unit)]) for unit in units)
    return asks, fsum(sum(marks[id(unit)][:asks]) for unit in units) / len(units)


def _without_echoes(
    kept: Sequence[Tested], first: Mapping[tuple[str, str], Unit], scale: Scale, limits: Limits
) -> list[Tested]:
    """
    Leave out what other names say already.

    A criterion is left out if nothing of it is unlikely outside the named cases, then a case if nothing of it is
    unlikely outside the criteria that are left. Nothing is added, so the share of wrong names stays bounded.
    """
    cases = {row.name for row, _, _ in kept if row.what == "case"}
    found: list[Tested] = []
    for one in kept:
        row = one[0]
        others = [unit for unit in row.every if unit.case not in cases]
        if row.what == "criterion" and others and _criterion(row.name, others, first, scale, limits).p <= SCREEN:
            found.append(one)
    vague = {row.name for row, _, _ in found}
    for one in kept:
        row = one[0]
        others = [unit for unit in row.every if not unit.text or unit.text not in vague]
        if row.what == "case" and others and _case(row.name, others, scale, limits).p <= SCREEN:
            found.append(one)
    return found


def _twice(unit: Unit, source: Worded) -> bool:
    """Return whether a unit was asked twice in another wording of a kind."""
    return any(cell.kind == source and len(cell.verdicts) > 1 for cell in unit.cells)


def _lots(row: Row, scale: Scale, seed: int) -> dict[Worded, float]:
    """Return the p-value of each kind of wording in which the units of a row were asked."""
    found: dict[Worded, float] = {}
    for source in WORDED:
        blocks = [one for unit in row.units if (one := block(unit, ("base", source), scale))]
        told = turns_on_wording(blocks, Random(digest("lots", seed, row.what, row.name, source)))
        if told is not None:
            found[source] = told[1]
    return found


def _adjusted(lots: Sequence[Mapping[Worded, float]]) -> list[dict[Worded, float]]:
    """Return these p-values adjusted by Holm, over all names and wordings together."""
    places = [(place, source) for place, told in enumerate(lots) for source in told]
    adjusted = holm([lots[place][source] for place, source in places]) if places else []
    found: list[dict[Worded, float]] = [{} for _ in lots]
    for (place, source), p in zip(places, adjusted, strict=True):
        found[place][source] = p
    return found


def _named(row: Row, p: float, wording: Mapping[Worded, float], level: float, scale: Scale) -> Named:
    parts = {source: _average(value_of(source, scale)(unit) for unit in row.units) for source in SOURCES}
    low, high = clopper_pearson(row.dissents, row.asks, level)
    explained = tuple(source for source, found in wording.items() if found <= EXPLAINED)
    return Named(
        row.what,
        row.name,
        tuple(dict.fromkeys(unit.case for unit in row.units)),
        row.dissents,
        row.asks,
        low,
        high,
        p,
        explained or _by_wording(row, scale) or ("noise",),
        parts,
        wording,
        split(row.units, scale) if row.what == "criterion" else (),
        {unit.text: unit.counts(scale) for unit in row.units},
    )


def _by_wording(row: Row, scale: Scale) -> tuple[Worded, ...]:
    """Return the wordings under which a judge that was asked once in each says something else: nothing else moved."""
    if any(len(cell.verdicts) > 1 for unit in row.units for cell in unit.cells):
        return ()
    found: list[Worded] = []
    for source in WORDED:
        blocks = [block(unit, ("base", source), scale) for unit in row.units]
        if any(one is not None and one.apart.any() for one in blocks):
            found.append(source)
    return tuple(found)


def _average(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return fsum(found) / len(found) if found else None
