"""Ratings from files: a matrix of several judges in CSV, and gold, which is JSON or one such row."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Final

import numpy as np

from calm.core.files import read_json, read_text, spreadsheet
from calm.errors import ConfigError, few_of, nearest
from calm.plugins.uda.ratings import Floats

WHAT: Final = "a matrix of ratings in CSV: a row for each judge, a column for each model"
FEWEST: Final = (2, 3)
"""Judges and models of a matrix: one judge has no deviation, and two models always correlate by 1 or -1."""
MOST: Final = (100, 10_000)
"""Judges and ratings of a matrix: the shuffles that look for shared leans hold all pairs of judges 999 times."""
LARGEST: Final = 1e12
"""No rating is beyond it: its square would drown the others."""
_ENDINGS: Final = (".csv", ".tsv")
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Matrix:
    """Ratings by judge and model."""

    judges: tuple[str, ...]
    models: tuple[str, ...]
    ratings: Floats


def read_matrix(path: Path) -> Matrix:
    """
    Return the matrix of ratings of a CSV file.

    Raises:
        ConfigError: no such file, a rating that lacks or is no number, a name twice, or too few or many of them.
    """
    if path.suffix.lower() not in _ENDINGS:
        raise ConfigError(spreadsheet(path) or f"{path}: expected {WHAT}; give a file whose name ends in .csv or .tsv")
    found = _table(path)
    judges, models = found.ratings.shape
    if judges < FEWEST[0] or models < FEWEST[1]:
        raise ConfigError(
            f"{path}: expected {WHAT}, with {FEWEST[0]} judges and {FEWEST[1]} models or more, got {judges} and "
            f"{models}; add the others"
        )
    if judges > MOST[0] or judges * models > MOST[1]:
        raise ConfigError(
            f"{path}: expected at most {MOST[0]} judges and {MOST[1]:,} ratings, got {judges:,} judges of {models:,} "
            f"models; leave some out"
        )
    return found


def read_after(path: Path, before: Matrix) -> Floats:
    """
    Return the ratings after alignment, in the order of the matrix before it.

    Raises:
        ConfigError: as `read_matrix`, or other judges or models than before.
    """
    found = read_matrix(path)
    places = []
    for what, names, wanted in (("judge", found.judges, before.judges), ("model", found.models, before.models)):
        if odd := [name for name in wanted if name not in names]:
            raise ConfigError(
                f"{path}: expected the {what}s of the matrix before alignment, got no {what} "
                f"{odd[0]!r}: both files must name the same ones{nearest(odd[0], names)}"
            )
        if odd := [name for name in names if name not in wanted]:
            raise ConfigError(
                f"{path}: expected the {what}s of the matrix before alignment, got another one, "
                f"{odd[0]!r}: both files must name the same ones{nearest(odd[0], wanted)}"
            )
        places.append([names.index(name) for name in wanted])
    return np.asarray(found.ratings[np.ix_(*places)], np.float64)


def read_gold(path: Path) -> dict[str, float]:
    """
    Return ratings that are taken as true, by model: a JSON object, or one row of CSV under the names of the models.

    Raises:
        ConfigError: no such file, or not an object or a row of finite numbers.
    """
    if path.suffix.lower() in _ENDINGS:
        found = _table(path)
        if len(found.judges) != 1:
            raise ConfigError(
                f"{path}: expected one row of true ratings under the names of the models, got {len(found.judges)} "
                f"rows; keep the one that is true"
            )
        return dict(zip(found.models, found.ratings[0].tolist(), strict=True))
    what = 'a JSON object of finite ratings by model, such as {"model-1": 1210.5}'
    data = read_json(path, what)
    if not isinstance(data, dict) or not data or not all(_finite(value) for value in data.values()):
        raise ConfigError(f"{path}: expected {what}, or a CSV with one row of them")
    return {str(name): float(value) for name, value in data.items()}


def refuse_foreign(path: Path, gold: Mapping[str, float] | None, models: Sequence[str]) -> None:
    """
    Return if gold rates one of the models at least, or is None.

    Raises:
        ConfigError: it rates none.
    """
    if gold is not None and not gold.keys() & set(models):
        raise ConfigError(
            f"{path}: expected true ratings of the models {few_of(models, _SHOWN)}, got ratings of "
            f"{few_of(list(gold), _SHOWN)}; write the names as the models have them"
        )


def _table(path: Path) -> Matrix:
    """Return names and numbers of a CSV file, or refuse it with its first fault."""
    text = read_text(path, WHAT)
    if not text.strip():
        raise ConfigError(f"{path}: expected {WHAT}, got an empty file")
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if cells]
    except csv.Error as error:
        raise ConfigError(
            f"{path}: line {reader.line_num}: expected CSV, got an error: {error}; save it again"
        ) from error
    (_, head), *rows = lines
    models = head[1:]
    if not models:
        raise ConfigError(f"{path}: expected {WHAT}, got one column; separate the columns with commas or semicolons")
    if "outcome" in models:
        raise ConfigError(f"{path}: expected {WHAT}, got comparisons; `calm uda train` reads them")
    _refuse_names(path, "model", [(1, name) for name in models])
    numbers = [_row(f"{path}: line {line}", cells, models) for line, cells in rows]
    _refuse_names(path, "judge", [(line, cells[0]) for line, cells in rows])
    return Matrix(
        tuple(cells[0] for _, cells in rows), tuple(models), np.array(numbers, np.float64).reshape(-1, len(models))
    )


def _row(where: str, cells: list[str], models: list[str]) -> list[float]:
    if len(cells) != len(models) + 1:
        raise ConfigError(
            f"{where}: expected {len(models) + 1} cells as in the first line (a judge and {len(models)} ratings), got "
            f"{len(cells)}; add what is missing, and write numbers with a point: a comma begins a new cell"
        )
    judge, *ratings = cells
    found = []
    for model, cell in zip(models, ratings, strict=True):
        if not cell:
            raise ConfigError(
                f"{where}: {judge!r} has no rating of {model!r}, and each judge must rate each model; add it, or take "
                f"out the row or the column"
            )
        try:
            number = float(cell) if "_" not in cell else None
        except ValueError:
            number = None
        if number is None or not isfinite(number) or abs(number) > LARGEST:
            fix = "write it with a point, as 1210.5" if "," in cell else "write a rating such as 1210.5"
            shown = cell if len(cell) <= 40 else f"{cell[:37]}..."
            raise ConfigError(f"{where}: expected a finite number as the rating of {model!r}, got {shown!r}; {fix}")
        found.append(number)
    return found


def _refuse_names(path: Path, what: str, names: list[tuple[int, str]]) -> None:
    seen: dict[str, int] = {}
    for line, name in names:
        if not name:
            raise ConfigError(f"{path}: line {line}: expected the name of a {what} in each place, got none; add it")
        if name in seen:
            raise ConfigError(
                f"{path}: expected {what}s with names that differ, got {name!r} twice"
                f"{f' (lines {seen[name]} and {line})' if line != seen[name] else ''}; rename one, or take it out"
            )
        seen[name] = line


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and abs(value) < LARGEST
