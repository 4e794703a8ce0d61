"""CALM's figures of several judges, as text, as a page and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from itertools import groupby
from pathlib import Path

from calm import __version__
from calm.results import outputs
from calm.results.calm_protocol import Column, Figure, JudgeRow, JudgeTable, Share
from calm.results.parts import aligned
from calm.results.reports.calm_protocol import LACKING, decimal, rate, unbroken
from calm.results.reports.extras import Table
from calm.results.reports.html import environment, safety
from calm.results.reports.tables import neutral
from calm.results.wording import clipped

NAME = 24
"""Characters of a judge's name in a terminal."""
GAP = 2
ARROW = " -> "
PLACES = 6
"""A CSV file holds figures as precisely as a record."""


def render_text(table: JudgeTable, width: int) -> str:
    """Return the table for a terminal: a part for each group of figures, as many columns beside each other as fit."""
    names = [clipped(row.name, NAME) for row in table.rows]
    parts = [f"CALM's figures of {len(names)} judges; rates with 95% intervals"]
    for group, heads in _grouped(table.columns):
        parts += ["", group]
        columns = [(head, [_short(row, columns) for row in table.rows]) for head, columns in heads]
        for block in _blocks(columns, width - max(map(len, ("judge", *names)))):
            rows = [("judge", *(head for head, _ in block))]
            rows += [(name, *(cells[place] for _, cells in block)) for place, name in enumerate(names)]
            parts += aligned(rows)
    parts += ["", *(f"{row.name}: {row.figures.task}, {row.cases} cases, {row.source}" for row in table.rows)]
    return "\n".join([*parts, *table.notes])


def render(table: JudgeTable) -> str:
    """Return the page; everything that a user wrote is escaped."""
    pages = environment()
    return pages.get_template("calm_judges.html.jinja").render(
        names=[row.name for row in table.rows],
        groups=[(group, _page_table(table.rows, heads)) for group, heads in _grouped(table.columns)],
        runs=Table(
            ("Judge", "Verdicts", "Cases", "Results"),
            tuple((row.name, row.figures.task, str(row.cases), row.source) for row in table.rows),
        ),
        notes=table.notes,
        calm=__version__,
        **safety(pages),
    )


def render_csv(table: JudgeTable) -> str:
    """
    Return the table as CSV: a row for each judge, a column for each figure.

    A rate has three columns more: the ends of its 95% interval (`low`, `high`) and its number of questions (`n`).
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rated = {c.name for c in table.columns if any(isinstance(c.of(row.figures), Share) for row in table.rows)}
    heads = [name for c in table.columns for name in _heads(c.name, rated=c.name in rated)]
    writer.writerow([*outputs.JUDGES_BEGIN.rstrip(",").split(","), *heads])
    for row in table.rows:
        about = [neutral(row.name), neutral(row.source), row.figures.task, row.cases]
        cells = [cell for c in table.columns for cell in _cells(c.of(row.figures), rated=c.name in rated)]
        writer.writerow([*about, *cells])
    return out.getvalue()


def write(table: JudgeTable, path: Path) -> None:
    """
    Write the table as a page, or as CSV where the name ends so; the file appears whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    made = render_csv(table) if form_of(path) is outputs.JUDGES else render(table)
    outputs.write_whole(path, [made], form_of(path))


def form_of(path: Path) -> outputs.Form:
    """Return the form of a table that is written to this place."""
    return outputs.JUDGES if path.suffix.lower() == ".csv" else outputs.REPORT


def _grouped(columns: Sequence[Column]) -> list[tuple[str, list[tuple[str, list[Column]]]]]:
    groups = groupby(columns, key=lambda column: column.group)
    return [
        (group, [(head, list(same)) for head, same in groupby(some, key=lambda column: column.head)])
        for group, some in groups
    ]


def _blocks(columns: Sequence[tuple[str, Sequence[str]]], width: int) -> list[list[tuple[str, Sequence[str]]]]:
    blocks: list[list[tuple[str, Sequence[str]]]] = []
    left = 0
    for head, cells in columns:
        wide = GAP + max(map(len, (head, *cells)))
        if not blocks or wide > left:
            blocks.append([])
            left = width
        blocks[-1].append((head, cells))
        left -= wide
    return blocks


def _short(row: JudgeRow, columns: Sequence[Column]) -> str:
    first = columns[0].of(row.figures)
    if len(columns) == 1:
        return rate(first) if isinstance(first, Share) else _plain(first, columns[0])
    cells = [_plain(column.of(row.figures), column) for column in columns]
    return LACKING if set(cells) == {LACKING} else ARROW.join(cells)


def _page_table(rows: Sequence[JudgeRow], heads: Sequence[tuple[str, Sequence[Column]]]) -> Table:
    cells = tuple((row.name, *(_long(row, columns) for _, columns in heads)) for row in rows)
    return Table(("Judge", *(head for head, _ in heads)), cells)


def _long(row: JudgeRow, columns: Sequence[Column]) -> str:
    shown = []
    for column in columns:
        found = column.of(row.figures)
        shown.append(f"{unbroken(found)}, n={found.n}" if isinstance(found, Share) else _plain(found, column))
    return LACKING if set(shown) == {LACKING} else " \N{RIGHTWARDS ARROW} ".join(shown)


def _plain(found: Figure, column: Column) -> str:
    value = found.value if isinstance(found, Share) else found
    if isinstance(value, int):
        return str(value)
    return LACKING if value is None else decimal(value, sign=column.signed)


def _heads(name: str, *, rated: bool) -> list[str]:
    return [name, f"{name} low", f"{name} high", f"{name} n"] if rated else [name]


def _cells(found: Figure, *, rated: bool) -> list[str | float | int]:
    if isinstance(found, Share):
        return [*(round(value, PLACES) for value in (found.value, found.low, found.high)), found.n]
    if found is None:
        return [""] * (4 if rated else 1)
    return [found if isinstance(found, int) else round(found, PLACES) + 0.0]
