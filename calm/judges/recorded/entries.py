"""The records of a table of verdicts: what each says, and about what, before the cases are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm.cases.foreign.records import Faults, Row, load, names_of, shown
from calm.core.case import Framing
from calm.core.files import json_of
from calm.errors import ConfigError, nearest

FIELDS: Final = ("case", "order", "framing", "repeat", "criterion", "verdict", "reply")
"""What a column can hold."""
_EDIT: Final = "edit"
_NO_EDITS: Final = (
    "expected verdicts on cases as they are, got {}; leave such records out: the name of an edit does not say which "
    "text was judged, as that also depends on the seed, the treated answer and the version of calm"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A record: the id of a case, how it was shown and asked, the number of the ask, and what the judge said.

    `order` holds ids or numbers of answers by slot; empty: as the case lists them. `said` is a verdict as it was
    written, or with `raw` the whole reply; None where there is nothing.
    """

    record: int
    case: str
    order: tuple[str, ...]
    framing: Framing
    repeat: int
    criterion: str | None
    said: object
    raw: bool


@dataclass(frozen=True, slots=True)
class Entries:
    """All records of a table, its file, and the columns that nothing was taken from."""

    name: str
    all: tuple[Entry, ...]
    idle: tuple[str, ...]


def read_entries(path: Path, columns: Mapping[str, str]) -> Entries:
    """
    Return the records of a table; `columns` says which column holds a field that is not called so.

    Raises:
        ConfigError: a file that cannot be read, columns that it does not have, or all its faulty records.
    """
    table = load(path, what="a table of verdicts")
    names: dict[str, str] = {**{name: name for name in FIELDS if name in table.columns}, **columns}
    wrong = [
        f"{path}: columns: expected a column of the table, got {name} = {column!r}{nearest(column, table.columns)}"
        for name, column in columns.items()
        if column not in table.columns
    ]
    if not wrong and "case" not in names:
        wrong.append(_missing(path, "case", "that names the cases", table.columns))
    if not wrong and "verdict" not in names and "reply" not in names:
        wrong.append(_missing(path, "verdict (or reply)", "that holds what the judge said", table.columns))
    if wrong:
        raise ConfigError(wrong)
    faults = Faults(table.name)
    found = [_entry(row, record, names, faults) for record, row in enumerate(table.rows, 1)]
    faults.settle()
    idle = tuple(column for column in table.columns if column not in (*names.values(), _EDIT))
    return Entries(table.name, tuple(one for one in found if one), idle)


def _missing(path: Path, name: str, what: str, columns: tuple[str, ...]) -> str:
    return f"{path}: expected a column {name} {what}, got {names_of(columns)}; rename one"


def _entry(row: Row, record: int, names: Mapping[str, str], faults: Faults) -> Entry | None:
    """Return a record; None, and its faults, if it is wrong."""
    before = faults.count

    def cell(name: str) -> object:
        value = row.get(names[name]) if name in names else None
        return None if isinstance(value, str) and not value.strip() else value

    edit = row.get(_EDIT)
    if edit not in (None, ""):
        faults.add(record, _EDIT, _NO_EDITS.format(shown(edit)))
    case = _name(cell("case"))
    if case is None:
        faults.add(record, names["case"], f"expected the id of a case, got {shown(cell('case'))}; add it")
    order = _order(cell("order"))
    if order is None:
        wanted = "the answers by slot, such as good,bad or 2,1"
        faults.add(record, names["order"], f"expected {wanted}, got {shown(cell('order'))}; or leave it empty")
    framing = _framing(cell("framing"))
    if framing is None:
        known = ", ".join(Framing)
        faults.add(
            record, names["framing"], f"expected one of {known}, got {shown(cell('framing'))}; or leave it empty"
        )
    repeat = _repeat(cell("repeat"))
    if repeat is None:
        wanted = "the number of the ask, from 1"
        faults.add(record, names["repeat"], f"expected {wanted}, got {shown(cell('repeat'))}; or leave it empty")
    verdict, reply = cell("verdict"), cell("reply")
    if verdict is not None and reply is not None:
        faults.add(record, names["reply"], "expected a verdict or a reply, got both; leave one of them empty")
    if case is None or order is None or framing is None or repeat is None or faults.count > before:
        return None
    raw = reply is not None or "verdict" not in names
    said = str(reply) if reply is not None else verdict
    return Entry(record, case, order, framing, repeat, _name(cell("criterion")), said, raw)


def _name(value: object) -> str | None:
    """Return an id, which may be written as a number in the file."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _order(value: object) -> tuple[str, ...] | None:
    """Return ids or numbers by slot; () for none, None for what is no such list."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = listed(value, ",")
    names = [_name(one) for one in value] if isinstance(value, list | tuple) else [None]
    return None if None in names or not names else tuple(name for name in names if name is not None)


def listed(text: str, separator: str) -> object:
    """Return what a text holds: JSON if it begins with a bracket, else its parts between separators."""
    if not text.strip().startswith("["):
        return [part.strip() for part in text.split(separator)]
    try:
        return json_of(text)
    except ValueError:
        return text


def _framing(value: object) -> Framing | None:
    return Framing.STANDARD if value is None else next((one for one in Framing if one == value), None)


def _repeat(value: object) -> int | None:
    """Return a whole number of at least 1; 1 for none, None for anything else."""
    name = "1" if value is None else _name(value)
    plain = name is not None and name.isascii() and name.isdigit() and len(name) < 10
    return int(name) or None if name is not None and plain else None
