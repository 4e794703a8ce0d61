"""The runs of a history as tables of numbers: which verdicts an anchor got, in its reference and in the recent runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calm.core.trials import distance, favour
from calm.core.verdict import Scale, Verdict
from calm.studies.watch.alarm import Look, Sheet
from calm.studies.watch.anchors import Anchor
from calm.studies.watch.asking import verdict_in
from calm.studies.watch.history import Run

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
