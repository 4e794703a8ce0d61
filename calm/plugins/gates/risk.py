"""
What a gate on the mean or on the share that passes says about a system that did not change, and about a worse one.

A gate asks each of its cases and is red if a mean is below its mark. Asked again about the same system it says
something else, as a judge does not repeat itself. A record with several asks of each case shows how much.

Each case gets a law of its verdicts: 1 - s parts of what the record shows of it and s parts of what it shows of all
cases, with the one s at which the laws vary within a case as much as repeats do without bias (n - 1 for n). What the
record shows of a case alone varies too little: two asks show half of the variance. The law of the gate follows exactly:
its cases are independent, so their laws are convolved; of verdicts that pass or fail this is the Poisson-binomial law.
The bounds move the mean of all asks as far as it may be off, by Student's t of its standard error, with a term for the
error of the noise itself. The laws are moved by an exponential tilt, so that a case moves as far as it varies.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, ndtr, ndtri

from calm.statistics.intervals import pad, student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

LEVEL: Final = 0.05
"""Error probability of each bound."""
MOST_POINTS: Final = 300_000
"""Cases times values of a case up to which a law is exact; beyond it the normal curve takes its place."""
STEPS: Final = (1.0, 0.5, 0.25, 0.2, 0.1, 0.05, 0.01)
"""The steps of a scale that are tried; scores without a step are put on a grid."""
LEAST_GRID, GRID = 100, 1024
"""How many steps a grid has, by the number of cases."""
SMOOTH: Final = 0.56
"""The constant of Berry and Esseen (Shevtsova 2010): how far a sum is from the normal curve at most."""
NEVER: Final = 1e-9
"""A probability that is 0 but for rounding."""
MOST_MORE: Final = 50
"""So many asks of each case are advised at most."""
TILT: Final = 60.0
"""The farthest tilt over the whole scale."""


@dataclass(frozen=True, slots=True)
class Gate:
    """
    A gate over so many cases, each asked `asks` times: red if its mean is below a mark.

    `least` is 0 for the mean of all scores. Else a case passes if that many of its asks do, and the mean is the share
    of cases that pass. `fresh`: other cases of the same kind each time; else the same ones.
    """

    cases: int
    asks: int = 1
    least: int = 0
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Bounded:
    """A probability with its one-sided bounds, each at `LEVEL`."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Asked:
    """What a record holds: of each ask the number of its case, from 0 without a gap, and its value on a scale."""

    of: Ints
    values: Floats
    low: float
    high: float

    @cached_property
    def repeats(self) -> Ints:
        """How many asks each case has."""
        return np.bincount(self.of)

    @property
    def repeated(self) -> bool:
        """Whether a case was asked more than once."""
        return bool((self.repeats > 1).any())

    @cached_property
    def means(self) -> Floats:
        """The mean of each case."""
        return np.asarray(np.bincount(self.of, self.values) / self.repeats)

    @cached_property
    def spreads(self) -> Floats:
        """The mean squared distance of each case's asks from their mean."""
        return np.asarray(np.bincount(self.of, (self.values - self.means[self.of]) ** 2) / self.repeats)

    @property
    def noisy(self) -> int:
        """How many cases got different verdicts."""
        return int((self.spreads > 1e-12 * (self.high - self.low) ** 2).sum())

    @cached_property
    def variances(self) -> Floats:
        """The variance of an ask of each case without bias; where it was asked once, the mean of the others."""
        again = self.repeats > 1
        found = self.spreads * self.repeats / np.maximum(self.repeats - 1, 1)
        return np.where(again, found, found[again].mean() if again.any() else 0.0)

    @cached_property
    def errors(self) -> Floats:
        """The squared standard error of the mean of each case."""
        return np.asarray(self.variances / self.repeats)

    @cached_property
    def within(self) -> float:
        """The variance of an ask of a case, over all cases."""
        return float(self.variances.mean())

    @cached_property
    def shared(self) -> float:
        """The part of each case's law that is the law of all cases."""
        between = float(self.means.var())
        short = self.within - float(self.spreads.mean())
        return 1.0 if short >= between else 1 - sqrt(1 - max(0.0, short) / between)

    @cached_property
    def step(self) -> float:
        """The step of the scale; without one that of a grid."""
        width = self.high - self.low
        off = np.append(np.unique(self.values) - self.low, width)
        for step in STEPS:
            if step <= width and float(np.abs(off / step - np.round(off / step)).max()) < 1e-6:
                return step
        return width / min(GRID, max(LEAST_GRID, MOST_POINTS // len(self.repeats) - 1))

    @property
    def steps(self) -> int:
        """How many steps the scale has."""
        return round((self.high - self.low) / self.step)

    @property
    def grid(self) -> int | None:
        """How many steps the grid has on which scores without a step stand; None for scores that have one."""
        return None if self.step in STEPS else self.steps

    @cached_property
    def laws(self) -> Floats:
        """The probability of each value, for each case. Scores between two points of the grid belong to both."""
        place = np.clip((self.values - self.low) / self.step, 0, self.steps)
        down = np.minimum(np.floor(place + 1e-6), self.steps).astype(int)
        up = np.where(place - down > 1e-6, place - down, 0.0)
        shown = np.zeros((len(self.repeats), self.steps + 1))
        np.add.at(shown, (self.of, down), 1 - up)
        np.add.at(shown, (self.of, np.minimum(down + 1, self.steps)), up)
        shown /= self.repeats[:, None]
        return np.asarray((1 - self.shared) * shown + self.shared * shown.mean(axis=0))


@dataclass(frozen=True)
class Chance:
    """How often a gate is red, by a record."""

    asked: Asked
    gate: Gate
    _sums: dict[tuple[float, float], Floats] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def error(self) -> float:
        """The standard error of the mean of all asks of these cases."""
        return sqrt(float(self.asked.errors.sum())) / len(self.asked.repeats)

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of `error` (Satterthwaite 1946), or of the means of fresh cases."""
        if self.gate.fresh:
            return max(1.0, len(self.asked.repeats) - 1.0)
        again = self.asked.repeats > 1
        parts = self.asked.errors[again]
        squares = float((parts**2 / (self.asked.repeats[again] - 1)).sum())
        return max(1.0, float(parts.sum()) ** 2 / squares) if squares else 1.0

    def _of_cases(self, laws: Floats) -> Floats:
        """Return the law of a case, by that of one of its asks."""
        gate = self.gate
        return _passing(bdtrc(gate.least - 1, gate.asks, laws[:, 1])) if gate.least else _power(laws, gate.asks)

    @cached_property
    def _base(self) -> Floats:
        """The laws that the error of the record moves: of an ask of each case, or of a fresh case."""
        return self._of_cases(self.asked.laws).mean(axis=0)[None] if self.gate.fresh else self.asked.laws

    def _laws(self, moved: float, drop: float) -> Floats:
        """Return the law of each case, if the mean of all asks were lower by `moved` and passes by `drop`."""
        laws = _tilted(self._base, moved / (self.asked.high - self.asked.low)) if moved else self._base
        laws = laws if self.gate.fresh else self._of_cases(laws)
        if drop and self.gate.least and (mean := float(laws[:, 1].mean())):
            return _passing(laws[:, 1] * (1 - min(1.0, drop / mean)))
        return laws

    def centre(self, moved: float = 0.0, drop: float = 0.0) -> tuple[float, float]:
        """Return the mean of the gate and its standard deviation; the arguments are those of `red`."""
        gate, asked = self.gate, self.asked
        if gate.least:
            passing = self._laws(moved, drop)[:, 1]
            mean = float(passing.mean())
            each = mean * (1 - mean) if gate.fresh else float((passing * (1 - passing)).mean())
            return mean, sqrt(each / gate.cases)
        between = max(0.0, float(asked.means.var() + asked.spreads.mean()) - asked.within) if gate.fresh else 0.0
        return float(asked.means.mean()) - moved - drop, sqrt((between + asked.within / gate.asks) / gate.cases)

    @property
    def spacing(self) -> float:
        """How far apart two means are that the gate can have."""
        return (1.0 if self.gate.least else self.asked.step / self.gate.asks) / self.gate.cases

    @property
    def exact(self) -> bool:
        """Whether the law is computed exactly, and not by the normal curve."""
        points = 2 if self.gate.least else self.asked.steps * self.gate.asks + 1
        fits = points * max(self.gate.cases, len(self.asked.repeats)) <= MOST_POINTS
        return fits and (self.gate.fresh or self.gate.cases == len(self.asked.repeats))

    @cached_property
    def roughness(self) -> float:
        """How far the normal curve may be from the exact law, where it takes its place; else 0."""
        n = len(self.asked.repeats)
        alike = Chance(self.asked, replace(self.gate, cases=n))
        if self.exact:
            return 0.0
        if not alike.exact:  # so many cases that the general bound will do
            means = self.asked.means
            far = np.abs(self.asked.values - (means.mean() if self.gate.fresh else means[self.asked.of]))
            spread = max(float((far**2).mean()), 1e-12)
            return SMOOTH * float((far**3).mean()) / float(spread**1.5 * sqrt(self.gate.cases))
        mean, spread = alike.centre()
        below = alike._sum(0.0, 0.0)
        ends = self._low + (np.arange(len(below)) + 0.5) * alike.spacing
        curve = ndtr((ends - mean) / spread) if spread else (ends > mean).astype(float)
        return float(np.abs(below - curve).max()) * max(1.0, sqrt(n / self.gate.cases))

    @property
    def _low(self) -> float:
        return 0.0 if self.gate.least else self.asked.low

    def _sum(self, moved: float, drop: float) -> Floats:
        """Return how likely the sum of the gate is at most each of its values, from the lowest."""
        key = moved, drop
        if key not in self._sums:
            laws = self._laws(moved, drop)
            self._sums[key] = np.cumsum(_power(laws, self.gate.cases)[0] if self.gate.fresh else _total(laws))
        return self._sums[key]

    def _place(self, mark: float) -> float:
        """Return what lies between the highest mean that is red and the lowest that is green."""
        return self._low + (ceil((mark - self._low) / self.spacing - 1e-6) - 0.5) * self.spacing

    def red(self, mark: float, moved: float = 0.0, drop: float = 0.0) -> float:
        """
        Return how likely the gate is red.

        Args:
            mark: the lowest mean that is green.
            moved: by how much the mean of all asks is lower than the record says, if it is off.
            drop: by how much the gate's mean is lower for a system that is worse: scores fall by so much with the same
                noise; of cases that pass so many fail, each with the same probability.
        """
        place = self._place(mark)
        if not self.exact:
            mean, spread = self.centre(moved, drop)
            return float(ndtr((place - mean) / spread)) if spread else float(place > mean)
        below = self._sum(moved, drop if self.gate.least else 0.0)
        ends = self._low + (np.arange(len(below) + 1) - 0.5) * self.spacing
        at = place if self.gate.least else place + drop
        return float(np.clip(np.interp(at, ends, np.append(0.0, below)), 0, 1))

    def bounded(self, mark: float, drop: float = 0.0) -> Bounded:
        """Return `red` with its bounds."""
        value = self.red(mark, 0.0, drop)
        mean, spread = self.centre(0.0, drop)
        if min(spread, spread if self.gate.fresh else self.error) < 1e-9 * (self.asked.high - self.asked.low):
            return self._unvaried(mark, drop, value)
        a_bit = spread / 100
        slope = max((mean - self.centre(a_bit, drop)[0]) / a_bit, 1e-9)
        t = student_quantile(self.freedom, 1 - LEVEL)
        noise = (t * (self._place(mark) - mean) / slope) ** 2 / (2 * self.freedom)
        far = sqrt((t * self.error) ** 2 + noise)
        ends = (self._most_off(end) for end in (self.asked.high, self.asked.low))
        up, down = (sqrt(off**2 + noise) if self.gate.fresh else min(far, off) for off in ends)
        low, high = min(value, self.red(mark, -up, drop)), max(value, self.red(mark, down, drop))
        if high < NEVER or low > 1 - NEVER:  # no tilt reaches a verdict that the record does not hold
            return self._unvaried(mark, drop, value)
        return Bounded(value, low, high)

    def _most_off(self, end: float) -> float:
        """
        Return how far the mean of all asks may be off towards an end of the scale, with pseudo-draws there (`pad`).

        Of fresh cases the draws are the cases: those that all pass do not show how many never do. Of the same ones they
        are the asks. Were these of one law, they would vary more than those of cases that differ do; but this is less
        than what little is known of the noise of one or two cases.
        """
        draws = self.asked.means if self.gate.fresh else self.asked.values
        count, weight, variance = len(draws), pad(LEVEL), float(draws.var())
        gap = abs(end - float(draws.mean()))
        if self.gate.fresh and self.gate.least and self.gate.asks > 1:  # the record does not vote on a case
            mean = self.centre()[0]
            gap, variance = abs(end - mean), mean * (1 - mean)
        error = sqrt((variance + weight * gap**2 / count) / count)
        return student_quantile(max(1, count - 1), 1 - LEVEL) * error + weight * gap / count

    def _unvaried(self, mark: float, drop: float, value: float) -> Bounded:
        """Return the bounds by what was never seen: one in so many asks, or cases, may lie at the scale's end."""
        asked, fresh = self.asked, self.gate.fresh
        asks = self.gate.cases * (1 if fresh else self.gate.asks)
        seen = 1 - LEVEL ** (1 / len(asked.repeats if fresh else asked.of))
        mean = self.centre(0.0, drop)[0]
        falls, rises = float(asked.means.max()) - asked.low, asked.high - float(asked.means.min())
        if mean >= mark - 1e-9:
            most = asks if falls <= 0 else min(asks, floor((mean - mark) * asks / falls + 1e-9))
            return Bounded(value, value, max(value, float(bdtrc(most, asks, seen))))
        least = asks if rises <= 0 else min(asks, ceil((mark - mean) * asks / rises - 1e-9))
        return Bounded(value, min(value, float(bdtr(least - 1, asks, seen))), value)

    def highest(self, risk: float, *, surely: bool) -> float | None:
        """Return the highest mark at which the gate is red this often at most, by the upper bound if `surely`."""

        marks = self._low + np.arange(1, round((self.asked.high - self._low) / self.spacing) + 1) * self.spacing
        found = bisect_right(marks, risk, key=lambda mark: self.bounded(mark).high if surely else self.red(mark))
        return float(marks[found - 1]) if found else None

    def smallest_caught(self, mark: float, missed: float) -> float | None:
        """Return the smallest drop of which the gate misses this share at most; None if it misses more of any."""
        low, high = 0.0, self.centre()[0] - self._low
        if 1 - self.red(mark, 0.0, high) > missed:
            return None
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (low, middle) if 1 - self.red(mark, 0.0, middle) <= missed else (middle, high)
        return high

    def cases_needed(self, risk: float, drop: float, missed: float) -> int:
        """Return about how many cases let a gate be red this often, and miss a drop this often, by the normal curve."""
        now, then = (sqrt(self.gate.cases) * self.centre(0.0, d)[1] for d in (0.0, drop))
        return max(1, ceil((float(ndtri(1 - risk)) * now + float(ndtri(1 - missed)) * then) ** 2 / drop**2))

    def asks_needed(self, mark: float, risk: float) -> int | None:
        """
        Return about how many asks of each case decide in four of five records whether the risk is at most this.

        None: too many to advise.
        """
        mean, spread = self.centre()
        if self.gate.fresh or not spread:
            return None
        z = (self._place(mark) - mean) / spread
        apart = abs(z - float(ndtri(risk)))
        more = (1.6449 + 0.8416) ** 2 / (apart**2) if apart else float("inf")
        mine = self.asked.repeats.mean() * self.error**2 / spread**2  # by how much one ask is told more of
        return ceil(more * mine) if self.asked.repeats.max() < more * mine <= MOST_MORE else None


def _passing(shares: Floats) -> Floats:
    """Return the laws of cases that pass so often."""
    return np.stack([1 - shares, shares], axis=1)


def _tilted(laws: Floats, moved: float) -> Floats:
    """Return laws that are tilted by one amount, so that their mean is lower by a share of the scale."""
    places = np.linspace(0, 1, laws.shape[1])
    wanted = float((laws @ places).mean()) - moved

    def by(amount: float) -> Floats:
        heavy = laws * np.exp(amount * (places - (1 if amount > 0 else 0)))
        total = heavy.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, heavy / np.where(total > 0, total, 1), laws))

    def off(amount: float) -> float:
        return float((by(amount) @ places).mean()) - wanted

    if off(-TILT) * off(TILT) > 0:
        return by(-TILT if moved > 0 else TILT)
    return by(float(brentq(off, -TILT, TILT, xtol=1e-6)))


def _power(laws: Floats, times: int) -> Floats:
    """Return the law of the sum of so many draws, of each law."""
    if times == 1:
        return laws
    size = times * (laws.shape[1] - 1) + 1
    return np.asarray(np.clip(np.fft.irfft(np.fft.rfft(laws, size, axis=1) ** times, size, axis=1), 0, 1))


def _total(laws: Floats) -> Floats:
    """Return the law of the sum of one draw of each law."""
    while len(laws) > 1:
        even, odd = laws[: len(laws) & ~1], laws[len(laws) & ~1 :]
        size = 2 * laws.shape[1] - 1
        both = np.fft.irfft(np.fft.rfft(even[::2], size, axis=1) * np.fft.rfft(even[1::2], size, axis=1), size, axis=1)
        laws = np.clip(np.concatenate([both, np.pad(odd, ((0, 0), (0, size - odd.shape[1])))]), 0, 1)
    return np.asarray(laws[0])
