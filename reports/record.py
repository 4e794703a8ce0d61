"""
Any record as a page shows it: its single values as facts, its lists and objects as tables.

A record of a command that has no page of its own is read by its shape, so that nothing of it is lost: what a newer
version adds is shown, too. What is too deep for a table is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.models.wire import Json
from calm.results.parts import cell, head_of
from calm.results.reports.diff import Comparison, compare
from calm.results.reports.extras import MOST_ROWS, Table, as_list, as_mapping
from calm.results.sentences import capital

DEEPEST: Final = 3
"""Sections within sections; what lies deeper is written as JSON."""
FEW: Final = 3
"""Values of an object that are shown in one cell."""
LONGEST: Final = 200
"""Characters of a cell; the rest of a text is cut off, and marked."""
MOST_PAIRS: Final = 100
"""Texts shown beside their originals; the rest is counted."""
BESIDE: Final = ("original", "text")
"""Columns that are shown as two texts side by side, not in the table."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a record: its title, its single values, its table, and texts beside their originals by name."""

    title: str
    facts: tuple[tuple[str, str], ...]
    table: Table | None = None
    beside: tuple[tuple[str, Comparison], ...] = ()
    left_out: int = 0


def sections_of(
    body: Mapping[str, Json], hidden: Sequence[str] = (), lists: Mapping[str, Sequence[str]] | None = None
) -> tuple[Section, ...]:
    """
    Return a record as sections, the first with its single values; `hidden` keys are left out.

    `lists` names the values of lists within an object, by its key: {"edits": ("stacks", "held")}.
    """
    named = {key: _named(value, (lists or {}).get(key)) for key, value in body.items() if key not in hidden}
    return tuple(_sections("", named, 0))


def _named(value: Json, names: Sequence[str] | None) -> Json:
    """Return an object of lists as an object of objects, where their values have names; anything else as it is."""
    if names is None or not isinstance(value, dict):
        return value
    return {key: dict(zip(names, as_list(one), strict=False)) for key, one in value.items()}


def _sections(title: str, body: Mapping[str, Json], depth: int) -> Iterator[Section]:
    single = {key: value for key, value in body.items() if _flat(value) or _small(value)}
    if single:
        facts = tuple((_head(key), _cell(value)) for key, value in single.items() if value not in ("", [], {}))
        yield Section(title, facts)
    for key, value in body.items():
        if key in single or not value:
            continue
        name = f"{title}: {head_of(key)}" if title else _head(key)
        rows = _rows(value)
        if rows is not None:
            yield _table(name, rows)
        elif isinstance(value, dict) and depth < DEEPEST:
            yield from _sections(name, value, depth + 1)
        else:
            yield Section(name, (("JSON", _short(json.dumps(value, ensure_ascii=False))),))


def _flat(value: Json) -> bool:
    """Return whether a value fits into one cell: a single one, an estimate, or a list of single ones."""
    if isinstance(value, dict):
        return "value" in value and all(not isinstance(v, dict | list) for v in value.values())
    if isinstance(value, list):
        return all(not isinstance(one, dict | list) for one in value)
    return True


def _small(value: Json) -> bool:
    """Return whether a value is an object of a few single values, which fit into one cell with their names."""
    return isinstance(value, dict) and 0 < len(value) <= FEW and all(map(_flat, value.values()))


def _rows(value: Json) -> list[dict[str, Json]] | None:
    """Return a value as rows of a table: a list of objects, or an object of objects of single values, or of lists."""
    if isinstance(value, list):
        return [as_mapping(one) for one in value] if all(isinstance(one, dict) for one in value) else None
    inner = as_mapping(value)
    if not inner or any(_flat(one) and not isinstance(one, dict | list) for one in inner.values()):
        return None
    if all(isinstance(one, dict) and all(map(_flat, one.values())) for one in inner.values()):
        return [
            {"name": name, **(as_mapping(one) if not _flat(one) else {"value": one})} for name, one in inner.items()
        ]
    return None


def _table(title: str, rows: Sequence[Mapping[str, Json]]) -> Section:
    texts = [row for row in rows if all(isinstance(row.get(name), str) for name in BESIDE)]
    columns = [c for c in dict.fromkeys(name for row in rows for name in row) if not (texts and c in BESIDE)]
    cells = tuple(tuple(_cell(row.get(c)) for c in columns) for row in rows[:MOST_ROWS])
    table = Table(tuple(map(_head, columns)), cells, max(0, len(rows) - MOST_ROWS))
    beside = tuple(
        (cell(next(iter(row.values()))), compare(str(row["original"]), str(row["text"]))) for row in texts[:MOST_PAIRS]
    )
    return Section(title, (), table, beside, max(0, len(texts) - MOST_PAIRS))


def _cell(value: Json) -> str:
    if _flat(value):
        return _short(cell(value))
    if isinstance(value, dict):
        return _short("; ".join(f"{head_of(name)} {_cell(one)}" for name, one in value.items()))
    return _short("; ".join(map(_cell, as_list(value))))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _head(column: str) -> str:
    return capital(head_of(column))
