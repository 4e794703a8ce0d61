"""
The alarm: whether the latest runs differ from the reference beyond chance, at an error stated for all runs.

`reach` tells what could raise it at all: with so many anchors and runs, and, today, with these verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, comb, exp, log
from random import Random
from typing import Final, Literal, TypeAlias

import numpy as np

from calm.statistics.drift import Floats, excess, excess_and_tail, level_of, log_tail, unusual

Test: TypeAlias = Literal["moved", "up", "down"]
TESTS: Final[dict[Test, float]] = {"moved": 0.5, "up": 0.25, "down": 0.25}
"""
The share of a run's error that each test spends.

| test | what it adds up over the anchors |
|---|---|
| `moved` | how unusual the recent verdicts are among all: any change, also one that makes up for itself |
| `up`, `down` | the favour of one answer, the score or the points earned: a change in one direction |
"""
REFERENCE: Final = 30
"""At most so many runs make up the reference of an anchor: its first ones."""
_STEADY: Final = 0.01
"""The variance that is added to that of each anchor, so that one that hardly varies does not outweigh all others."""


@dataclass(frozen=True, slots=True)
class Look:
    """So many of the latest runs, taken together, against at most so many of the first."""

    window: int
    reference: int = REFERENCE


LOOKS: Final = (Look(1), Look(3), Look(9), Look(27), Look(27, 9))
"""
A large drift is seen in one run, a small or slow one in many. The last look finds one that began while the reference
was still being made, and is part of it now.
"""


@dataclass(frozen=True, slots=True)
class Promise:
    """At most `rate` of all histories without drift ever raise an alarm; half of it is for the first `horizon` runs."""

    rate: float = 0.01
    horizon: int = 365


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """
    Anchors that have equally many different verdicts, over the runs of the reference and, at the end, the recent ones.

    `shares` (anchors, runs, verdicts) is the share of each verdict among the asks of a run, zeros where an anchor was
    not asked; `apart` (anchors, verdicts, verdicts) the distances of verdicts; `favour` (anchors, runs) the mean favour
    in a run, NaN where there is none.
    """

    shares: Floats
    apart: Floats
    favour: Floats


@dataclass(frozen=True, slots=True)
class Sign:
    """
    One test at one look: the probability bound that it reached (natural logarithm), and the one that it had to reach.

    `shift` is the mean excess for each anchor, in the unit of the values.
    """

    test: Test
    look: Look
    log_bound: float
    log_level: float
    shift: float

    @property
    def raised(self) -> bool:
        """Whether this test alone raises the alarm."""
        return self.log_bound <= self.log_level

    @property
    def bound(self) -> float:
        """The bound as a probability."""
        return exp(self.log_bound)


def looks_for(runs: int, test: Test) -> tuple[Look, ...]:
    """
    Return the looks that a test takes, given how many runs there are in all.

    What is unusual among all is what is rare, so that `moved` needs a reference twice as long as the window. A mean
    needs a third of it.

    >>> looks_for(1, "up"), looks_for(2, "up"), looks_for(4, "moved")
    ((), (Look(window=1, reference=30),), (Look(window=1, reference=30),))
    >>> [look.window for look in looks_for(12, "up")], [look.window for look in looks_for(12, "moved")]
    ([1, 3, 9], [1, 3])
    """
    found = []
    for look in LOOKS:
        before, w = min(look.reference, runs - look.window), look.window
        least = (1 if w == 1 else 2 * w) if test == "moved" else max(1, w // 3)
        if before >= least and (look.reference == REFERENCE or runs - w > look.reference):
            found.append(look)
    return tuple(found)


def signs(sheets: Sequence[Sheet], look: Look, runs: int, comparison: int, promise: Promise) -> list[Sign]:
    """
    Return what the tests say that take a look.

    `runs` is the number of runs that can be used, today's included, and `comparison` numbers those made so far from 1.
    """
    found = []
    for test in TESTS:
        fitting = looks_for(runs, test)
        if not sheets or look not in fitting:
            continue
        values = np.concatenate([values_of(one, test) for one in sheets])
        seen, tail = excess_and_tail(values, look.window)
        if not seen.weight:
            continue
        level = log_level(test, runs, comparison, promise)
        found.append(Sign(test, look, tail, level, seen.value / seen.weight))
    return found


def log_level(test: Test, runs: int, comparison: int, promise: Promise) -> float:
    """Return the logarithm of the error that a test may spend at each of its looks; `runs` as for `signs`."""
    spent = level_of(comparison, promise.rate, promise.horizon)
    return log(spent * TESTS[test] / len(looks_for(runs, test)))


def values_of(sheet: Sheet, test: Test) -> Floats:
    """
    Return what a test adds up, by anchor and run.

    How unusual a run is counts in standard deviations of its anchor, over all runs: an anchor that never varied before
    says more by moving than one that always does.
    """
    if test != "moved":
        return sheet.favour if test == "up" else -sheet.favour
    far = unusual(sheet.shares, sheet.apart)
    there = ~np.isnan(far)
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    filled = np.where(there, far, 0.0)
    mean = filled.sum(axis=1, keepdims=True) / count
    varied = np.where(there, far - mean, 0.0) ** 2
    steady: Floats = far / np.sqrt(varied.sum(axis=1, keepdims=True) / count + _STEADY)
    return steady


_AHEAD: Final = 1000
"""After so many more runs without a chance of an alarm, none is looked for."""
_ENDS: Final[dict[Test, float]] = {"down": 0.0, "up": 1.0}
"""The end of the favour towards which each test looks."""


@dataclass(frozen=True, slots=True)
class Reach:
    """
    Whether any outcome of a run could raise an alarm.

    `run` is the run that is meant: today's, or the next one where today's is the first. `least` is the number of
    anchors from which on an outcome of that run could, and `first` the run in which one could with the anchors that
    there are (None: in none of the next thousand). At the least, all anchors must turn over at once.
    """

    run: int
    anchors: int
    possible: bool
    least: int
    first: int | None


def reach(anchors: int, number: int, asked: int, usual: int, *, comparison: int, promise: Promise) -> Reach:
    """
    Return what could raise an alarm in the run of a number, and from when on.

    `asked` is the number of runs that asked the same anchors, that run included; `usual` and `comparison` are as for
    `alarm.signs`. Smallest n: 1 anchor, 2 runs.
    """

    def at(more: int) -> int:
        return least_anchors(asked + more, usual + more, comparison + more, promise)

    least = at(0)
    first = next((number + more for more in range(_AHEAD) if anchors >= at(more)), None)
    return Reach(number, anchors, anchors >= least, least, first)


def least_anchors(asked: int, usual: int, comparison: int, promise: Promise) -> int:
    """
    Return how many anchors it takes that an outcome of a run could raise an alarm, if each was asked in as many runs.

    No bound is below the probability of the most unusual draw: that the recent values of every anchor are the
    farthest of all. For an anchor with n values, w of them recent, that is one draw of n over w.

    >>> least_anchors(2, 2, 1, Promise()), least_anchors(3, 3, 2, Promise()), least_anchors(57, 57, 56, Promise())
    (19, 11, 1)
    """
    found = []
    for test in TESTS:
        for look in looks_for(usual, test):
            before = min(look.reference, asked - look.window)
            if before >= (max(2, 2 * look.window) if test == "moved" else 1):
                most = log(comb(before + look.window, look.window))
                found.append(ceil(-log_level(test, usual, comparison, promise) / most))
    return min(found)


def shift_needed(sheets: Sequence[Sheet], found: Sequence[Sign], rng: Random) -> dict[Test, float | None]:
    """
    Return by how much the favour would have had to fall, and to rise, to raise the alarm by today's run alone.

    It is put into the values: verdicts are as in the reference, but those of some anchors turn over, to the other end
    of the favour. Which ones is drawn; of that order as few as raise the alarm are taken. None where not even all of
    them do. The shift is the mean over all anchors, in the unit of the favour.
    """
    needed: dict[Test, float | None] = {}
    for sign in found:
        if sign.look == LOOKS[0] and sign.test in _ENDS:
            values = np.concatenate([values_of(one, "up") for one in sheets])
            turned = _ENDS[sign.test]
            needed[sign.test] = _least_shift(values, turned, 1 if sign.test == "up" else -1, sign.log_level, rng)
    return needed


def _least_shift(favours: Floats, end: float, toward: int, level: float, rng: Random) -> float | None:
    earlier = ~np.isnan(favours[:, :-1]).all(axis=1) & ~np.isnan(favours[:, -1])
    still = favours[earlier]
    if not len(still):
        return None
    still[:, -1] = np.nanmean(still[:, :-1], axis=1)
    still = still[np.lexsort(np.nan_to_num(still, nan=-1.0).T)]  # the same order, whatever tables they come from
    order = np.array(rng.sample(range(len(still)), len(still)))

    def planted(count: int) -> Floats:
        values = still.copy()
        values[order[:count], -1] = end
        return toward * values

    low, high = 0, len(still) + 1  # the more turn over, the lower the bound: no favour lies beyond its end
    while high - low > 1:
        count = (low + high) // 2
        low, high = (low, count) if log_tail(planted(count), 1) <= level else (count, high)
    if high > len(still):
        return None
    seen = excess(planted(high), 1)
    return seen.value / seen.weight
