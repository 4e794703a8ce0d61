"""What differs between the last run of a history and its reference: by the judge, by the cases, and by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from random import Random

from calm.core.case import Case
from calm.core.verdict import Scale, readable
from calm.studies.watch.alarm import LOOKS, Promise, Sign, Test, looks_for, signs
from calm.studies.watch.anchors import Anchor
from calm.studies.watch.figures import Figures, describe, favour_before, mean
from calm.studies.watch.history import Run
from calm.studies.watch.reach import Reach, reach, shift_needed
from calm.studies.watch.sheets import Kept, Reader, kept_in, sheets_of


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
    """Return the endpoints that another model serves than before, with both."""
    found = {}
    for name, model in today.served.items():
        last = next((run.served[name] for run in reversed(earlier) if name in run.served), model)
        if last != model:
            found[name] = last, model
    return found
