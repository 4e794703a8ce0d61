"""The alarm: whether the latest runs differ from the reference beyond chance, at an error stated for all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, log
from typing import Final, Literal, TypeAlias

import numpy as np

from calm.statistics.drift import Floats, excess, level_of, log_tail, smallest, unusual

Test: TypeAlias = Literal["moved", "up", "down"]
TESTS: Final[dict[Test, float]] = {"moved": 0.5, "up": 0.25, "down": 0.25}
"""
The share of a run's error that each test spends.

| test | what it adds up over the anchors |
|---|---|
| `moved` | how unusual the recent verdicts are among all: any change, also one that makes up for itself |
| `up`, `down` | the favour of one answer, the score or the points earned: a change in one direction |
"""
WINDOWS: Final = (1, 3, 9, 27)
"""How many of the latest runs are taken together: a large drift is seen in one, a small or slow one in many."""
REFERENCE: Final = 30
"""At most so many runs make up the reference of an anchor: its first ones."""
_STEADY: Final = 0.01
"""The variance that is added to that of each anchor, so that one that hardly varies does not outweigh all others."""


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
    One test on one window: the probability bound that it reached (natural logarithm), and the one that it had to reach.

    `shift` is the mean excess for each anchor, in the unit of the values.
    """

    test: Test
    window: int
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


def windows_for(before: int, test: Test) -> tuple[int, ...]:
    """
    Return how many of the latest runs a test takes together, given how many runs there are in all.

    What is unusual among all is what is rare, so that `moved` needs a reference twice as long as the window. A mean
    needs a third of it.

    >>> windows_for(1, "up"), windows_for(2, "up"), windows_for(12, "up"), windows_for(12, "moved")
    ((), (1,), (1, 3, 9), (1, 3))
    """
    least = {w: 3 * w if test == "moved" else w + max(1, w // 3) for w in WINDOWS}
    return tuple(w for w in WINDOWS if before >= least[w])


def signs(sheets: Sequence[Sheet], window: int, runs: int, comparison: int, promise: Promise) -> list[Sign]:
    """
    Return what the tests say that take so many of the latest runs together.

    `runs` is the number of runs that can be used, today's included, and `comparison` numbers those made so far from 1.
    """
    found = []
    for test, share in TESTS.items():
        fitting = windows_for(runs, test)
        if not sheets or window not in fitting:
            continue
        values = np.concatenate([_values(one, test) for one in sheets])
        seen = excess(values, window)
        if not seen.weight:
            continue
        level = log(level_of(comparison, promise.rate, promise.horizon) * share / len(fitting))
        found.append(Sign(test, window, log_tail(values, window), level, seen.value / seen.weight))
    return found


def shift_needed(sheets: Sequence[Sheet], found: Sequence[Sign]) -> float | None:
    """Return the shift of the favour, up or down, that would have raised the alarm today; None where none could."""
    needed = []
    for sign in found:
        if sign.window == 1 and sign.test != "moved":
            values = np.concatenate([_values(one, sign.test) for one in sheets])
            needed.append(smallest(values, 1, sign.log_level) / excess(values, 1).weight)
    return max(needed) if needed and isfinite(max(needed)) else None


def _values(sheet: Sheet, test: Test) -> Floats:
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
