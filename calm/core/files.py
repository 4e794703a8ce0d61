"""Files: those that somebody else wrote, read within limits; TOML that calm writes; words of a command for a shell."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Final, NoReturn, TypeAlias

from calm.core.helper import Helper, Stop, Stopped
from calm.errors import ConfigError, closest

_READ: dict[Path, int] = {}
"""Each file with the number of its last reading."""


def noted(path: Path) -> Path:
    """Note that a file is an input, and return its path: code that reads a file of the user calls this."""
    _READ[path.absolute()] = count() + 1
    return path


def inputs(since: int = 0) -> tuple[Path, ...]:
    """Return the files that were read; `since` leaves out those that were not read since `count` gave it."""
    return tuple(path for path, number in _READ.items() if number > since)


def count() -> int:
    """Return a number that grows with each reading."""
    return max(_READ.values(), default=0)


def forget() -> None:
    """Know of no file any more: a command begins."""
    _READ.clear()


MOST_BYTES: Final = 500_000_000
"""Bytes that a file of data may have: cases, tables, results, records."""
MOST_SETTINGS: Final = 2_000_000
"""Bytes that a file which somebody wrote by hand may have: judge.toml, gate.toml, a template, a schema."""
MOST_VALUES: Final = 20_000_000
"""Values that a file of data may hold: each takes some 100 bytes of memory, however short it is written."""
MOST_COLUMNS: Final = 1_000
"""Columns that a table may have."""
MOST_DIGITS: Final = 300
"""Digits that a whole number may have, and any number in a TOML file: each of them is finite as a float."""
MOST_NESTED: Final = 100
"""How deep brackets may be nested in TOML and JSON, and how many parts a key with points may have in TOML."""

_OTHERS: Final = {
    ".csv": "a table (CSV)",
    ".tsv": "a table (TSV)",
    ".jsonl": "JSON Lines, such as a file of cases",
    ".html": "a page (HTML)",
    ".md": "a text (Markdown)",
    ".toml": "a TOML file",
    ".txt": "a text",
    ".xml": "an XML file",
}
"""What a file is that is no JSON, by the ending of its name."""
_NESTED: Final = f"expected brackets nested at most {MOST_NESTED} deep, got deeper ones; flatten them"
_CHUNK: Final = 1 << 22
_SHEETS: Final = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_UNCLOSED: Final = re.compile(r"""^[^=#"']*=\s*(?:"(?!"")[^"]*|'(?!'')[^']*)$""")
"""A line of TOML whose text has no end."""
_CURLY: Final = re.compile("[“”„‘’«»]")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
"""How a file in UTF-16 begins."""
_PIECE: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""'
    r"|'''.*?'''"
    r'|"(?:\\.|[^"\\\n])*+"'
    r"|'[^'\n]*+'"
    r"|\#[^\n]*+"
    r"|[A-Za-z0-9_+-]++"
    r"|[ \t]++"
    r"|.",
    re.DOTALL,
)
"""The pieces of a TOML file: texts and comments whole, so that what stands in them is not counted."""
_NUMBER: Final = re.compile(r"[+-]?(?:0[xob])?[0-9A-Fa-f_]+")


def megabytes(count: int) -> str:
    """
    Return a number of bytes in words.

    >>> megabytes(500_000_000), megabytes(1_234_567), megabytes(12)
    ('500 MB', '1.2 MB', '12 bytes')
    """
    return f"{count / 10**6:,.1f}".removesuffix(".0") + " MB" if count >= 10**5 else f"{count} bytes"


def refuse_large(file: IO[bytes], name: object, most: int = MOST_BYTES) -> None:
    """
    Return if an open file has at most so many bytes, or does not know how many (a pipe).

    Raises:
        ConfigError: it has more.
    """
    size = os.fstat(file.fileno()).st_size
    if size > most:
        _refuse_bytes(name, most, megabytes(size))


def refuse_twice(paths: Iterable[Path]) -> None:
    """
    Return if no two paths lead to one file, however they are written.

    Raises:
        ConfigError: two do.
    """
    seen: dict[str, Path] = {}
    for path in paths:
        other = seen.setdefault(os.path.realpath(path), path)
        if other is not path:
            raise ConfigError(f"{path}: expected files that differ, got {other} again; leave one of the two out")


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """
    Return what a file holds.

    Raises:
        OSError: it cannot be read.
        ConfigError: it has more bytes than `most`, also if it never ends.
    """
    parts: list[bytes] = []
    size = 0
    with noted(path).open("rb") as file:
        refuse_large(file, path, most)
        while part := file.read(_CHUNK):
            size += len(part)
            if size > most:
                _refuse_bytes(path, most, "more")
            parts.append(part)
    return b"".join(parts)


def read_text(path: Path, what: str) -> str:
    """
    Return the text of a small file that a person wrote; `what` says what was expected, such as "a prompt".

    Raises:
        ConfigError: it cannot be read, is not UTF-8, or is over the limit of settings.
    """
    return _decoded(path, what, MOST_SETTINGS, "utf-8-sig")


def _decoded(path: Path, what: str, most: int, encoding: str) -> str:
    """Return the text of a file, or refuse one that cannot be read or is not UTF-8."""
    try:
        return read_bytes(path, most).decode(encoding)
    except OSError as error:
        raise ConfigError(unopened(path, error, what)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(undecoded(path, error)) from error


def record_at(path: Path) -> Path:
    """Return the results in the folder that an audit wrote, where one is named; any other path as it is."""
    held = path / "results.json"
    return held if path.is_dir() and held.is_file() else path


def unopened(path: Path, error: OSError, what: str) -> str:
    """
    Return why a file cannot be read, and what to do; `what` says what was expected, such as "a prompt".

    >>> unopened(Path("no/judge.toml"), FileNotFoundError(2, "No such file or directory"), "a judge.toml")
    'no/judge.toml: there is no folder no (expected a judge.toml); check the path'
    """
    if isinstance(error, FileNotFoundError):
        there = "such file" if path.parent.is_dir() else f"folder {path.parent}"
        return f"{path}: there is no {there} (expected {what}); {meant(path) or 'check the path'}"
    if isinstance(error, IsADirectoryError):
        return f"{path}: it is a folder (expected {what}); name a file in it"
    return f"{path}: it cannot be read: {error.strerror or error} (expected {what}); check who may read it"


def meant(path: Path) -> str:
    """Return `did you mean X?` for a path that is not there, of which one part is likely misspelt; else ""."""
    wrong = next((one for one in (path, *path.parents) if one.parent.is_dir()), None)
    if wrong is None or not os.access(wrong.parent, os.R_OK):
        return ""
    near = sorted(one.name for one in wrong.parent.iterdir())
    stem = closest(wrong.stem, {Path(one).stem for one in near})  # all names that end in .jsonl are alike
    close = closest(wrong.name, [one for one in near if Path(one).stem == stem], 0 if stem == wrong.stem else 0.6)
    found = wrong.parent / close / path.relative_to(wrong)
    return f"did you mean {found}?" if close and found.exists() else ""


def spreadsheet(path: Path) -> str:
    """
    Return what to do about a file that its name calls a spreadsheet; "" for any other.

    >>> spreadsheet(Path("a.csv")), spreadsheet(Path("my/tickets.xlsx"))[:49]
    ('', 'my/tickets.xlsx: it is a spreadsheet, which calm ')
    """
    if path.suffix.lower() not in _SHEETS:
        return ""
    table = path.with_suffix(".csv")
    return f"{path}: it is a spreadsheet, which calm does not read; save the sheet as CSV (UTF-8), and give {table}"


def undecoded(path: Path, error: UnicodeDecodeError) -> str:
    """Return that a file is not UTF-8, what it seems to be, and what to do."""
    data, at = error.object, error.start
    if data.startswith(_UTF16) or b"\0" in data[:64]:
        return f"{path}: it is not in UTF-8; it looks like UTF-16, as some Windows programs write it. Save it as UTF-8"
    if data.startswith(b"PK"):
        return f"{path}: it is no text, but a zip file, as Word and Excel write them. Save it as plain text in UTF-8"
    line = data.count(b"\n", 0, at) + 1
    return f"{path}: it is not in UTF-8 (line {line} holds the byte {data[at]:#04x}). Save it as UTF-8 in your editor"


def read_toml(path: Path, what: str) -> dict[str, object]:
    """
    Return what a TOML file holds; `what` says what was expected, such as "a judge.toml".

    Raises:
        ConfigError: it cannot be read, is no TOML, or is over a limit.
    """
    text = read_text(path, what)
    _refuse_toml(path, text)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(_not_toml(path, text, error)) from error


def _not_toml(path: Path, text: str, error: Exception) -> str:
    """Return where a text is no TOML, what is likely wrong there, and what to do; values stay unsaid, as of keys."""
    at = re.search(r"at line (\d+)", str(error))
    lines = text.splitlines()
    number = int(at[1]) if at else next((n for n, one in enumerate(lines, 1) if _UNCLOSED.search(one)), 0)
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    key, equals, value = (part.strip() for part in line.partition("="))
    twice = re.search("overwrite|twice", str(error))
    if line.startswith("[") and twice:
        fix = f"the table {line} is there twice: put all its keys under one, and take the other out"
    elif twice:
        fix = f"the key {key} is there twice: keep one of the lines"
    elif equals and _CURLY.search(value):
        fix = f'it has curly quotes: write straight ones, as in {key} = "..."'
    elif equals and re.match(r"[^\W\d]|[./]", value):
        fix = f'a text needs quotes, as in {key} = "..."'
    elif equals and value[:1] in ('"', "'") and value.count(value[0]) % 2:
        fix = f"a quote is not closed, as in {key} = {value[0]}...{value[0]}"
    elif equals and not value:
        fix = f"the key {key} has no value: give it one, or take the line out"
    else:
        fix = f"it must be KEY = VALUE or [TABLE]: {error}"
    return f"{path}: line {number}: {fix}" if number else f"{path}: it cannot be read as TOML: {error}"


def read_json(path: Path, what: str, *, parse_constant: Callable[[str], object] | None = None) -> object:
    """
    Return what a JSON file holds; `what` says what was expected, such as "a results file".

    Raises:
        ConfigError: it cannot be read, is no JSON, or is over a limit.
    """
    text = _decoded(path, what, MOST_BYTES, "utf-8")
    try:
        return json_of(text, parse_constant=parse_constant)
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path}: expected {what}, got {_no_json(path, error)}") from error


def _no_json(path: Path, error: ValueError) -> str:
    """Return what a file is that cannot be read as JSON, and what to do where that is not plain."""
    if not isinstance(error, json.JSONDecodeError):
        return f"a file that goes beyond a limit: {error}"
    if not error.doc.strip():
        return "an empty file"
    if (other := _OTHERS.get(path.suffix.lower())) is not None:
        return other
    if error.msg.startswith("Unterminated") or error.pos >= len(error.doc.rstrip()):
        return f"JSON that breaks off in line {error.doc.count(chr(10)) + 1}: write it again, or copy the whole file"
    return f"a file that is no JSON: {error}"


def json_fault(error: json.JSONDecodeError) -> str:
    """Return what is wrong with a JSON text, such as a text in it that is cut before its last quote."""
    if error.msg.startswith("Unterminated") or error.doc[error.pos : error.pos + 1] in ("\r", "\n"):
        return "a text that is not closed, as its last quote is missing"
    return error.msg.removesuffix(" at")


def refuse_values(text: str | bytes, most: int = MOST_VALUES) -> None:
    """
    Return if a JSON text cannot hold more values than `most`: each of them follows a bracket or a comma.

    Raises:
        ValueError: it may hold more.
    """
    if len(text) > most and (found := _count(text, ",[{")) > most:
        raise ValueError(f"expected at most {most:,} values, got about {found:,}; split it, or leave some out")


def json_of(
    text: str | bytes,
    *,
    most: int = MOST_VALUES,
    parse_constant: Callable[[str], object] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, object]]], object] | None = None,
) -> object:
    """
    Return the value of a JSON text.

    Raises:
        ValueError: it is no JSON, holds more values than `most`, a whole number of too many digits, or is nested too
            deeply; the message names the fix.
    """
    refuse_values(text, most)
    try:
        found = json.loads(text, parse_int=_whole, parse_constant=parse_constant, object_pairs_hook=object_pairs_hook)
    except RecursionError as error:
        raise ValueError(_NESTED) from error
    if _count(text, "[{") > MOST_NESTED:
        _refuse_nested(found)
    return found


def _count(text: str | bytes, signs: str) -> int:
    return sum(text.count(sign) if isinstance(text, str) else text.count(sign.encode()) for sign in signs)


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"expected numbers of at most {MOST_DIGITS} digits, got one of {len(digits)}; shorten it")
    return int(digits)


def _refuse_nested(value: object) -> None:
    """Refuse what is nested deeper than `MOST_NESTED`: code that goes through it calls itself for each level."""
    level = [value]
    for _ in range(MOST_NESTED + 1):
        within = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        if not within:
            return
        level = [part for parts in within for part in parts]
    raise ValueError(_NESTED)


def _refuse_bytes(name: object, most: int, found: str) -> NoReturn:
    raise ConfigError(f"{name}: expected at most {megabytes(most)}, got {found}; split it, or leave some of it out")


def _refuse_toml(path: Path, text: str) -> None:
    """Refuse what the reader of TOML would take for ever to read, or what cannot be computed with."""
    nested = points = 0
    for found in _PIECE.finditer(text):
        piece = found[0]
        if piece in "[{":
            nested, points = nested + 1, 0
        elif piece in "]}":
            nested, points = max(0, nested - 1), 0
        elif piece in ",=\n":
            points = 0
        elif piece == ".":
            points += 1
        fault = ""
        if nested > MOST_NESTED:
            fault = _NESTED
        elif points >= MOST_NESTED:
            fault = f"expected keys of at most {MOST_NESTED} parts, got a longer one; shorten it"
        elif len(piece) > MOST_DIGITS and _NUMBER.fullmatch(piece):
            fault = f"expected numbers of at most {MOST_DIGITS} digits, got one of {len(piece)}; shorten it"
        if fault:
            raise ConfigError(f"{path}: line {text.count(chr(10), 0, found.start()) + 1}: {fault}")


SECONDS: Final = 120
"""Of processor time, for one file."""
MEMORY: Final = 4 * MOST_BYTES
"""Bytes that the process may take, beyond what it needs to start."""

_STOPS: Final[Mapping[Stop, str]] = {
    "time": f"one that takes more than {SECONDS} s of processor time",
    "memory": f"one that needs more than {megabytes(MEMORY)} of memory",
    "size": "a larger one",
    "crash": "one that crashed its reader",
}


def unfolded(work: str, path: Path, what: str, question: object) -> object:
    """
    Return what a function makes of a file, in a process that can be stopped.

    Args:
        work: the function, as "module:name". What it returns goes through pickle: a text says what is wrong with the
            file, anything else is the answer.
        path: the file, for messages.
        what: what it is expected to be, such as "a Parquet file".
        question: what the function takes.

    Raises:
        ConfigError: something is wrong with the file, or a limit of time, memory or size was reached.
    """
    helper = Helper(work, seconds=SECONDS, memory=MEMORY, most=2 * MOST_BYTES)
    try:
        found = helper.ask(question)
    except Stopped as stopped:
        most = f"expected {what} of at most {megabytes(MOST_BYTES)} once unfolded"
        found = f"{most}, got {_STOPS[stopped.why]}; keep fewer records"
    finally:
        helper.close()
    if isinstance(found, str):
        raise ConfigError(f"{path}: {found}; nothing in it is used")
    return found


Value: TypeAlias = str | bool | int | float | list[str] | Mapping[str, "Value"]
"""What stands behind a key."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def quoted(text: str) -> str:
    r"""
    Return a text as a string of TOML.

    >>> print(quoted('a "b" \\ c'))
    "a \"b\" \\ c"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml(tables: Mapping[str, Mapping[str, Value]], head: str = "") -> str:
    """
    Return tables as TOML; `head` is a comment above them. Whole numbers are written without a point.

    >>> print(toml({"judge": {"name": "j"}, "verdict": {"values": {"PASS": 1.0}}}, "mine"), end="")
    # mine
    [judge]
    name = "j"
    <BLANKLINE>
    [verdict]
    values = { PASS = 1 }
    """
    lines = [f"# {line}" for line in head.splitlines()]
    parts = [
        "\n".join([f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())])
        for name, table in tables.items()
    ]
    return "\n".join([*lines, "\n\n".join(parts)]) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else quoted(name)


def _value(value: Value) -> str:
    if isinstance(value, str):
        literal = "\\" in value and value.isprintable() and "'''" not in value and not value.endswith("'")
        mark = "'''" if "'" in value else "'"
        return f"{mark}{value}{mark}" if literal else quoted(value)  # a pattern is written as it is
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(one)}' for key, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(quoted, value))}]"
    return f"{value:g}" if value == int(value) and abs(value) < 1e6 else repr(value)


_PLAIN: Final = re.compile(r"[\w@+=:,./\\-]+")


def quote(word: str) -> str:
    """Return a word in quotes, if it needs any; cmd.exe knows double ones alone, and PowerShell takes them, too."""
    if os.name != "nt":
        return shlex.quote(word)
    return word if _PLAIN.fullmatch(word) else '"{}"'.format(word.replace('"', '\\"'))


def join(words: Iterable[str]) -> str:
    """Return a command of some words."""
    return " ".join(map(quote, words))
