"""
The page of any record that a command writes: which kind it is, and who renders it.

A hunt, and CALM's table of several judges (also as text and CSV), are rendered here.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Final

from calm import __version__
from calm.errors import ConfigError
from calm.models.wire import Json
from calm.results import outputs
from calm.results.calm_protocol import Column, Figure, JudgeRow, JudgeTable, Share
from calm.results.hunts import KEY, SCHEMA
from calm.results.parts import aligned
from calm.results.reports import diagnosis, uda_page
from calm.results.reports.calm_protocol import LACKING, decimal, rate, unbroken
from calm.results.reports.extras import (
    Section,
    Table,
    as_list,
    as_mapping,
    mitigations_of,
    sections_of,
    self_preference_of,
)
from calm.results.reports.html import environment, safety
from calm.results.reports.hunt import hunts_of
from calm.results.reports.tables import neutral
from calm.results.wording import clipped


def render_hunt(hunt: Mapping[str, Json]) -> str:
    """Return the page of a record of schema `calm-hunt/1`; everything that a model or user wrote is escaped."""
    pages = environment()
    hunts = hunts_of({KEY: [dict(hunt)]})
    return pages.get_template("hunt_page.html.jinja").render(
        hunts=hunts,
        judge=hunts[0].judge if hunts else "",
        said=[found.said for one in hunts for found in one.found],
        calm=__version__,
        schema=SCHEMA,
        **safety(pages),
    )


def write_hunt(hunt: Mapping[str, Json], path: Path) -> None:
    """
    Write the page, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render_hunt(hunt)], outputs.REPORT)


NAMED: Final = 3
"""More judges than these are counted, not named."""
Render = Callable[[Mapping[str, Json]], str]


@dataclass(frozen=True, slots=True)
class Page:
    """
    A page of a kind of record: the line above its title, its headline, and how `sections_of` reads the record.

    `headline`, `notes` and `sections` get the record; without them there are no headline and no notes, and the sections
    are those of `sections_of`.
    """

    kicker: str
    headline: Callable[[Mapping[str, Json]], str] | None = None
    hidden: tuple[str, ...] = ()
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Callable[[Mapping[str, Json]], tuple[str, ...]] | None = None
    sections: Callable[[Mapping[str, Json]], tuple[Section, ...]] | None = None

    def __call__(self, body: Mapping[str, Json]) -> str:
        """Return the page; everything that a model or a user wrote is escaped."""
        pages = environment()
        preference = self_preference_of({"self_preference": dict(body)}) if _is(body, "calm-self-preference/") else None
        mitigations = mitigations_of({"mitigations": dict(body)}) if _is(body, "calm-mitigations/") else None
        known = preference is not None or mitigations is not None
        return pages.get_template("record_page.html.jinja").render(
            kicker=self.kicker,
            title=_title(body),
            headline=self.headline(body) if self.headline else "",
            notes=self.notes(body) if self.notes else (),
            sections=() if known else self._sections(body),
            preference=preference,
            mitigations=mitigations and replace(mitigations, said=""),  # the headline says it
            calm=__version__,
            schema=body.get("schema"),
            **safety(pages),
        )

    def _sections(self, body: Mapping[str, Json]) -> tuple[Section, ...]:
        if self.sections is not None:
            return self.sections(body)
        return sections_of(body, ("schema", *self.hidden), self.lists)


def _alarm(body: Mapping[str, Json]) -> str:
    return "Alarm: the judge does not answer as before" if body.get("alarm") is True else "No alarm"


def _said(body: Mapping[str, Json]) -> str:
    said = body.get("said")
    return said if isinstance(said, str) else ""


def _found(body: Mapping[str, Json]) -> str:
    found = body.get("found")
    return (
        f"{found} {'text' if found == 1 else 'texts'} found that won the judge over" if found else "No text was found"
    )


PAGES: Final[Mapping[str, Render]] = {
    "calm-self-preference/": Page("calm \N{MIDDLE DOT} whether judges prefer their own answers"),
    "calm-mitigations/": Page("calm \N{MIDDLE DOT} a judge with mitigations", _said),
    "calm-hunt/": render_hunt,
    "calm-attack/": Page(
        "calm \N{MIDDLE DOT} an attack on a judge", _found, ("judge",), lists={"edits": ("stacks", "held")}
    ),
    "calm-watch/": Page("calm \N{MIDDLE DOT} a judge watched over time", _alarm),
    "calm-cross-check/": Page("calm \N{MIDDLE DOT} whether a judge agrees with itself", hidden=("judges",)),
    "calm-diagnose/": Page(
        "calm \N{MIDDLE DOT} where a judge is unsure",
        diagnosis.headline,
        notes=diagnosis.notes,
        sections=diagnosis.sections,
    ),
    "calm-uda": uda_page.render,
}
"""By the beginning of the schema, who renders a record; results, baselines and calibrations have the report."""


def render(body: Mapping[str, Json], source: str) -> str:
    """
    Return the page of a record; `source` says where it was read.

    Raises:
        ConfigError: its schema is not one that calm writes.
    """
    for prefix, page in PAGES.items():
        if _is(body, prefix):
            return page(body)
    wanted = ", ".join(["calm-results", "calm-baseline", "calm-calibration", *(name.rstrip("/") for name in PAGES)])
    raise ConfigError(f"{source}: expected a record of calm, of schema {wanted}, got schema={body.get('schema')!r}")


def write(body: Mapping[str, Json], path: Path) -> None:
    """
    Write the page of a record, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render(body, "the record")], outputs.REPORT)


def _is(body: Mapping[str, Json], prefix: str) -> bool:
    return str(body.get("schema", "")).startswith(prefix)


def _title(body: Mapping[str, Json]) -> str:
    judge, judges = body.get("judge"), as_list(body.get("judges"))
    if isinstance(judge, dict):
        judge = judge.get("name")
    names = [str(as_mapping(one).get("judge", "")) if isinstance(one, dict) else str(one) for one in judges]
    if isinstance(judge, str) and judge:
        return judge
    names = [name for name in names if name]
    return ", ".join(names) if 0 < len(names) <= NAMED else f"{len(names)} judges"


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


def render_judges(table: JudgeTable) -> str:
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


def write_judges(table: JudgeTable, path: Path) -> None:
    """
    Write the table as a page, or as CSV where the name ends so; the file appears whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    made = render_csv(table) if form_of(path) is outputs.JUDGES else render_judges(table)
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
