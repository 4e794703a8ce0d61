"""
What differs between the last run of a history and its reference: by the judge, by the cases, and by chance.

`Sheet`s are the runs as tables of numbers; `Figures` describe how far a run is from its reference beyond noise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from random import Random
from typing import Final

import numpy as np

from calm.core.case import Case
from calm.core.trials import distance, favour
from calm.core.verdict import Scale, Verdict, readable
from calm.plugins.watch.alarm import (
    LOOKS,
    Look,
    Promise,
    Reach,
    Sheet,
    Sign,
    Test,
    looks_for,
    reach,
    shift_needed,
    signs,
)
from calm.plugins.watch.history import Anchor, Run, agreement, verdict_in
from calm.statistics.intervals import padded_t

_MOST_CELLS = 2_000_000
"""Distances of verdicts in one table: a sheet is split where anchors have many different verdicts."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The verdicts of an anchor by run, oldest first: those of its reference, and those of the recent runs."""

    anchor: Anchor
    before: tuple[tuple[str, ...], ...]
    recent: tuple[tuple[str, ...], ...]


def kept_in(runs: Sequence[Run], look: Look) -> list[Kept]:
    """
    Return the anchors of the last run that have a reference, with the recent runs that a look sets against it.

    The reference of an anchor is its first runs, at most as many as the look takes.
    """
    wanted = {anchor.key: anchor for anchor in runs[-1].anchors}
    before: dict[tuple[str, str], list[tuple[str, ...]]] = {key: [] for key in wanted}
    open_keys = set(wanted)
    for run in runs[: -look.window]:
        if not open_keys:
            break
        for anchor, row in zip(run.anchors, run.verdicts, strict=True):
            if row and anchor.key in open_keys:
                before[anchor.key].append(row)
                if len(before[anchor.key]) == look.reference:
                    open_keys.discard(anchor.key)
    recent: dict[tuple[str, str], list[tuple[str, ...]]] = {key: [] for key in wanted}
    for run in runs[-look.window :]:
        for anchor, row in zip(run.anchors, run.verdicts, strict=True):
            if anchor.key in wanted:
                recent[anchor.key].append(row)
    return [
        Kept(anchor, tuple(before[key]), tuple(recent[key]))
        for key, anchor in wanted.items()
        if before[key] and any(recent[key])
    ]


class Reader:
    """Reads kept verdicts once each, and knows their distances and favours."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self._verdicts: dict[str, Verdict] = {}
        self._apart: dict[object, float] = {}
        self._favours: dict[object, float | None] = {}

    def verdict(self, said: str) -> Verdict:
        """Return the verdict that was kept so."""
        if said not in self._verdicts:
            self._verdicts[said] = verdict_in(said)
        return self._verdicts[said]

    def apart(self, one: str, other: str, anchor: Anchor) -> float:
        """Return the distance of two verdicts on an anchor, in [0, 1]."""
        key = (one, other, *anchor.points.items())
        if key not in self._apart:
            self._apart[key] = distance(self.verdict(one), self.verdict(other), anchor.row, self.scale)
        return self._apart[key]

    def favour(self, said: tuple[str, ...], anchor: Anchor) -> float | None:
        """Return the mean favour of some verdicts, in [0, 1]; None where none of them has one."""
        key = (said, anchor.toward, *anchor.points.items())
        if key not in self._favours:
            found = [favour(self.verdict(one), anchor.toward, anchor.row, self.scale) for one in said]
            values = [one for one in found if one is not None]
            self._favours[key] = sum(values) / len(values) if values else None
        return self._favours[key]


def sheets_of(kept: Sequence[Kept], window: int, reader: Reader) -> list[Sheet]:
    """Return anchors as tables, those together that have equally many different verdicts."""
    alike: dict[int, list[tuple[Kept, list[str]]]] = defaultdict(list)
    for one in kept:
        words = sorted({said for rows in (one.before, one.recent) for row in rows for said in row})
        alike[len(words)].append((one, words))
    found = []
    for size, rows in alike.items():
        step = max(1, _MOST_CELLS // size**2)
        found += [_sheet(rows[at : at + step], size, window, reader) for at in range(0, len(rows), step)]
    return found


def _sheet(rows: Sequence[tuple[Kept, list[str]]], size: int, window: int, reader: Reader) -> Sheet:
    longest = max(len(one.before) for one, _ in rows)
    shares = np.zeros((len(rows), longest + window, size))
    apart = np.zeros((len(rows), size, size))
    favours = np.full((len(rows), longest + window), np.nan)
    for i, (one, words) in enumerate(rows):
        place = {word: number for number, word in enumerate(words)}
        end = longest + window - len(one.recent)
        for j, said in (*enumerate(one.before), *enumerate(one.recent, start=end)):
            for word in said:
                shares[i, j, place[word]] += 1 / len(said)
            worth = reader.favour(said, one.anchor) if said else None
            favours[i, j] = np.nan if worth is None else worth
        for u, word in enumerate(words):
            for v, other in enumerate(words):
                apart[i, u, v] = reader.apart(word, other, one.anchor)
    return Sheet(shares, apart, favours)


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

    def within(self, low: float, high: float) -> bool:
        """Whether it lies between two values, as a whole; not without bounds."""
        return self.low is not None and self.high is not None and low <= self.low <= self.high <= high


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
    `others` is what is left of it after `noise_before`: a judge that became noisier gives other verdicts, too.
    `favour` says by how much the favour of one answer (or the score, or the points) moved. `gold` is the agreement with
    gold before and today, and the number of anchors that have gold. `moved` holds the anchors, the farthest first.
    """

    distance: float
    noise: float | None
    noise_before: float | None
    beyond: Interval | None
    others: Interval | None
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
    others: list[float] = []
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
        others += [] if then is None else [far - then]
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
        others=_interval(others),
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


@dataclass(frozen=True, slots=True)
class Mix:
    """
    Why the mean favour of all anchors differs between the reference and today: total = judge + cases, exactly.

    `before` is the mean over the anchors of the first run of the reference, each with its mean over its reference;
    `today` that over today's anchors. `judge` adds up, over today's anchors that have a reference, by how much they
    moved, divided by the number of all today's anchors. `cases` is what would be left if no anchor had moved.
    """

    before: float
    today: float
    judge: float
    cases: float

    @property
    def total(self) -> float:
        """By how much the mean differs."""
        return self.today - self.before


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    The last run against the runs before it.

    `shared` anchors have a reference and a reply today; `silent` ones have no reply today. `added` and `removed` are
    counted against the run before, and `changed` holds the ids that have another text than there. `needed` says by how
    much the favour would have had to fall (`down`) and to rise (`up`) to raise the alarm in this run alone (None: no
    shift would have), and `reach` whether anything could. `scale` is that of the judge's scores. `served` holds the
    endpoints behind which another model answers than before, with both names.
    """

    run: int
    runs_before: int
    anchors: int
    shared: int
    added: int
    removed: int
    changed: tuple[str, ...]
    silent: int
    scale: Scale
    reach: Reach
    readable: float | None
    readable_before: float | None
    figures: Figures | None = None
    mix: Mix | None = None
    signs: tuple[Sign, ...] = ()
    needed: Mapping[Test, float | None] = field(default_factory=dict)
    earlier_alarms: tuple[int, ...] = ()
    served: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def alarm(self) -> bool:
        """Whether any test says that the judge moved."""
        return any(sign.raised for sign in self.signs)


def compare(runs: Sequence[Run], cases: Sequence[Case], scale: Scale, promise: Promise) -> Comparison:
    """
    Compare the last of some runs, on today's cases, with the earlier ones of its reference.

    All numbers are shares or favours in [0, 1]. Smallest n: one run, which is compared with nothing.
    """
    today, reader = runs[-1], Reader(scale)
    earlier = runs[:-1]
    usual = [*(run for run in earlier if not run.alarm), today]  # all of them, up to the first alarm
    kept = kept_in(usual, LOOKS[0]) if earlier else []
    found: list[Sign] = []
    needed: Mapping[Test, float | None] = {}
    for look in looks_for(len(usual), "up"):  # no test takes more
        sheets = sheets_of(kept_in(usual, look), look.window, reader)
        found += signs(sheets, look, len(usual), len(earlier), promise)
        needed = shift_needed(sheets, found, Random(0)) if look == LOOKS[0] else needed
    before = {anchor.id: anchor.key for anchor in earlier[-1].anchors} if earlier else {}
    now = {anchor.id: anchor.key for anchor in today.anchors}
    return Comparison(
        run=today.number,
        runs_before=len(earlier),
        anchors=len(now),
        shared=len(kept),
        added=len(now.keys() - before.keys()) if earlier else 0,
        removed=len(before.keys() - now.keys()),
        changed=tuple(one for one in now if one in before and now[one] != before[one]),
        silent=sum(not row for row in today.verdicts),
        scale=scale,
        reach=reach_of(earlier, [one.anchor for one in kept] or today.anchors, today.number, promise),
        readable=_readable(today.verdicts, reader),
        readable_before=_readable([row for one in kept for row in one.before], reader),
        figures=describe(kept, cases, reader) if kept else None,
        mix=_mix(usual, kept, reader) if len(usual) > 1 else None,
        signs=tuple(found),
        needed=needed,
        earlier_alarms=tuple(run.number for run in earlier if run.alarm),
        served=_served(earlier, today),
    )


def reach_of(earlier: Sequence[Run], anchors: Sequence[Anchor], number: int, promise: Promise) -> Reach:
    """
    Return what could raise an alarm in the run of a number that asks some anchors.

    Where none of them was asked before, that run is compared with nothing, and the next one is meant.
    """
    usual, keys = [run for run in earlier if not run.alarm], {anchor.key for anchor in anchors}
    asked = Counter(anchor.key for run in usual for anchor in run.anchors if anchor.key in keys)
    if not asked:
        return reach(len(keys), number + 1, 2, len(usual) + 2, comparison=len(earlier) + 1, promise=promise)
    runs = max(asked.values()) + 1
    return reach(len(asked), number, runs, len(usual) + 1, comparison=len(earlier), promise=promise)


def _mix(runs: Sequence[Run], kept: Sequence[Kept], reader: Reader) -> Mix | None:
    today, first = runs[-1], runs[0]
    references = {one.anchor.key: worth for one in kept if (worth := favour_before(one, reader)) is not None}
    gone = {anchor.key for anchor in first.anchors} - references.keys()
    lost: dict[tuple[str, str], list[float]] = {}
    for run in runs[:-1]:
        for anchor, row in zip(run.anchors, run.verdicts, strict=True):
            if anchor.key in gone and (worth := reader.favour(row, anchor)) is not None:
                lost.setdefault(anchor.key, []).append(worth)
    known = {**references, **{key: mean(values) for key, values in lost.items()}}
    olds = [known[anchor.key] for anchor in first.anchors if anchor.key in known]
    news: list[float] = []
    steps: list[float] = []
    for anchor, row in zip(today.anchors, today.verdicts, strict=True):
        if (worth := reader.favour(row, anchor)) is not None:
            news.append(worth)
            steps += [worth - references[anchor.key]] if anchor.key in references else []
    if not olds or not news:
        return None
    before, now, judge = mean(olds), mean(news), fsum(steps) / len(news)
    return Mix(before, now, judge, (now - before) - judge)


def _readable(rows: Sequence[Sequence[str]], reader: Reader) -> float | None:
    found = [float(readable(reader.verdict(said))) for row in rows for said in row]
    return mean(found) if found else None


def _served(earlier: Sequence[Run], today: Run) -> dict[str, tuple[str, str]]:
    found = {}
    for name, model in today.served.items():
        last = next((run.served[name] for run in reversed(earlier) if name in run.served), model)
        if last != model:
            found[name] = last, model
    return found
