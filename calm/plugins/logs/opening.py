"""Open the files of a log, and tell by what they hold which tool wrote them."""

from __future__ import annotations

import csv
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

from calm.cases.foreign.records import csv_table
from calm.cases.logs.judgments import Log
from calm.cases.rows import dig, objects
from calm.core.files import MOST_BYTES, json_fault, json_of, read_bytes, refuse_values, unfolded, unopened
from calm.errors import ConfigError
from calm.plugins.logs import (
    deepeval,
    inspect_logs,
    langfuse,
    mlflow,
    promptfoo,
    spans,
)

Kind: TypeAlias = Literal["promptfoo", "deepeval", "inspect", "mlflow", "langfuse", "otel"]
"""The tools whose logs are read."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
READERS: Final[Mapping[Kind, Callable[[Sequence[object], Log], None]]] = {
    "promptfoo": promptfoo.read,
    "deepeval": deepeval.read,
    "inspect": inspect_logs.read,
    "mlflow": mlflow.read,
    "langfuse": langfuse.read,
    "otel": spans.read,
}
_SPREAD: Final[tuple[Kind, ...]] = ("mlflow", "langfuse", "otel")
"""The tools of whose records one in a file may be about one in another. Other files are each a run of its own."""
_PARTS: Final = (b"header.json", b"_journal/start.json")
"""A log of Inspect has one of these: an archive begins with the name of its first part, and ends with all names."""
_SIGHT: Final = 1 << 16
"""So many bytes are looked at."""
_ZIP: Final = b"PK\x03\x04"
_GZIP: Final = b"\x1f\x8b"
_SQLITE: Final = b"SQLite format 3\0"
_SPANS: Final = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_CSV_OF_PROMPTFOO: Final = ("Status", "Score", "Grader Reason")
_CSV: Final = (*_CSV_OF_PROMPTFOO, "dataType", "data_type")
"""Columns of which a table of a known tool has one."""
_OTHER: Final[Mapping[str, str]] = {
    "run_type": "runs of LangSmith",
    "custom_id": "a batch of an API",
    "spec": "a log of oaieval",
}
"""What is known, and not read, by a key of its first record."""


def is_log(path: Path) -> bool:
    """Return whether a file is a log of a tool that is read here; False also for one that cannot be opened."""
    if not path.is_file():  # a device may have no end
        return False
    with suppress(OSError), path.open("rb") as file:
        if file.read(len(_ZIP)) == _ZIP:
            names = file.read(_SIGHT)
            file.seek(max(0, file.seek(0, os.SEEK_END) - _SIGHT))
            names += file.read(_SIGHT)
            return any(name in names for name in _PARTS)
    try:
        _, kind = _opened(path, None, load=False)
    except ConfigError:
        return False
    return kind is not None


def read_logs(paths: Sequence[Path], kind: Kind | None = None) -> Log:
    """
    Return the judgments of some files of one tool.

    Args:
        paths: the files; of a tool that writes scores and traces apart, they are read as one.
        kind: the tool; None: as what they hold says.

    Raises:
        ConfigError: a file that cannot be read, or is none of a known tool, or files of several.
    """
    files: list[list[object]] = []
    found: dict[Kind, Path] = {}
    for path in paths:
        held, its = _opened(path, kind)
        if its is None:
            raise ConfigError(
                f"{path}: expected results of {', '.join(KINDS)}, got a file that none of them writes{_near(held)}; "
                "say which with --from KIND, or import it as a table with --map FIELD=COLUMN"
            )
        found.setdefault(its, path)
        files.append(held)
    if len(found) > 1:
        first, second, *_ = found
        raise ConfigError(f"expected files of one tool, got {first} ({found[first]}) and {second} ({found[second]})")
    tool = next(iter(found))
    log = Log(tool, tuple(map(str, paths)))
    together = [document for held in files for document in held]
    for documents in (together,) if tool in _SPREAD else files:
        READERS[tool](documents, log)
    return log


def documents_of(path: Path) -> list[object]:
    """
    Return the documents of a file: the objects of a list, or one a line, or the only one.

    Raises:
        ConfigError: a file that cannot be read.
    """
    return _opened(path, None, load=False)[0]


def _opened(path: Path, kind: Kind | None, *, load: bool = True) -> tuple[list[object], Kind | None]:
    """Return the documents of a file and the tool that wrote it; without `load` no reader of another package is run."""
    try:
        data = read_bytes(path)
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        why = unopened(path, error, "results of another tool") if isinstance(error, OSError) else f"{path}: {error}"
        raise ConfigError(why) from error
    if data.startswith(_ZIP) or kind == "inspect":
        return [inspect_logs.load(path, "eval" if data.startswith(_ZIP) else "json")], "inspect"
    if data.startswith(_SQLITE):
        return _database(path), "deepeval"
    if data.startswith(_GZIP):
        data = _unpacked(path, data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = data[error.start]
        raise ConfigError(
            f"{path}: byte {error.start}: expected UTF-8, got byte 0x{at:02x}; save it as JSON in UTF-8"
        ) from error
    if not text.strip():
        raise ConfigError(f"{path}: expected results, got an empty file")
    documents = _documents(path, text)
    its = kind or sniffed(documents)
    if its == "inspect" and load:
        return [inspect_logs.load(path, "json")], its
    return documents, its


def _unpacked(path: Path, data: bytes) -> bytes:
    try:
        with gzip.open(path) as file:
            found = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"{path}: expected a gzip file, got an error: {error}; pack it again") from error
    if len(found) > MOST_BYTES:
        raise ConfigError(f"{path}: expected at most {MOST_BYTES:,} bytes once unpacked, got more; split it")
    return found


def _documents(path: Path, text: str) -> list[object]:
    """Return the documents of a text: one of JSON, the objects of a list, or one a line; or the rows of a table."""
    if text.lstrip()[:1] not in ("{", "["):
        return _rows(path, text)
    found: object
    try:
        refuse_values(text)
        found = json_of(text)
    except json.JSONDecodeError as whole:
        found = _lines(path, text, whole)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    return found if isinstance(found, list) else [found]


def _lines(path: Path, text: str, whole: json.JSONDecodeError) -> list[object]:
    """Return the values of JSON Lines; `whole` is what is wrong with the text as one value."""
    found: list[object] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append(json_of(line))
            except ValueError as error:
                cause, at = (error, number) if found else (whole, whole.lineno)
                said = json_fault(cause) if isinstance(cause, json.JSONDecodeError) else cause
                raise ConfigError(f"{path}: line {at}: expected JSON, got an error: {said}") from error
    return found


def _rows(path: Path, text: str) -> list[object]:
    """Return the rows of a table of comma-separated values."""
    names = next(csv.reader([text.partition("\n")[0]]), [])
    if not any(name in names for name in _CSV):
        return []
    if all(name in names for name in _CSV_OF_PROMPTFOO):
        raise ConfigError(
            f"{path}: expected results of promptfoo as JSON, got its CSV, which holds no verdict of a single "
            "judge; write them again: promptfoo export eval latest -o results.json"
        )
    return list(csv_table(path, text, ",").rows)


def _database(path: Path) -> list[object]:
    """Return the newest test run in a database of deepeval; none of one that holds none."""
    what = "a database of deepeval"
    found = cast("bytes", unfolded(f"{deepeval.__name__}:newest_run", path, what, str(path)))
    try:
        return [json_of(found)] if found else []
    except ValueError as error:
        raise ConfigError(f"{path}: test_runs.payload_json: expected JSON, got an error: {error}") from error


def sniffed(documents: Sequence[object]) -> Kind | None:
    """Return the tool that wrote some documents, by the keys of the first; None if none is known."""
    first = documents[0] if documents else None
    row = next(iter(objects(first, "data")), None) or first
    if not isinstance(first, Mapping) or not isinstance(row, Mapping):
        return None
    keys, inner = first.keys(), row.keys()
    tests: Iterable[tuple[Kind, bool]] = (
        ("promptfoo", bool(objects(first, "results", "results")) or _has(keys, "testCase", "promptIdx")),
        ("promptfoo", _has(keys, "gradingResult", "vars")),
        ("deepeval", bool({"testCases", "conversationalTestCases", "testRunData", "test_results"} & keys)),
        ("deepeval", "test_cases_lookup_map" in keys),
        ("inspect", _has(keys, "eval", "version") and bool({"plan", "samples", "results"} & keys)),
        ("mlflow", isinstance(dig(first, "info"), Mapping) and dig(first, "data", "spans") is not None),
        ("mlflow", isinstance(dig(first, "columns"), list) and isinstance(dig(first, "data"), list)),
        ("mlflow", _has(keys, "trace") and bool({"assessments", "trace_id", "request_id"} & keys)),
        ("otel", any(key in keys for key in _SPANS)),
        ("otel", _has(inner, "context", "attributes") or _has(inner, "annotator_kind", "result")),
        ("langfuse", _has(keys, "observations", "scores")),
        ("langfuse", bool({"dataType", "data_type"} & inner) and "name" in inner),
        ("langfuse", bool({"traceId", "trace_id"} & inner) and inner_type(row) in langfuse.TYPES),
        ("langfuse", _has(inner, "id", "timestamp", "input", "output")),
    )
    return next((kind for kind, holds in tests if holds), None)


def inner_type(row: Mapping[str, object]) -> str:
    """Return the type that a record says it is of."""
    return str(row.get("type", ""))


def _has(keys: Iterable[str], *names: str) -> bool:
    return set(names) <= set(keys)


def _near(documents: Sequence[object]) -> str:
    """Return what a file looks like, if it is known and not read."""
    first = documents[0] if documents else None
    for key, what in _OTHER.items():
        if isinstance(first, Mapping) and key in first:
            return f" ({what}, by its key {key!r})"
    return ""
