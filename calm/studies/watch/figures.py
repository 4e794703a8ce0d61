"""How far the verdicts of a run are from its reference, beyond the judge's own noise: figures that describe it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from typing import Final

from calm.core.case import Case
from calm.statistics.intervals import padded_t
from calm.studies.watch.anchors import agreement
from calm.studies.watch.sheets import Kept, Reader

LEVEL: Final = 0.05
"""The error of each end of an interval that describes one run; it has no part in the alarm."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over anchors with one-sided bounds at `LEVEL`; no bounds from one anchor alone."""

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def aside(self) -> bool:
        """Whether 0 lies outside."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class Moved:
    """An anchor that moved: its verdicts in its reference and today, and their distance beyond noise."""

    id: str
    before: Mapping[str, int]
    today: Mapping[str, int]
    beyond: float


@dataclass(frozen=True, slots=True)
class Figures:
    """
    The last run against the reference, on anchors that have one.

    `distance` is the mean distance of an ask today from one of the reference, `noise` and `noise_before` that of two
    asks in one run (None where there is one ask a run), and `beyond` what is left of the first after the mean of these.
    `favour` says by how much the favour of one answer (or the score, or the points) moved. `gold` is the agreement with
    gold before and today, and the number of anchors that have gold. `moved` holds the anchors, the farthest first.
    """

    distance: float
    noise: float | None
    noise_before: float | None
    beyond: Interval | None
    favour: Interval | None
    gold: tuple[float, float, int] | None
    moved: tuple[Moved, ...]

    @property
    def aside(self) -> bool:
        """Whether one run alone moved more than noise usually moves it; that is no alarm."""
        return any(one is not None and one.aside for one in (self.beyond, self.favour))


def describe(kept: Sequence[Kept], cases: Sequence[Case], reader: Reader) -> Figures:
    """Return the figures of the last run; `kept` holds at least one anchor, with one recent run."""
    apart: list[float] = []
    noises: list[float] = []
    noises_before: list[float] = []
    beyond: list[float] = []
    shifts: list[float] = []
    moved: list[Moved] = []
    golds: list[tuple[float, float]] = []
    by_id = {case.id: case for case in cases}
    for one in kept:
        today = one.recent[-1]
        then_said, now_said = _tally(one.before), _tally([today])
        weights = [(n * m, reader.apart(u, v, one.anchor)) for u, n in then_said.items() for v, m in now_said.items()]
        far = fsum(n * d for n, d in weights) / sum(n for n, _ in weights)
        now = _noise([today], one, reader)
        then = _noise(one.before, one, reader)
        apart.append(far)
        noises += [] if now is None else [now]
        noises_before += [] if then is None else [then]
        if now is not None and then is not None:
            beyond.append(far - (now + then) / 2)
            if beyond[-1] > 0:
                moved.append(Moved(one.anchor.id, then_said, now_said, beyond[-1]))
        old, new = favour_before(one, reader), reader.favour(today, one.anchor)
        if old is not None and new is not None:
            shifts.append(new - old)
        case = by_id[one.anchor.id]
        worth = {u: agreement(reader.verdict(u), case, reader.scale) for u in then_said.keys() | now_said.keys()}
        known = {u: value for u, value in worth.items() if value is not None}
        if known:
            means = [mean([known[u] for u in row]) for row in (*one.before, today)]
            golds.append((mean(means[:-1]), means[-1]))
    gold = (mean([a for a, _ in golds]), mean([b for _, b in golds]), len(golds)) if golds else None
    return Figures(
        distance=mean(apart),
        noise=mean(noises) if noises else None,
        noise_before=mean(noises_before) if noises_before else None,
        beyond=_interval(beyond),
        favour=_interval(shifts),
        gold=gold,
        moved=tuple(sorted(moved, key=lambda one: (-one.beyond, one.id))),
    )


def favour_before(one: Kept, reader: Reader) -> float | None:
    """Return the mean favour of an anchor over its reference, each run counting once; None where it has none."""
    found = [worth for row in one.before if (worth := reader.favour(row, one.anchor)) is not None]
    return mean(found) if found else None


def _noise(rows: Sequence[Sequence[str]], one: Kept, reader: Reader) -> float | None:
    pairs = [reader.apart(u, v, one.anchor) for row in rows for u, v in combinations(row, 2)]
    return mean(pairs) if pairs else None


def _tally(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        for said in row:
            counts[said] = counts.get(said, 0) + 1
    return counts


def _interval(values: Sequence[float]) -> Interval | None:
    if not values:
        return None
    if len(values) < 2:
        return Interval(mean(values), None, None, len(values))
    low, high = padded_t(values, -1.0, 1.0, LEVEL)
    return Interval(mean(values), max(low, -1.0), min(high, 1.0), len(values))


def mean(values: Sequence[float]) -> float:
    """Return the mean of some values, 0 for none."""
    return fsum(values) / len(values) if values else 0.0
