"""
Credit on criteria whose truth is known: what a judge credits its own answers beyond what a fair judge would.

The two strata are the criteria that an own answer passes by the truth, and those that it fails. A judge's verdicts on
answers of authors that are related to none of these judges show how lenient and how skilled it is. So a fair judge is
not read from the outsiders' verdicts on the own answers alone, but from how much they differ from their verdicts on
those other answers (see `skill` for the two readings).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from calm.core.reasons import Kind, because
from calm.errors import EstimateError
from calm.selfpreference.contrasts import Bools, Floats, Grid
from calm.selfpreference.rubric import MISSING, RubricTable, by_instance
from calm.selfpreference.skill import Cells, Excess, beyond, deviates, enough, estimated, joined, skilled
from calm.selfpreference.symbols import LEAST

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
    """Return each outsider with at least so many verdicts of each kind, and the columns over which it is compared."""
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
    """Return for each outsider the credit (pass, fail) of the judge on others, then its own on own and others."""
    return [rates[..., place : place + 6] for place in range(2, rates.shape[-1], 6)]


def _outsiders_right(rates: Floats) -> Floats:
    """Return the mean share of the outsiders' verdicts that are right; passes and failures weigh the same."""
    blocks = _blocks(rates)
    right = [(b[..., 2] + b[..., 4] + 2 - b[..., 3] - b[..., 5]) / 4 for b in blocks]
    return np.asarray(np.mean(right, axis=0), dtype=np.float64)


def _as_outsiders(rates: Floats) -> Floats:
    """Return the credit of a fair judge: its own for other answers, moved as far as the outsiders' credit moves."""
    return np.asarray(np.mean([b[..., :2] + b[..., 2:4] - b[..., 4:6] for b in _blocks(rates)], axis=0))


def _at_its_skill(rates: Floats, least: float) -> Floats:
    """Return the same on the scale of normal deviates, where an outsider's move grows with the judge's skill."""
    from scipy.special import ndtr

    found = []
    for block in _blocks(rates):
        z = deviates(block, least)
        mine, theirs = z[..., 0] - z[..., 1], z[..., 4] - z[..., 5]
        times = np.clip(mine / np.maximum(theirs, BLIND), 0, STEEPEST)
        found.append(ndtr(z[..., :2] + times[..., None] * (z[..., 2:4] - z[..., 4:6])))
    return np.asarray(np.mean(found, axis=0), dtype=np.float64)
