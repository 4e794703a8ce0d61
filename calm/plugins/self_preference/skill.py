"""
The excess where the truth is known: own answers that deserve the verdict and own answers that do not weigh the same.

Two strata: in one the truth is for the judge's own answer (it won, or it meets the criterion), in the other against it.
In each, J is the share of verdicts for the own answer, and E the share that a fair judge would give it. Each stratum
weighs a half, whatever its size:

    excess = mean over both strata of J - E

So the worth of the own answers does not count. A judge that takes its own in 30 % of the cases whatever it is worth,
and is fair in the rest, has an excess of .30 times the share that a fair judge gives to the other side: .15 where
nothing speaks for either.

E is not observed. It has two readings. In the first, a fair judge says what outsiders say. But a judge of another skill
differs from them without any preference, and the more so where one stratum is easier than the other. So in the second
reading a fair judge says what outsiders would say if they were as skilled as the judge. The truth lies near the first
if skill does not matter, and near the second if it works alike in both strata. What lies between the two is not
identified, so the interval of the excess joins the intervals of both.

Bounds are a padded t by linearisation: items are the unit, and all verdicts on an item go together.

Credit on criteria whose truth is known: what a judge credits its own answers beyond what a fair judge would.

The two strata are the criteria that an own answer passes by the truth, and those that it fails. A judge's verdicts on
answers of authors that are related to none of these judges show how lenient and how skilled it is. So a fair judge is
not read from the outsiders' verdicts on the own answers alone, but from how much they differ from their verdicts on
those other answers (see `skill` for the two readings).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import TypeAlias

import numpy as np

from calm.core.claims import Estimate
from calm.core.measures import LEAST
from calm.core.reasons import Kind, because
from calm.errors import EstimateError
from calm.plugins.self_preference.contrasts import Bools, Floats, Grid
from calm.plugins.self_preference.rubric import MISSING, RubricTable, by_instance
from calm.statistics.intervals import pad

Value: TypeAlias = Callable[[Floats], Floats]
"""A figure of rates [..., cells], for each table of a stack: shape [...]."""


@dataclass(frozen=True, slots=True)
class Cells:
    """
    Shares in counts, each [cells, items]: of `chances` verdicts, `hits` were for the answer in question.

    The first `strata` cells are the judge's own J, the truth for it first. Counts may be weights.
    """

    hits: Floats
    chances: Floats
    strata: int

    def rates(self) -> Floats:
        """Return the share of each cell over all items, [cells]."""
        return np.asarray(self.hits.sum(axis=1) / self.chances.sum(axis=1), dtype=np.float64)

    def items(self) -> list[int]:
        """Return how many items each of the judge's own cells has."""
        return [int(n) for n in (self.chances[: self.strata] > 0).sum(axis=1)]

    def least(self) -> float:
        """Return the distance from 0 and 1 within which a rate of so few chances cannot be distinguished from them."""
        return 0.5 / (float(self.chances.sum(axis=1).min()) + 1)


@dataclass(frozen=True, slots=True)
class Excess:
    """
    An excess with its readings.

    `estimate` joins the intervals of the `readings`; its value is that of the last one. `skill` holds the share of
    verdicts that are right, of the judge and of the outsiders, each stratum weighing a half; None without truth, where
    there is one reading, quality is part of it, and nothing can be claimed.
    """

    estimate: Estimate
    readings: tuple[Estimate, ...]
    skill: tuple[float, float] | None = None


def beyond(judge: Floats, fair: Floats) -> Floats:
    """
    Return the excess from J and E, each [..., strata].

    >>> float(beyond(np.array([1.0, 0.5]), np.array([0.9, 0.2])).round(2))
    0.2
    """
    return np.asarray(np.clip((judge - fair).mean(axis=-1), -1, 1), dtype=np.float64)


def joined(readings: Sequence[Estimate], skill: tuple[float, float]) -> Excess:
    """Return the excess whose interval holds the intervals of all readings, and whose value is that of the last."""
    low, high, last = min(r.low for r in readings), max(r.high for r in readings), readings[-1]
    return Excess(replace(last, low=low, high=high), tuple(readings), skill)


def estimated(cells: Cells, value: Value, level: float, ends: Sequence[float] = (1.0, 1.0)) -> Estimate:
    """
    Return a figure of rates with two one-sided bounds at `level`.

    The padded t for a smooth function of ratios of sums. `ends` are the rates towards which a greater figure looks,
    cell by cell from the first (NaN: neither). For the upper bound `pad(level)` pseudo-items at these ends join the
    cells, for the lower bound at the opposite ones; the error is that of the linearised figure over items. The degrees
    of freedom are those of the smallest padded cell. Smallest n: 2 items in each of these.
    """
    from scipy.special import stdtrit

    n, items = cells.chances.sum(axis=1), (cells.chances > 0).sum(axis=1)
    size = n / items
    far = np.full(n.size, nan)
    far[: len(ends)] = ends
    looks = ~np.isnan(far)
    freedom = int(items[looks].min()) - 1
    if freedom < 1:
        raise EstimateError("expected at least 2 items in each part, got fewer: there is no interval")
    t, bounds, step = float(stdtrit(freedom, 1 - level)), [], 1e-4 * np.eye(n.size)
    for sign in (-1, 1):
        end = far if sign > 0 else 1 - far
        extra = np.where(looks, pad(level) * size, 0.0)
        total = n + extra
        rates = (cells.hits.sum(axis=1) + np.where(looks, extra * end, 0.0)) / total
        slope = (
            (value(rates + step) - value(rates - step)) / 2e-4 / total
        )  # the derivative by each rate, from both sides
        linear = slope @ (cells.hits - rates[:, None] * cells.chances)
        count = linear.size
        pseudo = np.where(looks, pad(level) * (slope * size * (end - rates)) ** 2, 0.0).sum()
        error = sqrt(float(linear @ linear) * count / (count - 1) + float(pseudo))
        bounds.append(float(value(rates)) + sign * t * error)
    found = float(value(cells.rates()))
    told = int((cells.chances[: cells.strata].sum(axis=0) > 0).sum())
    return Estimate(found, min(bounds[0], found), max(bounds[1], found), told, level, clusters=told)


def enough(cells: Cells) -> None:
    """Raise an `EstimateError` where a stratum of the judge's own has fewer than `LEAST` items."""
    for_it, against = cells.items()
    if min(for_it, against) < LEAST:
        raise EstimateError(because(Kind.ONE_SIDED, for_it, against, LEAST))


def skilled(cells: Cells, accuracy: Value, level: float, ends: Sequence[float]) -> None:
    """Raise an `EstimateError` unless the outsiders are proven to be right more often than a coin."""
    found = estimated(cells, accuracy, level, ends)
    if found.low <= 0.5:
        raise EstimateError(because(Kind.UNSKILLED_OUTSIDERS, found.value))


def deviates(rates: Floats, least: float) -> Floats:
    """Return the normal deviates of rates, none of them nearer to 0 or 1 than `least`."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(rates, least, 1 - least)), dtype=np.float64)


def matched(right: Floats, skill: Floats, least: float) -> Floats:
    """
    Return how often outsiders would be right at another skill, in each stratum.

    A judge of comparisons is right where its noise is smaller than the difference of the answers: with probability
    Phi(z), and with Phi(r z) if its noise is divided by r. One r for both strata is found so that the mean is `skill`.

    Args:
        right: how often outsiders are right, [..., 2], the strata last.
        skill: the mean that is wanted, [...].
        least: rates within this distance of 0 and 1 are taken as at it.

    Outsiders that are no better than a coin stay a coin, and a skill that no r reaches is approached as far as one can.

    >>> matched(np.array([0.8, 0.6]), np.array(0.8), 0.001).round(2).tolist()
    [0.93, 0.67]
    """
    from scipy.special import ndtr

    z = deviates(right, least)
    low, high = np.zeros(z.shape[:-1]), _most(z)
    for _ in range(50):
        middle = (low + high) / 2
        above = ndtr(middle[..., None] * z).mean(axis=-1) >= skill
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(ndtr(high[..., None] * z), dtype=np.float64)


def _most(z: Floats) -> Floats:
    small, great = z.min(axis=-1), z.max(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.sqrt(2 * np.log(great / -small) / (great**2 - small**2))
        ceiling = 8 / np.abs(z).min(axis=-1)
    most = np.where(small < 0, np.where(great > -small, turn, 0.0), ceiling)
    return np.asarray(np.where(great > 0, np.minimum(most, 1e3), 0.0), dtype=np.float64)


STEEPEST = 5.0
"""How many times as skilled as an outsider a judge is taken to be at most."""
BLIND = 0.2
"""The least distance of an outsider's two deviates: below it, it cannot tell what passes from what fails."""


@dataclass(frozen=True, slots=True)
class Credit:
    """
    The credit of judges for the criteria that an answer passes by the truth, and for those that it fails.

    `credited` and `known` are points, [2, judges, generators, instances]; an instance has 1 point in all. The first of
    the two is what passes, the second what fails.
    """

    credited: Floats
    known: Floats


def credit(table: RubricTable) -> Credit:
    """
    Return the credit of judges, separately for what passes and fails by the truth; unknown marks are in neither.

    A criterion of negative points passes where it is not met, and is credited where the judge says so.
    """
    good = np.where(table.points > 0, 1, 0).astype(np.int8)
    weight = np.abs(table.points)
    weight = weight / by_instance(table, weight)[table.instance]
    known = (table.verdicts != MISSING) & (table.truth != MISSING)[None]
    says = table.verdicts == good
    parts = [known & (table.truth == good)[None], known & (table.truth != good)[None]]
    return Credit(
        np.stack([by_instance(table, (part & says) * weight) for part in parts]),
        np.stack([by_instance(table, part * weight) for part in parts]),
    )


def credit_excess(given: Credit, grid: Grid, judge: str, *, level: float = 0.05) -> Excess:
    """
    Return how much more credit a judge gives its own answers than a fair judge would, in [-1, 1].

    What passes and what fails by the truth weigh the same. Each outsider is compared over the columns that are related
    neither to it nor to the judge. One-sided bounds at `level`; the unit is the instance.

    Raises `EstimateError` where the judge wrote nothing, there is no outsider or outsiders of one family alone, too few
    instances whose criteria the own answers pass or fail, a judge that says the same of everything, or outsiders that
    cannot tell what passes.
    """
    row, own = grid.row(judge), grid.columns(judge, "self")[0]
    enough(Cells(given.credited[:, row, own], given.known[:, row, own], 2))
    others = _outsiders(given, grid, row)
    if not others and _outsiders(given, grid, row, least=1):
        raise EstimateError(
            f"the judges outside the family of {judge!r} saw too few criteria that pass, or too few that fail, for an "
            f"interval: expected {LEAST} questions of each, on its answers and on those of others; add questions"
        )
    if not others:
        raise EstimateError(
            f"expected a judge outside the family of {judge!r} and a generator related to neither, got none; "
            "add judges or generators of other families"
        )
    parts = [(part, row, [own]) for part in (0, 1)]
    for outsider, columns in others:
        for who, whose in ((row, columns), (outsider, [own]), (outsider, columns)):
            parts += [(part, who, whose) for part in (0, 1)]
    hits, chances = (
        np.stack([counts[part, who][whose].sum(axis=0) for part, who, whose in parts])
        for counts in (given.credited, given.known)
    )
    cells = Cells(hits, chances, 2)
    names = [grid.judges[outsider] for outsider, _ in others]
    if len({grid.families[name] for name in names}) < 2:
        raise EstimateError(because(Kind.ONE_OUTSIDER, ", ".join(names)))
    said = cells.rates()[[0, 1, *range(2, len(parts), 6), *range(3, len(parts), 6)]]
    if said.min() == said.max():
        raise EstimateError(because(Kind.NEVER_DECIDES, judge))
    skilled(cells, _outsiders_right, level, (nan, nan, *(nan, nan, 0.0, 1.0, 0.0, 1.0) * len(others)))
    least = cells.least()
    readings = [
        estimated(cells, lambda r: beyond(r[..., :2], _as_outsiders(r)), level),
        estimated(cells, lambda r: beyond(r[..., :2], _at_its_skill(r, least)), level),
    ]
    rates = cells.rates()
    mine = float(np.mean([rates[:2], *(block[:2] for block in _blocks(rates))], axis=0) @ (1, -1) + 1) / 2
    return joined(readings, (mine, float(_outsiders_right(rates))))


def _outsiders(given: Credit, grid: Grid, row: int, least: int = LEAST) -> list[tuple[int, list[int]]]:
    kin, own = grid.kin(), grid.columns(grid.judges[row], "self")
    told: Bools = np.asarray(given.known > 0)
    seen: Bools = np.asarray(told.any(axis=(0, 3)))
    found = []
    for other, name in enumerate(grid.judges):
        free = seen[row] & seen[other] & ~kin[row] & ~kin[other]
        columns = [int(g) for g in np.flatnonzero(free)]
        cells = ((row, columns), (other, own), (other, columns))
        items = [np.count_nonzero(told[part, who][whose].any(axis=0)) for who, whose in cells for part in (0, 1)]
        if grid.families[name] != grid.families[grid.judges[row]] and min(items) >= least:
            found.append((other, columns))
    return found


def _blocks(rates: Floats) -> list[Floats]:
    return [rates[..., place : place + 6] for place in range(2, rates.shape[-1], 6)]


def _outsiders_right(rates: Floats) -> Floats:
    blocks = _blocks(rates)
    right = [(b[..., 2] + b[..., 4] + 2 - b[..., 3] - b[..., 5]) / 4 for b in blocks]
    return np.asarray(np.mean(right, axis=0), dtype=np.float64)


def _as_outsiders(rates: Floats) -> Floats:
    return np.asarray(np.mean([b[..., :2] + b[..., 2:4] - b[..., 4:6] for b in _blocks(rates)], axis=0))


def _at_its_skill(rates: Floats, least: float) -> Floats:
    from scipy.special import ndtr

    found = []
    for block in _blocks(rates):
        z = deviates(block, least)
        mine, theirs = z[..., 0] - z[..., 1], z[..., 4] - z[..., 5]
        times = np.clip(mine / np.maximum(theirs, BLIND), 0, STEEPEST)
        found.append(ndtr(z[..., :2] + times[..., None] * (z[..., 2:4] - z[..., 4:6])))
    return np.asarray(np.mean(found, axis=0), dtype=np.float64)
