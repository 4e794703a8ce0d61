"""
Naming: which cases a judge is unsure about and which criteria are vague, with the share of wrong names bounded.

`split` says how far two asks are apart by noise, by the wording of the prompt, and by that of the criteria.

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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum
from random import Random
from typing import Final, Literal, TypeAlias

from calm.core.case import digest
from calm.core.claims import Estimate
from calm.core.verdict import Scale, readable
from calm.experiment.stopping import LEVEL
from calm.plugins.diagnose.asking import Unit, block, dissents, noise
from calm.statistics.dissent import at_least, at_least_in_shares, between, more_than, turns_on_wording
from calm.statistics.intervals import clopper_pearson, clustered_t
from calm.statistics.multiplicity import benjamini_hochberg, holm

Worded: TypeAlias = Literal["prompt", "criterion"]
Source: TypeAlias = Literal["noise"] | Worded
WORDED: Final[tuple[Worded, ...]] = ("prompt", "criterion")
SOURCES: Final[tuple[Source, ...]] = ("noise", *WORDED)


@dataclass(frozen=True, slots=True)
class Part:
    """
    What one source adds to the distance of two asks, as a mean over units; None: fewer than two clusters show it.

    `noise` is the distance of two asks in the same words, in [0, 1]. `prompt` and `criterion` are what another wording
    adds to it, in [-1, 1]: 0 where a wording changes nothing, and by chance below it.
    """

    source: Source
    estimate: Estimate | None


def part_of(source: Source, unit: Unit, scale: Scale) -> float | None:
    """Return the part of a source in one unit, or None where the unit does not show it."""
    if source == "noise":
        return noise(unit, scale)
    told = {cell.kind for cell in unit.cells if any(map(readable, cell.verdicts))}
    found = block(unit, ("base", source), scale) if {"base", source} <= told else None
    return None if found is None else between(found)


def split(units: Sequence[Unit], scale: Scale) -> tuple[Part, ...]:
    """Return the three parts over some units, each with one-sided bounds of 5 % over their clusters."""
    parts = []
    for source in SOURCES:
        found: dict[str, list[float]] = {}
        for unit in units:
            if (one := part_of(source, unit, scale)) is not None:
                found.setdefault(unit.cluster, []).append(one)
        estimate = None
        if len(found) > 1:
            sums, sizes = [fsum(values) for values in found.values()], [len(values) for values in found.values()]
            bounds = clustered_t(sums, sizes, 0.0 if source == "noise" else -1.0, 1.0, LEVEL)
            estimate = Estimate(fsum(sums) / sum(sizes), *bounds, len(found), LEVEL, {})
        parts.append(Part(source, estimate))
    return tuple(parts)


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
    twice = {cell.kind for unit in early for cell in unit.cells if len(cell.verdicts) > 1}
    tests = 1 + len(twice & {*WORDED}) * (not frozen)
    whole = [
        min(1.0, tests * min([row.p, *told.values()])) if row.p <= SCREEN else 1.0
        for row, told in zip(rows, lots, strict=True)
    ]
    adjusted = benjamini_hochberg(whole)
    kept = _without_echoes(
        [one for one in zip(rows, adjusted, lots, strict=True) if one[1] <= limits.wrong], once, scale, limits
    )
    level = LEVEL * max(1, len(kept)) / len(rows)
    places = [(place, source) for place, (_, _, told) in enumerate(kept) for source in told]
    by_holm = holm([kept[place][2][source] for place, source in places]) if places else []
    causes: list[dict[Worded, float]] = [{} for _ in kept]
    for (place, source), p in zip(places, by_holm, strict=True):
        causes[place][source] = p
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
    # the criteria of one ask may stand in one reply, so they are no asks of their own
    asks = min(len(marks[id(unit)]) for unit in kept)
    much = fsum(sum(marks[id(unit)][:asks]) for unit in kept) / len(kept)
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
    return {id(unit): dissents(unit.verdicts, scale, limits.tolerance) for unit in units}


def _without_the_worst(units: Sequence[Unit], marks: Mapping[int, Sequence[bool]]) -> list[Unit]:
    if len(units) == 1:
        return list(units)
    by_rate = sorted(units, key=lambda unit: sum(marks[id(unit)]) / len(marks[id(unit)]))
    gone = {id(unit) for unit in by_rate[len(units) - ceil(len(units) / WORST) :]}
    return [unit for unit in units if id(unit) not in gone]


def _without_echoes(
    kept: Sequence[Tested], first: Mapping[tuple[str, str], Unit], scale: Scale, limits: Limits
) -> list[Tested]:
    """
    Leave out what other names say already.

    A criterion is left out if nothing of it is unlikely outside the named cases, then a case if nothing of it is
    unlikely outside the criteria that are left. Nothing is added, so the share of wrong names stays bounded.
    """
    cases = {row.name for row, _, _ in kept if row.what == "case"}

    def left(one: Tested, what: What, said: Collection[str]) -> bool:
        row = one[0]
        others = [unit for unit in row.every if (unit.case if what == "criterion" else unit.text) not in said]
        if row.what != what or not others:
            return False
        if what == "case":
            return _case(row.name, others, scale, limits).p <= SCREEN
        return _criterion(row.name, others, first, scale, limits).p <= SCREEN

    vague = [one for one in kept if left(one, "criterion", cases)]
    names = {row.name for row, _, _ in vague}
    return [*vague, *(one for one in kept if left(one, "case", names))]


def _lots(row: Row, scale: Scale, seed: int) -> dict[Worded, float]:
    found: dict[Worded, float] = {}
    for source in WORDED:
        blocks = [one for unit in row.units if (one := block(unit, ("base", source), scale))]
        told = turns_on_wording(blocks, Random(digest("lots", seed, row.what, row.name, source)))
        if told is not None:
            found[source] = told[1]
    return found


def _named(row: Row, p: float, wording: Mapping[Worded, float], level: float, scale: Scale) -> Named:
    parts: dict[Source, float | None] = {}
    for source in SOURCES:
        values = [v for unit in row.units if (v := part_of(source, unit, scale)) is not None]
        parts[source] = fsum(values) / len(values) if values else None
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
    if any(len(cell.verdicts) > 1 for unit in row.units for cell in unit.cells):
        return ()
    found: list[Worded] = []
    for source in WORDED:
        blocks = [block(unit, ("base", source), scale) for unit in row.units]
        if any(one is not None and one.apart.any() for one in blocks):
            found.append(source)
    return tuple(found)
