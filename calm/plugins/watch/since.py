"""
One step after a vendor's notice: a judge today beside its verdicts in a saved run, on a few of the run's cases.

The clean asks of the run are the reference. Each anchor is asked again, at most twice. Three tests share the error: the
favour fell, it rose, and verdicts moved beyond the judge's own noise in any direction. Under the null, which asks of an
anchor are today's says nothing, so each test deals the asks of each anchor out anew (`statistics.drift.relabelled`). No
distribution is assumed, and few asks of the reference cost power, but no false alarms.

Anchors are chosen by gold and by how often they were asked, never by what was said: who takes those on which the judge
agreed with itself sees less agreement the next time, without any change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, zip_longest
from math import comb, inf
from random import Random
from statistics import fmean
from typing import Final, Literal, TypeAlias

import numpy as np

from calm.core.case import Case, digest
from calm.core.trials import Trial
from calm.core.verdict import FAMILY, Preferred, Scale, Task, Verdict, readable
from calm.errors import ConfigError, EstimateError
from calm.experiment.pairs import ORDER_SALT
from calm.models.wire import Judge
from calm.plugins.watch.alarm import TESTS, Test
from calm.plugins.watch.comparison import Figures, Kept, Reader, describe
from calm.plugins.watch.history import Anchor, anchors_of, said
from calm.results.audit import Audit
from calm.results.records import untouched
from calm.statistics.drift import Floats, relabelled

MOST_ANCHORS, ASKS, MOST_CALLS = 60, 2, 120
"""Anchors, asks of each, and calls of all."""
LEAST_ANCHORS: Final = 25
"""Fewer could not show that at most `MOST_MOVED` moved, even if none did."""
MOST_ASKS: Final = 8
"""Asks of the reference that count, the first ones: more hardly add to what two of today tell."""
FOLDS: Final = 5
"""Into so many parts gold scores are cut, the same number of anchors from each."""
MOST_MOVED, MOST_SHIFT = 0.15, 0.08
"""Not moved: at most so much of the verdicts changed beyond noise, and the mean score by so much of its scale."""
LEAST: Final[Mapping[bool, tuple[float, float]]] = {False: (0.05, 0.10), True: (0.025, 0.04)}
"""
Less than this is no alarm, however sure it is; of numbers or not, and of a judge that repeats itself the second one.

Its asks show no noise, but its server may answer a few cases otherwise on another day.
"""

SUSPECT: Final = 5.0
"""Not moved: no test comes so near to its level either, by this factor."""

Outcome: TypeAlias = Literal["moved", "not moved", "not decided"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The cases to ask again, and the row of the saved run of each; `of` counts the cases that could be chosen from."""

    cases: tuple[Case, ...]
    rows: Mapping[str, Trial]
    of: int


@dataclass(frozen=True, slots=True)
class Since:
    """
    What a comparison with a saved run says.

    `chances` holds for each test how probable so much is by chance, `levels` what it had to reach. `turned` counts the
    anchors whose favour fell, and rose, by half of the way or more. Before and today: `readable` is the share of
    replies that could be read, `first` that of verdicts for the answer shown first; None where one answer is shown.
    """

    anchors: int
    asks_before: tuple[int, int]
    figures: Figures
    chances: Mapping[Test, float]
    levels: Mapping[Test, float]
    turned: tuple[int, int]
    readable: tuple[float, float]
    first: tuple[float, float] | None
    of_numbers: bool
    scale: Scale

    @property
    def raised(self) -> tuple[Test, ...]:
        """The tests that found more than chance."""
        return tuple(test for test, p in self.chances.items() if p <= self.levels[test])

    @property
    def least_moved(self) -> float:
        """Less than this is no alarm, however sure it is."""
        return LEAST[self.of_numbers][not (self.figures.noise or self.figures.noise_before)]

    @property
    def outcome(self) -> Outcome:
        """Whether the judge moved."""
        beyond, shift = self.figures.beyond, self.figures.favour
        sizes = [abs(one.value) for one in (beyond, shift) if one is not None]
        if self.raised and max(sizes, default=0.0) >= self.least_moved:
            return "moved"
        small = all(one is not None and one.within(-inf, MOST_MOVED) for one in (beyond, self.figures.others))
        if self.of_numbers:
            small = small and shift is not None and shift.within(-MOST_SHIFT, MOST_SHIFT)
        near = any(p <= SUSPECT * self.levels[test] for test, p in self.chances.items())
        return "not moved" if small and not near else "not decided"


def choose(audit: Audit, judge: Judge, cases: Sequence[Case], source: str, most: int = MOST_ANCHORS) -> Chosen:
    """
    Return the anchors of a saved run: as many of each gold label, and those first that were asked most.

    Raises:
        ConfigError: the run holds too few clean verdicts on these cases; how to mend it.
    """
    salt = "" if judge.traits.as_given else ORDER_SALT
    shown = {one.case: one.hash for f in audit.findings for one in f.trials if one.order and not one.edit}
    rows = {row.case: row for row in untouched(audit)}
    there = [case for case in cases if case.id in rows and case.with_order(salt).identity() == shown.get(case.id)]
    if len(there) < LEAST_ANCHORS:
        raise ConfigError(
            f"{source}: expected verdicts on {LEAST_ANCHORS} cases or more as they are, got {len(rows)} cases with "
            f"verdicts, of which {len(there)} are among the {len(cases)} cases given, unchanged. A run of the default "
            "gate (`calm audit`) on 60 cases or more holds them; name its cases with --cases if they have moved"
        )
    strata: dict[object, list[Case]] = defaultdict(list)
    worths = sorted(one for case in there for one in rows[case.id].worth.values())
    for case in sorted(there, key=lambda case: (-min(len(rows[case.id].clean), MOST_ASKS), digest("since", case.id))):
        strata[_gold(rows[case.id], worths)].append(case)
    turns = zip_longest(*(strata[gold] for gold in sorted(strata, key=str)))
    chosen = [case for turn in turns for case in turn if case is not None][:most]
    return Chosen(tuple(sorted(chosen, key=lambda case: case.id)), {c.id: rows[c.id] for c in chosen}, len(there))


def _gold(row: Trial, worths: Sequence[float]) -> object:
    """Return what anchors are balanced by: the slot of the better answer, the class, or the part of the gold scores."""
    if row.better is not None:
        return row.order.index(row.better) if row.better in row.order else row.better
    if len(row.worth) == 1:
        return int(np.searchsorted(worths, next(iter(row.worth.values()))) * FOLDS / len(worths))
    return round(FOLDS * sum(row.met.values()) / len(row.met)) if row.met else None


def since(chosen: Chosen, today: Sequence[Sequence[str]], scale: Scale, task: Task, rate: float) -> Since:
    """
    Return what today's verdicts say, one row for each chosen case, in its order; a row without any is left out.

    If the judge did not move, the outcome is "moved" with a probability of at most `rate`. Smallest n: 2 anchors.
    """
    reader = Reader(scale)
    anchors = zip(chosen.cases, anchors_of(chosen.cases), today, strict=True)
    kept = [
        Kept(anchor, (tuple(map(said, chosen.rows[case.id].clean[:MOST_ASKS])),), (tuple(now),))
        for case, anchor, now in anchors
        if now
    ]
    if len(kept) < 2:
        raise EstimateError(f"expected replies on two anchors or more, got them on {len(kept)}")
    rising = [table for one in kept if (table := _by_favour(one, reader)) is not None]
    moving = [_by_distance(one, reader) for one in kept if len(one.before[0]) > 1 and len(one.recent[0]) > 1]
    levels = {test: rate * share for test, share in TESTS.items()}
    tables = {"moved": moving, "up": rising, "down": [-table for table in rising]}
    chances: dict[Test, float] = {test: relabelled(tables[test], Random(test)) for test in levels if tables[test]}

    def wins_first(verdict: Verdict, anchor: Anchor) -> bool:
        return isinstance(verdict, Preferred) and verdict.answer == chosen.rows[anchor.id].order[0]

    asked = [len(one.before[0]) for one in kept]
    return Since(
        anchors=len(kept),
        asks_before=(min(asked), max(asked)),
        figures=describe(kept, chosen.cases, reader),
        chances=chances,
        levels=levels,
        turned=(sum(table[0] <= -0.5 for table in rising), sum(table[0] >= 0.5 for table in rising)),
        readable=_shares(kept, reader, lambda verdict, _: readable(verdict)),
        first=_shares(kept, reader, wins_first) if len(chosen.cases[0].answers) > 1 else None,
        of_numbers=FAMILY[task] in ("score", "rubric"),
        scale=scale,
    )


def _by_distance(one: Kept, reader: Reader) -> Floats:
    """Return how far today's asks are from the earlier ones beyond noise, for each way to deal the asks out."""
    asks, m = (*one.before[0], *one.recent[0]), len(one.recent[0])
    apart = np.array([[reader.apart(u, v, one.anchor) for v in asks] for u in asks])
    now, k = _ways(len(asks), m), len(asks) - m
    from_now = now @ apart
    across, inside = (from_now * (1 - now)).sum(axis=1), (from_now * now).sum(axis=1)
    earlier = (((1 - now) @ apart) * (1 - now)).sum(axis=1)
    beyond: Floats = across / (k * m) - inside / (2 * m * (m - 1)) - earlier / (2 * k * (k - 1))
    return beyond


def _by_favour(one: Kept, reader: Reader) -> Floats | None:
    """Return by how much the favour is higher today, for each way to deal the asks out; None where none has one."""
    sides = [[reader.favour((ask,), one.anchor) for ask in side] for side in (one.before[0], one.recent[0])]
    before, now = ([worth for worth in side if worth is not None] for side in sides)
    if not before or not now:
        return None
    ways = _ways(len(before) + len(now), len(now))
    higher: Floats = (ways / len(now) - (1 - ways) / len(before)) @ np.array([*before, *now])
    return higher


@cache
def _ways(size: int, recent: int) -> Floats:
    """Return a row for each choice of the recent ones of some asks, 1 for those and else 0; that of the last first."""
    found = np.zeros((comb(size, recent), size))
    for row, way in zip(found, combinations(range(size), recent), strict=True):
        row[[size - 1 - i for i in way]] = 1
    return found


def _shares(kept: Sequence[Kept], reader: Reader, holds: Callable[[Verdict, Anchor], bool]) -> tuple[float, float]:
    """Return the share of verdicts of which something holds, before and today, the mean over anchors."""
    both = [
        [fmean([holds(reader.verdict(ask), one.anchor) for ask in asks]) for asks in (one.before[0], one.recent[0])]
        for one in kept
    ]
    then, now = map(fmean, zip(*both, strict=True))
    return then, now
