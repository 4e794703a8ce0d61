"""
What a file is, by its whole content: JSON is parsed, a page is read from its first byte.

A mark that merely occurs somewhere proves nothing: a test may hold the schema of results as a text, and a SARIF log may
hold the runs of several tools.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, Final

from calm.core.files import MOST_BYTES, json_of

Shape = Callable[[IO[bytes]], bool]
"""Says whether an open file, at its first byte, is what a form writes."""

SIGHT: Final = 1 << 20
"""Bytes at the beginning and at the end of a file that are looked at where it is not parsed."""
_KINDS: Final = {"calm-results": "the results of a run", "calm-baseline": "a baseline"}
"""What a record is, by the name of its schema."""
_SUMMARY: Final = re.compile(rb"# calm: (?:(GREEN|RED|NOT GREEN)\n\n\*\*\1: |[A-Z_]+\n\n\*\*The gate is )")
_JUNIT: Final = re.compile(rb"(?:<\?xml[^>]*\?>\s*)?<testsuites name=\"calm\"")
_TABLES: Final = (b"calm-trials/1", b"calm-findings/1", b"calm-cases/1", b"calm-flips/1")
_BEFORE_KEY: Final = b'{"custom_id": "'
_REQUEST: Final = re.compile(_BEFORE_KEY + rb'[0-9a-f]{64}"')
_SUITE: Final = re.compile(rb"<testsuite\s[^>]*")


def marked(*marks: str) -> Shape:
    """Return the shape of a file that holds some marks near its beginning or end."""

    def shape(file: IO[bytes]) -> bool:
        seen = b"".join(_ends(file))
        return all(mark.encode() in seen for mark in marks)

    return shape


def record_kind(body: object, wanted: str) -> str:
    """
    Return what a JSON value is that is not of the schema `wanted`, in words, and what to do.

    >>> record_kind({"schema": "calm-results/9"}, "calm-results/2")
    'one of another release of calm (schema calm-results/9): read it with that release, or make a new one'
    >>> record_kind({"schema": "calm-hunt/1"}, "calm-results/2"), record_kind([], "calm-results/2")
    ('a record of another kind (calm-hunt/1)', 'JSON that calm did not write: it names no schema')
    """
    schema = body.get("schema") if isinstance(body, dict) else None
    if not isinstance(schema, str) or not schema.startswith("calm-"):
        return "JSON that calm did not write: it names no schema"
    if schema.partition("/")[0] == wanted.partition("/")[0]:
        return f"one of another release of calm (schema {schema}): read it with that release, or make a new one"
    return f"{_KINDS.get(schema.partition('/')[0], 'a record of another kind')} ({schema})"


def begins(*texts: str) -> Shape:
    """Return the shape of a file that begins with one of some texts."""
    wanted = tuple(text.encode() for text in texts)
    return lambda file: file.read(max(map(len, wanted))).startswith(wanted)


def requests(file: IO[bytes]) -> bool:
    """Return whether a file begins with a request that is named by a key of the cache."""
    return _REQUEST.match(file.read(len(_BEFORE_KEY) + 66)) is not None


def schema(prefix: str) -> Shape:
    """Return the shape of a JSON object whose `schema` begins so."""

    def shape(file: IO[bytes]) -> bool:
        body = _object(_whole(file))
        return str(body.get("schema", "")).startswith(prefix)

    return shape


def sarif(file: IO[bytes]) -> bool:
    """Return whether a file is a SARIF log, all of whose runs are those of calm."""
    runs = _object(_whole(file)).get("runs")
    return isinstance(runs, list) and bool(runs) and all(_at(run, "tool", "driver", "name") == "calm" for run in runs)


def page(file: IO[bytes]) -> bool:
    """Return whether a file is a whole page whose head names calm as its generator."""
    first, last = _ends(file)
    head, mark, _ = first.partition(b'<meta name="generator" content="calm')
    head = head.lstrip().lower()
    outside = any(end in head for end in (b"</head", b"<body", b"<!--"))
    return bool(mark) and head.startswith(b"<!doctype html") and not outside and _ends_in(first + last, b"</html>")


def summary(file: IO[bytes]) -> bool:
    """Return whether a file begins as a summary does: with the outcome, and with what became of the gate."""
    return _SUMMARY.match(file.read(SIGHT)) is not None


def junit(file: IO[bytes]) -> bool:
    """Return whether a file is whole JUnit XML, all of whose suites are those of calm."""
    data = _whole(file)
    suites = _SUITE.findall(data)  # in our XML a `<` in a text is escaped
    ours = all(b' name="calm"' in suite for suite in suites)
    return _JUNIT.match(data) is not None and ours and _ends_in(data, b"</testsuites>")


def parquet(file: IO[bytes]) -> bool:
    """Return whether a file is whole Parquet whose metadata say that it is a table of results."""
    first, last = _ends(file)
    both = first + last
    return first.startswith(b"PAR1") and both.endswith(b"PAR1") and any(mark in both for mark in _TABLES)


def arrays(prefix: str) -> Shape:
    """Return the shape of a safetensors file whose header says that calm wrote it, in a format that begins so."""

    def shape(file: IO[bytes]) -> bool:
        size = int.from_bytes(file.read(8), "little")
        said = _at(_object(file.read(min(size, MOST_BYTES))), "__metadata__", "calm")
        return isinstance(said, str) and str(_object(said.encode()).get("format", "")).startswith(prefix)

    return shape


def cases(*places: str, text: str = "") -> Shape:
    """Return the shape of a file of cases, one of which has something at a place: a text that begins so, or a table."""

    def has(row: Mapping[str, Any]) -> bool:
        found = _at(row, *places)
        return found.startswith(text) if isinstance(found, str) else isinstance(found, dict)

    def shape(file: IO[bytes]) -> bool:
        rows = list(_rows(file))
        return all("id" in row and "answers" in row for row in rows) and any(map(has, rows))

    return shape


def rows_of(*names: str) -> Shape:
    """Return the shape of lines that are all JSON objects with some names."""

    def shape(file: IO[bytes]) -> bool:
        rows = list(_rows(file))
        return bool(rows) and all(name in row for row in rows for name in names)

    return shape


def _ends(file: IO[bytes]) -> tuple[bytes, bytes]:
    """Return the beginning and the end of a file, which do not overlap."""
    size = os.fstat(file.fileno()).st_size
    first = file.read(SIGHT)
    if size <= SIGHT:
        return first, b""
    file.seek(-min(SIGHT, size - SIGHT), os.SEEK_END)
    return first, file.read(SIGHT)


def _ends_in(data: bytes, end: bytes) -> bool:
    return data[-SIGHT:].rstrip().endswith(end)


def _whole(file: IO[bytes]) -> bytes:
    """Return all of a file; nothing of one that is larger than what calm reads."""
    data = file.read(MOST_BYTES + 1)
    return data if len(data) <= MOST_BYTES else b""


def _object(data: bytes) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    if not data.lstrip().startswith(b"{"):
        return {}
    try:
        found = json_of(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _rows(file: IO[bytes]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in the lines of a file, an empty one for a line that holds none."""
    lines: Iterable[bytes] = _whole(file).split(b"\n")
    return (_object(line) for line in lines if line.strip())


def _at(value: object, *places: str) -> object:
    """Return what lies in tables within tables; None if nothing does."""
    for place in places:
        value = value.get(place) if isinstance(value, dict) else None
    return value
