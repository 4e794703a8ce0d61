"""Read the records of somebody else's file: JSON, JSON Lines, CSV, TSV or Parquet."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from calm.cases.images import ILLUSTRATIONS
from calm.cases.reading import MAX_SHOWN, read
from calm.core.annotations import renamed
from calm.core.case import TIE, Answer, Case, digest
from calm.core.files import (
    MOST_COLUMNS,
    MOST_VALUES,
    json_fault,
    json_of,
    read_bytes,
    refuse_values,
    spreadsheet,
    unfolded,
    unopened,
)
from calm.core.order import item_of
from calm.errors import ConfigError, few_of

_HELD: Final = ("question", "answers", "reference", "fields", "variants")
"""What of a row its digest covers: a corrected label makes no other case."""
_DIGITS: Final = 8


def case_id(file: str, record: int, row: Mapping[str, object]) -> str:
    """Return the id of the case of a row: the name of its file, the number of its record, and a digest of it."""
    return f"{Path(file).stem}-{record:05d}-{digest('case', [row.get(key) for key in _HELD])[:_DIGITS]}"


def named(cases: Sequence[Case]) -> list[Case]:
    """Return cases in which the ids of several answers name their authors, and each id names one answer a question."""
    meant: dict[tuple[str, str], set[object]] = {}
    for case in cases:
        for answer in case.answers:
            said = answer.author, answer.text, answer.images
            meant.setdefault((item_of(case), _base(answer)), set()).add(said)
    return [_renamed(case, meant) if len(case.answers) > 1 else case for case in cases]


def _base(answer: Answer) -> str:
    """Return the name of an author as an id may be, or the id that the answer has."""
    name = " ".join((answer.author or "").replace("~", "-").split()).lstrip("! ")
    return f"author {name}" if name == TIE else name or answer.id


def _renamed(case: Case, meant: Mapping[tuple[str, str], set[object]]) -> Case:
    names: dict[str, str] = {}
    for answer in case.answers:
        base = _base(answer)
        name = base
        if len(meant[item_of(case), base]) > 1:
            drawn = [image.sha256 for image in answer.images]
            name = f"{base}-{digest('answer', answer.author, answer.text, *drawn)[:_DIGITS]}"
        while name in names.values():  # the same answer twice in one case
            name = f"{base}-{digest('again', name)[:_DIGITS]}"
        names[answer.id] = name
    return replace(
        case,
        answers=tuple(replace(answer, id=names[answer.id]) for answer in case.answers),
        better=None if case.better is None else names.get(case.better, case.better),
        scores={names[key]: value for key, value in case.scores.items()},
        met={names[key]: value for key, value in case.met.items()},
        annotations=renamed(case.annotations, names),
        variants={edit: {names[key]: text for key, text in texts.items()} for edit, texts in case.variants.items()},
    )


@dataclass(frozen=True, slots=True)
class ImportResult:
    """
    The cases of a foreign file in its order, the number of its records, and notes about them for the user.

    `left` are the records, from 1, of which nothing is taken.
    """

    cases: tuple[Case, ...]
    records: int
    notes: tuple[str, ...] = ()
    left: frozenset[int] = frozenset()


def listed(records: list[int], *, most: int = 10) -> str:
    """
    Return record numbers in words, only the first if they are many.

    >>> listed([3]), listed([3, 5]), listed(list(range(1, 15)), most=3)
    ('record 3', 'records 3, 5', 'records 1, 2, 3 and 11 more')
    """
    return f"record{'s' if len(records) > 1 else ''} {few_of([str(record) for record in records], most)}"


Kind: TypeAlias = Literal["json", "csv", "tsv", "parquet"]
"""How a file is written; `json` is a list of objects, or one object a line."""
Row: TypeAlias = Mapping[str, object]

ENDINGS: Final[Mapping[str, Kind]] = {
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
"""What the ending of a file's name says about how it is written."""
_LONG_NAME: Final = 60
_PACKED: Final = {b"\x1f\x8b": "a gzip file", b"PK\x03\x04": "a zip file or a spreadsheet", b"PAR1": "a Parquet file"}


@dataclass(frozen=True, slots=True)
class Table:
    """The records of a file in its order, and the names of their columns in order of first appearance."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(slots=True)
class Faults:
    """
    Collects what is wrong with a file, the first `MAX_SHOWN` faults in words.

    `words` holds the records of each word of the gold without a known meaning, by column and word; `left` those that
    are left out, by reason.
    """

    name: str
    shown: list[str] = field(default_factory=list)
    count: int = 0
    words: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    left: dict[str, list[int]] = field(default_factory=dict)

    def add(self, record: int, place: str, message: str) -> None:
        """Note a fault: the record (from 1; 0: the whole file), the field, what was expected, what came, the fix."""
        self.count += 1
        if len(self.shown) < MAX_SHOWN:
            self.shown.append(f"{self.name}: {f'record {record}: ' if record else ''}{place}: {message}")

    def settle(self) -> None:
        """
        Return if there are none.

        Raises:
            ConfigError: all that were noted.
        """
        if self.count > len(self.shown):
            self.shown.append(f"{self.name}: and {self.count - len(self.shown)} more; fix these first")
        if self.shown:
            raise ConfigError([*self.shown, f"{self.name}: nothing in it is used"])

    def leave(self, record: int, why: str) -> None:
        """Note that nothing is taken from a record."""
        self.left.setdefault(why, []).append(record)

    def whole(self, row: Mapping[str, object], record: int) -> bool:
        """Return whether a row in calm's own format has a question and answers; without them it is left out."""
        answers = row["answers"] if isinstance(row["answers"], list) else []
        said = [one["text"] or one.get("images", "") for one in answers]
        names = ["answer" if len(answers) == 1 else f"answer {one['id']}" for one in answers]
        named = dict(zip(names, said, strict=True))
        empty = [name for name, text in ({"question": row["question"]} | named).items() if not str(text).strip()]
        if empty:
            self.leave(record, f"no {' and no '.join(empty)}")
        return not empty

    def result(self, cases: Sequence[Case], records: int, notes: Sequence[str] = ()) -> ImportResult:
        """
        Return the cases of a file, with a note for each reason why records were left out.

        Raises:
            ConfigError: all faults that were noted, or the reasons why no record is left.
        """
        self.settle()
        left = [f"{len(at)} of {records} records left out: {why} ({listed(at)})" for why, at in self.left.items()]
        if not cases:
            raise ConfigError([*left, f"{self.name}: expected at least one record that makes a case, got none"])
        return ImportResult(tuple(cases), records, (*left, *notes), frozenset(chain(*self.left.values())))

    def text(self, row: Row, key: str, record: int) -> str | None:
        """Return a text that a record must have; None, and a fault, for anything else."""
        if row.get(key) is None:
            self.add(record, key, f"expected a text, got {'null' if key in row else 'none'}; add it")
            return None
        return self.optional(row, key, record)

    def question(self, row: Row, key: str, record: int) -> str:
        """Return the text of a question; a stand-in, and a fault, where there is none."""
        text = self.text(row, key, record)
        return "-" if text is None else text

    def optional(self, row: Row, key: str, record: int) -> str | None:
        """Return a text, None where there is none; a fault for anything else."""
        value = row.get(key)
        if value is None or isinstance(value, str):
            return value
        self.add(record, key, f"expected a text, got {shown(value)}; write it in quotes or leave it out")
        return None

    def case(self, row: Mapping[str, object], record: int) -> Case | None:
        """Return the case of a row in calm's own format, read as any case is; None, and its faults, if it is wrong."""
        found = ILLUSTRATIONS.get()
        try:
            if found is None:
                return read(BytesIO(json.dumps(row).encode()), self.name)[0]
            return found.illustrated(read(BytesIO(json.dumps(row).encode()), self.name, folder=found.folder)[0])
        except ConfigError as error:
            for problem in error.problems:
                place, _, message = problem.removeprefix(f"{self.name}:1: ").partition(": ")
                self.add(record, place, message)
            return None


def written(value: object) -> str:
    """
    Return a value of a table as a word: "" for a list, an object, NaN, or nothing.

    >>> written(1.0), written(True), written(None)
    ('1', 'true', '')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and (value.is_integer() or math.isnan(value)):
        return "" if math.isnan(value) else str(int(value))
    return str(value) if isinstance(value, str | int | float) else ""


def shown(value: object) -> str:
    """
    Return a value in short, for a message.

    >>> shown(float("nan")), shown([1, 2]), shown("x" * 80)[-6:], shown(None)
    ('NaN', 'a list of 2', 'xxx...', 'null')
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float() if math.isnan(value):
            return "NaN"
        case list() | tuple():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
        case str():
            return repr(value) if len(value) <= 60 else f"{value[:60]!r}"[:-1] + "..."
        case _:
            return repr(value)[:60]


def names_of(columns: Sequence[str]) -> str:
    """
    Return the names of columns in short, for a message.

    >>> names_of(["a", "b" * 80])[:8], len(names_of(["c" * 80] * 1000))
    ('a, bbbbb', 1311)
    """
    return few_of([name if len(name) <= _LONG_NAME else f"{name[:_LONG_NAME]}..." for name in columns], MAX_SHOWN)


def _other_kind(path: Path) -> str:
    """Return that the ending of a file is that of no table that can be read, and what to do."""
    if sheet := spreadsheet(path):
        return sheet
    ending = f"ends in {path.suffix}" if path.suffix else "has no ending"
    return (
        f"{path}: its name {ending}, so calm does not know how it is written. It reads files that end in "
        f"{', '.join(ENDINGS)}: rename it, or save it as one of these"
    )


def load(path: Path, kind: Kind | None = None, what: str = "a table or other cases") -> Table:
    """
    Return the records of a file.

    Args:
        path: the file.
        kind: how it is written; None: as its name ends.
        what: what was expected, for a file that cannot be read.

    Raises:
        ConfigError: a file that cannot be read, is of another kind, or has no records; or all its faulty records.
    """
    kind = kind or ENDINGS.get(path.suffix.lower())
    if path.is_dir():
        raise ConfigError(unopened(path, IsADirectoryError(), what))
    if kind is None:
        if not path.exists():
            raise ConfigError(unopened(path, FileNotFoundError(), what))
        raise ConfigError(_other_kind(path))
    try:
        data = read_bytes(path)
    except OSError as error:
        raise ConfigError(unopened(path, error, what)) from error
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{path!r} cannot be the name of a file: {error}") from error
    if not data.strip():
        raise ConfigError(f"{path}: expected at least one record, got an empty file")
    table = _parquet(path, data) if kind == "parquet" else _written(path, data, kind)
    if not table.rows:
        raise ConfigError(f"{path}: expected at least one record, got none")
    if len(table.columns) > MOST_COLUMNS:
        raise ConfigError(_many_columns(path, len(table.columns)))
    return table


def _many_columns(path: Path, count: int) -> str:
    return f"{path}: expected at most {MOST_COLUMNS} columns, got {count}; leave out those that hold no text of a case"


def _written(path: Path, data: bytes, kind: Kind) -> Table:
    for magic, what in _PACKED.items():
        if data.startswith(magic):
            raise ConfigError(f"{path}: expected text, got {what}; unpack or export it as JSON Lines or CSV first")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start}: expected UTF-8, got byte 0x{data[error.start]:02x}; save the file as UTF-8"
        ) from error
    if "\0" in text[:4096]:
        raise ConfigError(f"{path}: expected UTF-8 text, got NUL bytes (UTF-16, or no text at all); save it as UTF-8")
    if kind == "json":
        return _json(path, text)
    return csv_table(path, text, "\t" if kind == "tsv" else None)


def _json(path: Path, text: str) -> Table:
    faults = Faults(str(path))
    body = text.lstrip()
    if body.startswith("["):
        items = _decoded(faults, 0, text)
        if not isinstance(items, list):
            faults.settle()
            raise ConfigError(f"{path}: expected a list of records, got {shown(items)}")
    else:
        try:
            refuse_values(text)
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from error
        lines = [line for line in text.split("\n") if line.strip()]
        _refuse_object(path, body, len(lines))
        items = [_decoded(faults, record, line) for record, line in enumerate(lines, 1)]
    faults.settle()
    for record, item in enumerate(items, 1):
        if not isinstance(item, dict):
            faults.add(record, "record", f"expected a JSON object, got {shown(item)}; write it as {{...}}")
    faults.settle()
    rows = tuple(item for item in items if isinstance(item, dict))
    return Table(str(path), tuple(dict.fromkeys(key for row in rows for key in row)), rows)


def _refuse_object(path: Path, body: str, lines: int) -> None:
    """Refuse a file that is one JSON object over several lines, or a record of calm, which is no table."""
    try:
        whole = json_of(body)
    except ValueError:
        return
    schema = str(whole.get("schema", "")) if isinstance(whole, dict) else ""
    if schema.startswith("calm-"):
        raise ConfigError(f"{path}: expected a table, got a record of another kind ({schema}); give a file of rows")
    if lines > 1:
        raise ConfigError(
            f"{path}: expected a list of records, or one JSON object a line, got {shown(whole)} over {lines:,} lines; "
            "give the list in it as a file of its own"
        )


def _decoded(faults: Faults, record: int, text: str) -> object:
    """Return the JSON of a record, or of the whole file (record 0); None, and a fault, where it is none."""
    try:
        return json_of(text)
    except json.JSONDecodeError as error:
        if record:
            message = f"expected JSON, got an error: {json_fault(error)}; complete the line or take it out: "
            message += "one object a line"
            faults.add(record, f"column {error.colno}", message)
        else:
            at = text.count("\n", 0, error.pos) + 1
            raise ConfigError(
                f"{faults.name}: line {at}, column {error.colno}: expected JSON, got an error: {json_fault(error)}; "
                "nothing in it is used"
            ) from error
    except ValueError as error:  # over a limit
        faults.add(record, "record", str(error))
    return None


def csv_table(path: Path, text: str, delimiter: str | None) -> Table:
    """
    Return the records of a table with a header; `delimiter` None: a semicolon where the header has no comma.

    Raises:
        ConfigError: too many cells or columns, two columns of one name, or all its faulty records.
    """
    faults = Faults(str(path))
    head = text.partition("\n")[0]
    delimiter = delimiter or (";" if ";" in head and "," not in head else ",")
    cells_at_most = text.count(delimiter) + text.count("\n") + 1
    if cells_at_most > MOST_VALUES:
        raise ConfigError(
            f"{path}: expected at most {MOST_VALUES:,} cells, got about {cells_at_most:,}; keep fewer rows or columns"
        )
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    record = 0
    rows: list[Row] = []
    try:
        columns = tuple(next(reader, []))
        if len(columns) > MOST_COLUMNS:
            raise ConfigError(_many_columns(path, len(columns)))
        twice = sorted(name for name, count in Counter(columns).items() if count > 1)
        if twice:
            raise ConfigError(f"{path}: expected columns with names that differ, got {shown(twice[0])} twice")
        for cells in reader:
            if not cells:
                continue
            record += 1
            if len(cells) != len(columns):
                message = f"expected {len(columns)} cells as in the first line, got {len(cells)}; mind the quotes"
                faults.add(record, f"line {reader.line_num}", message)
            else:
                rows.append(dict(zip(columns, cells, strict=True)))
    except csv.Error as error:
        message = f"expected CSV, got an error: {error}; fix it, or save the file as JSON Lines"
        faults.add(record + 1, f"line {reader.line_num}", message)
    faults.settle()
    return Table(str(path), columns, tuple(rows))


def _parquet(path: Path, data: bytes) -> Table:
    """Return the records of a Parquet file, which is unfolded in a process that can be stopped."""
    if importlib.util.find_spec("pyarrow") is None:
        from calm.core.releases import install

        raise ConfigError(
            f"{path}: expected pyarrow to read Parquet, got none; {install('parquet')}, or save the file as JSON Lines"
        )
    found = unfolded(f"{__package__}.parquet:unfolded", path, "a Parquet file", data)
    columns, rows = cast("tuple[tuple[str, ...], list[Row]]", found)
    return Table(str(path), columns, tuple(rows))
