"""What could raise the alarm at all: with so many anchors and runs, and, today, with these verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, comb, log
from random import Random
from typing import Final

import numpy as np

from calm.statistics.drift import Floats, excess, log_tail
from calm.studies.watch.alarm import LOOKS, TESTS, Promise, Sheet, Sign, Test, log_level, looks_for, values_of

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
    """Return the shift of the fewest anchors, in a random order, whose turning over reaches a level; None for none."""
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
