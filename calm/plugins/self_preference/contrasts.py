"""
The corrected estimators: what a judge gives its own answers beyond what judges outside its family give them.

A table has a row for each judge and a column for each generator. Compare judge m with an outsider o, over the same
columns: m's own column against generators S that are related neither to m nor to o. Both judges see the same answers,
so the worth of these cancels, and each judge's leniency cancels against its own other columns:

    difference   [M(m,m) - M(m,S)] - [M(o,m) - M(o,S)]
    ratio        M(m,m) / M(m,S)  /  (M(o,m) / M(o,S))

averaged over all outsiders (ratios by their logarithms). Self and family cells are in no margin: neither m's family nor
that of the outsider is in S, and no outsider is of m's family, so one judge that loves itself does not move the excess
of the others. If each model has its own family, this is the double-centred excess (S_mm - S_m.) - (S_.m - S_..).
Intervals come from resampling items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from random import Random
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.core.claims import Estimate
from calm.core.reasons import Kind, Reason, because
from calm.errors import EstimateError, nearest

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

Target: TypeAlias = Literal["self", "family"]
"""What is compared with the other columns: the judge's own, or those of its family without its own."""
Link: TypeAlias = Literal["difference", "ratio"]

DRAWS = 1000
"""Bootstrap samples: the standard error of an interval's half-width is then about 2 %."""


SAME = 1e-9
"""Values closer than this are equal: they are means of few verdicts."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows and columns of a table: `judges`, `generators`, and the family of each of them by name."""

    judges: tuple[str, ...]
    generators: tuple[str, ...]
    families: Mapping[str, str]

    def __post_init__(self) -> None:
        for what, names in (("judges", self.judges), ("generators", self.generators)):
            if not names or len(set(names)) < len(names):
                raise EstimateError(f"expected different {what}, at least one, got {names!r}")
        unknown = [name for name in (*self.judges, *self.generators) if name not in self.families]
        if unknown:
            raise EstimateError(f"expected the family of every model, got none for {unknown[0]!r}; name it")

    def row(self, judge: str) -> int:
        """Return the row of a judge; an `EstimateError` if there is none."""
        if judge not in self.judges:
            raise EstimateError(f"expected one of the judges, got {judge!r}{nearest(judge, self.judges)}")
        return self.judges.index(judge)

    def own(self, judge: str) -> int | None:
        """Return the column of a judge's own answers; None if it wrote none."""
        self.row(judge)
        return self.generators.index(judge) if judge in self.generators else None

    def kin(self) -> Bools:
        """Return, as [judges, generators], which cells are of one family, self included."""
        return np.array([[self.families[j] == self.families[g] for g in self.generators] for j in self.judges])

    def marks(self) -> list[list[str]]:
        """Return "self", "family" or "" for each cell."""
        kin = self.kin()
        return [
            ["self" if j == g else "family" if kin[a, b] else "" for b, g in enumerate(self.generators)]
            for a, j in enumerate(self.judges)
        ]

    def columns(self, judge: str, target: Target) -> list[int]:
        """
        Return the columns that are compared with the others.

        Raises `EstimateError` where the judge wrote no answers, or its family has no other generator.
        """
        own, kin = self.own(judge), self.kin()[self.row(judge)]
        if target == "self":
            if own is None:
                raise EstimateError(f"expected answers of {judge!r}, got none: it is not one of the generators")
            return [own]
        found = [g for g in range(len(self.generators)) if kin[g] and g != own]
        if not found:
            raise EstimateError(f"expected another generator of the family of {judge!r}, got none")
        return found


def excess(
    cells: Floats,
    grid: Grid,
    judge: str,
    *,
    target: Target = "self",
    link: Link = "difference",
    usable: Bools | None = None,
    outsiders: Sequence[str] | None = None,
) -> Floats:
    """
    Return what a judge gives its own answers beyond what outsiders give them, for each table of a stack.

    Args:
        cells: shape [..., judges, generators]; mean scores, or rates.
        grid: the rows and columns.
        judge: the judge in question.
        target: its own column, or the mean over its family's without its own.
        link: a difference in units of the cells, or the logarithm of a ratio (cells above 0).
        usable: shape [judges, generators]; cells without data are in no mean.
        outsiders: the judges to compare with; by default all whose family is not the judge's.

    Raises `EstimateError` where there is no outsider, or no column that is related to neither; shape [...] otherwise.

    >>> grid = Grid(("a", "b", "c"), ("a", "b", "c"), {"a": "A", "b": "B", "c": "C"})
    >>> fair = np.array([[9.0, 7.0, 5.0], [8.0, 6.0, 4.0], [9.5, 7.5, 5.5]])  # one lenient, all agree on the order
    >>> float(excess(fair, grid, "a"))
    0.0
    >>> fair[0, 0] += 0.5
    >>> float(excess(fair, grid, "a"))
    0.5
    """
    row, own = grid.row(judge), grid.columns(judge, target)
    has = np.ones((len(grid.judges), len(grid.generators)), dtype=np.bool_) if usable is None else usable
    own = [g for g in own if has[row, g]]
    if not own:
        whose = "its own answers" if target == "self" else "the answers of its family"
        raise EstimateError(f"too few verdicts of {judge!r} on {whose} for an interval")
    parts = []
    for other, columns, targets in _comparisons(grid, row, own, has, outsiders):
        pair = [_mean(cells, j, targets) for j in (row, other)]
        rest = [_mean(cells, j, columns) for j in (row, other)]
        if link == "ratio":
            parts.append(np.log(pair[0]) - np.log(rest[0]) - np.log(pair[1]) + np.log(rest[1]))
        else:
            parts.append(pair[0] - rest[0] - pair[1] + rest[1])
    if not parts:
        if outsiders is None and _comparisons(grid, row, own, np.ones_like(has), None):
            raise EstimateError(f"the judges outside the family of {judge!r} gave too few verdicts for an interval")
        raise EstimateError(
            f"expected a judge outside the family of {judge!r} and a generator related to neither, got none; "
            "add judges or generators of other families"
        )
    return np.asarray(np.mean(parts, axis=0), dtype=np.float64)


def too_few(grid: Grid, judge: str, target: Target, usable: Bools, data: Bools) -> dict[Reason, int]:
    """
    Return which judges and generators are compared with in no mean, because they have too few verdicts, and how many.

    Args:
        grid: the rows and columns.
        judge: the judge in question.
        target: what is compared.
        usable: shape [judges, generators], the cells that were used.
        data: shape [judges, generators, items], where there is a verdict.
    """
    row, own = grid.row(judge), grid.columns(judge, target)
    used, there = (
        {other: set(columns) for other, columns, _ in _comparisons(grid, row, own, has, None)}
        for has in (usable, np.asarray(data.any(axis=2)))
    )
    judges = there.keys() - used.keys()
    columns = {g for other, compared in used.items() for g in there[other] - compared}
    found = {because(Kind.FEW_VERDICTS_BY, grid.judges[j]): int(data[j].any(axis=0).sum()) for j in sorted(judges)}
    about = {
        because(Kind.FEW_VERDICTS_ON, grid.generators[g]): int(data[:, g].any(axis=0).sum()) for g in sorted(columns)
    }
    return found | about


def _comparisons(
    grid: Grid, row: int, own: list[int], has: Bools, outsiders: Sequence[str] | None
) -> list[tuple[int, list[int], list[int]]]:
    kin, mine = grid.kin(), grid.families[grid.judges[row]]
    rows = range(len(grid.judges)) if outsiders is None else [grid.row(name) for name in outsiders]
    found = []
    for other in rows:
        if grid.families[grid.judges[other]] == mine:
            if outsiders is not None:
                raise EstimateError(f"expected outsiders, got {grid.judges[other]!r} of the family of the judge")
            continue
        seen = has[row] & has[other]
        columns = [g for g in range(len(grid.generators)) if seen[g] and not kin[row, g] and not kin[other, g]]
        targets = [g for g in own if seen[g]]
        if columns and targets:
            found.append((other, columns, targets))
    return found


def _mean(cells: Floats, row: int, columns: list[int]) -> Floats:
    return np.asarray(cells[..., row, columns].mean(axis=-1), dtype=np.float64)


def filled(found: Mapping[tuple[int, ...], float], shape: tuple[int, ...], missing: float) -> Floats:
    """Return an array of some values by their places, and `missing` elsewhere."""
    values = np.full(shape, missing)
    places = np.array(list(found), dtype=np.intp)
    values[tuple(places.T)] = list(found.values())
    return values


def mean_known(values: Floats, axis: int) -> Floats:
    """Return the mean over an axis of what is not NaN; NaN where all is."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis), dtype=np.float64)


def resampled(rng: Random, items: int, draws: int = DRAWS) -> Floats:
    """
    Return how often each item is drawn in each bootstrap sample, shape [draws, items].

    Raises `EstimateError` for fewer than two items or 100 draws.

    >>> weights = resampled(Random(1), 50, 100)
    >>> weights.shape, set(weights.sum(axis=1).tolist())
    ((100, 50), {50.0})
    """
    if items < 2:
        raise EstimateError(f"expected at least 2 items, got {items}")
    if draws < 100:
        raise EstimateError(f"expected at least 100 draws, got draws={draws}")
    bits = np.frombuffer(rng.randbytes(4 * draws * items), dtype="<u4").astype(np.uint64)
    places = (bits * np.uint64(items)) >> np.uint64(32)
    places += np.repeat(np.arange(draws, dtype=np.uint64) * np.uint64(items), items)
    counts = np.bincount(places.astype(np.intp), minlength=draws * items)
    return counts.reshape(draws, items).astype(np.float64)


def interval(value: float, replicates: Floats, items: int, level: float, *, least: float = 0.0) -> tuple[float, float]:
    """
    Return two one-sided bounds at `level`: the value and Student's t times the bootstrap's standard error.

    Args:
        value: the estimate.
        replicates: the same of resampled sets of items.
        items: how many items carry information on it; the degrees of freedom are one less. Smallest n: 2.
        level: of each bound; together they are an interval of confidence 1 - 2 level.
        least: the least standard error. A count of 0, or of all, never varies when it is resampled, although it would
            in new items: give the binomial one (see `binomial_error`).

    The replicates' standard deviation is corrected by n / (n - 1), as resampled items vary less than new ones.

    Raises `EstimateError` for replicates that are not finite, or none that vary.

    >>> low, high = interval(0.0, np.array([-1.0, 1.0] * 50), 1000, 0.05)
    >>> round(low, 2), round(high, 2)
    (-1.66, 1.66)
    """
    if not 0 < level < 0.5:
        raise EstimateError(f"expected a one-sided level between 0 and 0.5, got level={level!r}")
    if items < 2:
        raise EstimateError(f"expected at least 2 items, got {items}")
    if not np.isfinite(replicates).all():
        raise EstimateError("expected finite bootstrap replicates: too few items for an interval")
    from scipy.special import stdtrit

    error = max(least, float(replicates.std(ddof=1)) * sqrt(items / (items - 1)))
    if error == 0:
        raise EstimateError("expected items that vary, got equal ones: there is no interval")
    half = float(stdtrit(items - 1, 1 - level)) * error
    return value - half, value + half


def unvaried(value: float, span: float, n: int, level: float) -> tuple[float, float]:
    """
    Return two one-sided bounds at `level` of a mean of which all n item values are equal, each within [-span, span].

    At most a share q = 1 - level^(1/n) of all items differs (Clopper & Pearson 1934; at 0.05, q is near 3/n). So many
    may lie at either end.

    >>> low, high = unvaried(0.0, 1.0, 100, 0.025)
    >>> round(low, 3), round(high, 3)
    (-0.036, 0.036)
    """
    share = 1 - level ** (1 / n)
    return value - share * (value + span), value + share * (span - value)


def binomial_error(hits: float, n: float, link: Link = "difference") -> float:
    """
    Return the standard error of the rate (hits + 1/2) / (n + 1), or with "ratio" that of its logarithm.

    Above 0 even where none or all of n hit (Gart & Nam 1988 for the logarithm).

    >>> round(binomial_error(0, 4), 3), round(binomial_error(0, 4, "ratio"), 3)
    (0.134, 1.342)
    """
    rate = (hits + 0.5) / (n + 1)
    error = sqrt(rate * (1 - rate) / (n + 1))
    return error / rate if link == "ratio" else error


def estimate_difference(
    value: float,
    replicates: Floats,
    items: int,
    level: float,
    *,
    least: float = 0.0,
    telling: int | None = None,
    span: float | None = None,
) -> Estimate:
    """
    Return an estimate with its bootstrap bounds (see `interval`); `telling` is the number of items that count.

    With `span` the value of each item lies in [-span, span]; where nothing varies, the bounds are those of `unvaried`.
    """
    if span is not None and items > 1 and np.ptp(replicates) < SAME:
        value = 0.0 if abs(value) < SAME else value
        return Estimate(value, *unvaried(value, span, items if telling is None else telling, level), items, level)
    low, high = interval(value, replicates, items if telling is None else telling, level, least=least)
    return Estimate(value, low, high, items, level)


def estimate_ratio(
    log_value: float,
    log_replicates: Floats,
    items: int,
    level: float,
    *,
    least: float = 0.0,
    telling: int | None = None,
) -> Estimate:
    """
    Return the estimate of a ratio from its logarithm; the bounds are symmetric on the log scale (see `interval`).

    >>> round(estimate_ratio(float(np.log(2)), np.log(np.array([1.9, 2.1] * 50)), 100, 0.05).value, 3)
    2.0
    """
    low, high = interval(log_value, log_replicates, items if telling is None else telling, level, least=least)
    return Estimate(exp(log_value), exp(low), exp(high), items, level)
