"""The figures of self-preference as data: rows, heat maps and parts, and what all kinds of verdicts share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from calm.core.claims import Estimate
from calm.core.reasons import Kind, because, in_words
from calm.core.units import Unit
from calm.errors import EstimateError
from calm.models.wire import Json
from calm.selfpreference import pairs
from calm.selfpreference.contrasts import Floats, Grid
from calm.selfpreference.families import Leak
from calm.selfpreference.framing_scores import ScoreTable
from calm.selfpreference.perplexity import Curves, LogPerplexities
from calm.selfpreference.skill import Excess
from calm.selfpreference.verdicts import Unread

SCHEMA = "calm-self-preference/1"
EXCESS = "self_preference_excess"
ROUND_OFF = 12
"""Decimals of a rate in a record: beyond them there is nothing but the round-off of its sums."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """
    A heat map: `values` by judge and generator (None: no data), and `marks`: "self", "family" or "" for each cell.

    `unit` says what the values are.
    """

    unit: str
    judges: tuple[str, ...]
    generators: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    marks: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """
    The figures of one judge, by name: `published` and `corrected` ones.

    `corrected` figures have one-sided bounds, each at its level. `reasons` says why a figure is missing, or says
    little.
    """

    judge: str
    family: str
    published: Mapping[str, float | None]
    corrected: Mapping[str, Estimate]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """
    A table beside the rows, such as the counts behind a figure: `name` in the record, and its rows, by column.

    `reason` says why it has no rows, or what limits it. `x` names the column of the rows that a chart puts on its
    horizontal axis, and `lines` those that it draws; without `x` there is no chart. `few` says how many rows, the first
    ones, a terminal shows; 0: all.
    """

    name: str
    rows: tuple[Mapping[str, Json], ...]
    reason: str = ""
    x: str = ""
    lines: tuple[str, ...] = ()
    few: int = 0


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """
    The analysis of one table: its kind ("rubric", "score" or "pairwise"), its size, its judges' rows, and heat maps.

    `families` holds the family of each judge and generator.
    """

    kind: str
    items: int
    rows: tuple[JudgeRow, ...]
    matrices: tuple[Matrix, ...]
    families: Mapping[str, str]
    curves: Mapping[str, Curves] = field(default_factory=dict)
    """Win rates by difference in log-perplexity, by judge."""
    leaks: tuple[Leak, ...] = ()
    parts: tuple[Part, ...] = ()
    log_perplexities: LogPerplexities = field(default_factory=dict)
    """How likely a judge's model finds the answers, where it was asked."""

    def to_json(self) -> dict[str, object]:
        """Return it as JSON-able data, under the schema `calm-self-preference/1`."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "items": self.items,
            "families": dict(sorted(self.families.items())),
            "judges": [
                {
                    "judge": row.judge,
                    "family": row.family,
                    "published": dict(row.published),
                    "corrected": {name: _plain(estimate) for name, estimate in row.corrected.items()},
                    "reasons": dict(row.reasons),
                }
                for row in self.rows
            ],
            "matrices": [asdict(matrix) for matrix in self.matrices],
            "curves": {judge: asdict(found) for judge, found in self.curves.items()},
            "log_perplexities": {
                judge: {item: dict(values) for item, values in by_item.items()}
                for judge, by_item in self.log_perplexities.items()
            },
            "leaks": [asdict(leak) | {"text": str(leak)} for leak in self.leaks],
            "parts": [asdict(part) for part in self.parts],
        }


def add_unread(
    unread: Mapping[str, Unread] | None, judge: str, published: dict[str, float | None], reasons: dict[str, str]
) -> None:
    """Add how many verdicts of a judge could not be read; if none could, that is why it has no other figure."""
    if not unread or judge not in unread:
        return
    published |= unread[judge].shares()
    if unread[judge].unread == unread[judge].asked:
        why = f"{judge} gave no verdict that could be read"
        reasons |= dict.fromkeys(("own", *reasons), why)


def families_in(grid: Grid) -> dict[str, str]:
    """Return the family of each judge and generator."""
    return {name: grid.families[name] for name in (*grid.judges, *grid.generators)}


def estimates_of(wanted: Mapping[str, Callable[[], Estimate]]) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return the estimates that can be computed, and why the others cannot."""
    found: dict[str, Estimate] = {}
    reasons: dict[str, str] = {}
    for name, make in wanted.items():
        try:
            found[name] = make()
        except EstimateError as error:
            reasons[name] = str(error)
    return found, reasons


def excess_of_scores(table: ScoreTable, judge: str, level: float) -> Excess:
    """Return the excess of a judge of scores, from the comparisons of each own text with another one."""
    return pairs.pair_excess(pairs.faced_by_scores(table, judge), judge, table.grid.families, level=level)


def add_excess(make: Callable[[], Excess], corrected: dict[str, Estimate], reasons: dict[str, str]) -> None:
    """Add the excess to the figures; without truth also why nothing can be claimed of it."""
    try:
        found = make()
    except EstimateError as error:
        reasons[EXCESS] = str(error)
        return
    corrected[EXCESS] = found.estimate
    if found.skill is None:
        reasons[EXCESS] = str(because(Kind.NO_TRUTH))


def pull(known: Callable[[], pairs.Known], level: float) -> Estimate:
    """Return the pull of own answers on pairs that are known to be equal."""
    return pairs.pull_of_own(known().equal, level=level).estimate


def _plain(estimate: Estimate) -> dict[str, object]:
    """Return an estimate as JSON-able data, its exclusions in words."""
    return asdict(replace(estimate, excluded={})) | {"excluded": in_words(estimate.excluded)}


def matrix_of(unit: Unit, grid: Grid, values: Floats) -> Matrix:
    """Return values [judges, generators] as a heat map; NaN is no data."""
    return Matrix(
        unit.value,
        grid.judges,
        grid.generators,
        tuple(tuple(known(value) for value in row) for row in values),
        tuple(tuple(row) for row in grid.marks()),
    )


def known(value: float) -> float | None:
    """Return a number, None for NaN."""
    return None if np.isnan(value) else round(float(value), ROUND_OFF)
