"""
Naming: which cases a judge is unsure about and which criteria are vague, with the share of wrong names bounded.

A case or a criterion is held against one hypothesis: that each ask of it gives something else than its usual verdict
with at most the probability `Limits.rate`. A criterion is counted over its cases without the quarter that dissents
most, so one hard case makes no criterion vague; a case is counted over its criteria without the worst quarter, so one
vague criterion makes no case ambiguous. To leave out the worst can only raise a p-value. Benjamini and Hochberg's rule
over all of them bounds the expected share of wrong names; if none is to be named, it is the probability of any name.
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
from calm.statistics.dissent import at_least, at_least_in_shares, turns_on_wording
from calm.statistics.intervals import clopper_pearson
from calm.statistics.multiplicity import benjamini_hochberg, holm
from calm.studies.diagnose.split import SOURCES, WORDED, Part, Source, Worded, split, value_of
from calm.studies.diagnose.units import Unit, block, dissents

What: TypeAlias = Literal["case", "criterion"]

WORST: Final = 4
"""One in so many units of a row is left out: those that dissent most."""
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


@dataclass(frozen=True, slots=True)
class Named:
    """
    A case (by its id) or a criterion (by its text) that is named, and why.

    `cases` are those that count for it. In `dissents` of `asks` it was given another verdict than the usual one: the
    share lies between `low` and `high`, each bound at 5 % of the names (Benjamini and Yekutieli 2005). `p` is adjusted
    for all that was tested. `causes` are the sources that explain it: the wordings that do, or else noise. `parts` are
    the means of each source over its units (None: not asked), `p_wording` the adjusted p-value of each wording.
    `counts` holds what was said of a case, by criterion where there are some.
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

    A criterion of several cases is counted in the `first` asks, of which each case has as many; all else in all asks
    (`units`). Of a `frozen` judge, which repeats itself, the first ask of each wording counts: its repeats are no new
    replies, and no lots among them explain anything.
    """
    early, every = ([unit.once for unit in side] if frozen else list(side) for side in (first, units))
    shared = [row for row in _rows("criterion", early, scale, limits) if len(row.every) > 1]
    single = [row for row in _rows("criterion", every, scale, limits) if len(row.every) == 1]
    rows = [*shared, *single, *_rows("case", every, scale, limits)]
    tested = {what: sum(row.what == what for row in rows) for what in ("case", "criterion")}
    if not rows:
        return Found((), 0, 0)
    adjusted = benjamini_hochberg([row.p for row in rows])
    kept = _without_echoes([(row, p) for row, p in zip(rows, adjusted, strict=True) if p <= limits.wrong])
    level = LEVEL * max(1, len(kept)) / len(rows)
    causes = _causes([row for row, _ in kept], scale, seed, frozen=frozen)
    found = [_named(row, p, cause, level, scale) for (row, p), cause in zip(kept, causes, strict=True)]
    found.sort(key=lambda one: (one.what != "criterion", one.p, -one.rate, one.name))
    return Found(tuple(found), tested["case"], tested["criterion"])


def _rows(what: What, units: Sequence[Unit], scale: Scale, limits: Limits) -> list[Row]:
    groups: dict[str, list[Unit]] = {}
    for unit in units:
        name = unit.case if what == "case" else unit.text
        if name and len(unit.verdicts) > 1:
            groups.setdefault(name, []).append(unit)
    found: list[Row] = []
    for name, every in groups.items():
        marks = {id(unit): dissents(unit.verdicts, scale, limits.tolerance) for unit in every}
        kept = _without_the_worst(every, marks)
        if what == "case":
            asks, much = _by_ask(kept, marks)
            alone = len(kept) == 1
            p = at_least(round(much), asks, limits.rate) if alone else at_least_in_shares(much, asks, limits.rate)
        else:
            asks = sum(len(marks[id(unit)]) for unit in kept)
            much = float(sum(sum(marks[id(unit)]) for unit in kept))
            p = at_least(round(much), asks, limits.rate)
        found.append(Row(what, name, tuple(kept), tuple(every), much, asks, p))
    return found


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


def _without_echoes(kept: Sequence[tuple[Row, float]]) -> list[tuple[Row, float]]:
    """
    Leave out what another name says already, as far as both rest on the same replies.

    A criterion of a single case is part of this case. A case with a single criterion that is vague in others, too, is
    part of the criterion.
    """
    cases = {row.name for row, _ in kept if row.what == "case"}
    vague = {row.name for row, _ in kept if row.what == "criterion" and len(row.every) > 1}
    found = []
    for row, p in kept:
        first = row.every[0]
        within = row.what == "criterion" and len(row.every) == 1 and first.case in cases
        echo = row.what == "case" and len(row.every) == 1 and first.text in vague
        if not within and not echo:
            found.append((row, p))
    return found


def _causes(rows: Sequence[Row], scale: Scale, seed: int, *, frozen: bool) -> list[dict[Worded, float]]:
    """Return, for each row, the adjusted p-value of each wording that was asked in two ways."""
    tests: list[tuple[int, Worded, float]] = []
    for place, row in enumerate(rows):
        for source in WORDED:
            blocks = [found for unit in row.units if (found := block(unit, ("base", source), scale))]
            lots = Random(digest("lots", seed, row.what, row.name, source))
            told = None if frozen else turns_on_wording(blocks, lots)
            if told is not None:
                tests.append((place, source, told[1]))
    adjusted = holm([p for _, _, p in tests]) if tests else []
    by_row: list[dict[Worded, float]] = [{} for _ in rows]
    for (place, source, _), p in zip(tests, adjusted, strict=True):
        by_row[place][source] = p
    return by_row


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
        {unit.text: unit.counts() for unit in row.units},
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
