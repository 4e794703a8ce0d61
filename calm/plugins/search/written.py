"""
A test file for what a hunt found: a test for each finding, and the texts in a file of data beside it.

Whatever a finding holds, the test file is plain Python: it names a finding by an id of its own, and what it quotes
stands in docstrings, with signs that show nothing escaped. A later hunt adds its findings to both files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from calm.cases.lines import from_row, to_row
from calm.core.case import digest
from calm.core.files import json_of, refuse_large
from calm.errors import ConfigError
from calm.models.wire import Judge
from calm.plugins.search.findings import Finding, added, place_of
from calm.results.outputs import FOUND_BEGINS, FOUND_TESTS, FOUND_TEXTS, Output, write_whole
from calm.results.wording import clipped, printable

SCHEMA: Final = "calm-found/1"
WIDTH: Final = 84
"""Characters of a line of a docstring; with its indent, those that formatters leave alone by default."""
LONGEST: Final = 40
"""Characters of a name that stand in a file name, a function name or a docstring."""
_HEAD: Final = '''{begins}: another hunt adds to it, and writes it anew.
"""
{about}
"""

from pathlib import Path

from calm.testing import found

FOUND = Path(__file__).with_suffix(".jsonl")
'''
_TEST: Final = '''

def test_{name}(verdict_of):
    """
{about}
    """
    kept = verdict_of.keeps(*found(FOUND, "{finding}"))
    assert kept, kept.why
'''


@dataclass(frozen=True, slots=True)
class Files:
    """The test file of a judge, and the file of its texts."""

    tests: Path
    texts: Path

    @property
    def outputs(self) -> tuple[Output, Output]:
        """Both, as what a command is going to write."""
        return Output("--write", self.tests, FOUND_TESTS), Output("--write", self.texts, FOUND_TEXTS)


def files_in(folder: Path, judge: str) -> Files:
    """Return where the tests of a judge go, by its name."""
    tests = folder / f"test_found_{_plain(judge) or 'judge'}.py"
    return Files(tests, tests.with_suffix(".jsonl"))


def kept_rows(texts: Path) -> dict[str, Mapping[str, Any]]:
    """
    Return what earlier hunts left, by the id of the finding; nothing if there is no file.

    Raises:
        ConfigError: the file cannot be read, or a row is damaged.
    """
    found: dict[str, Mapping[str, Any]] = {}
    try:
        with texts.open("rb") as file:
            refuse_large(file, str(texts))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(
            f"{texts}: expected texts of earlier hunts, got an error: {error.strerror or error}"
        ) from None
    for number, one in enumerate(lines, 1):
        try:
            row = json_of(one.decode()) if one.strip() else None
        except ValueError:
            row = {}
        if row is None:
            continue
        if not isinstance(row, dict) or not _whole(row):
            raise ConfigError(
                f"{texts}:{number}: expected a finding of an earlier hunt, got another line; restore the file, or "
                "remove the line"
            )
        from_row(row, f"{texts}:{number}")
        found.setdefault(row["finding"], row)
    return found


def rows_for(findings: Iterable[Finding], judge: Judge, day: date) -> dict[str, Mapping[str, Any]]:
    """Return confirmed findings as rows, by their ids; a finding has the same id in every hunt."""
    rows: dict[str, Mapping[str, Any]] = {}
    for one in findings:
        case = one.subject.case
        both = to_row(case, one.subject.place.write(case, one.text))
        clean, won = one.wins
        about = {
            "case_id": one.subject.id,
            "where": place_of(one),
            "words": added(one),
            "judge": judge.name,
            "fingerprint": judge.fingerprint,
            "found": day.isoformat(),
            "asks": len(one.ruling.blocks),
            "wins": won,
            "clean_wins": clean,
            "low": round(one.low, 6),
        }
        finding = digest("found", judge.task, both)[:12]
        rows[finding] = {"schema": SCHEMA, "finding": finding, **about, **both}
    return rows


def write_found(files: Files, new: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """
    Add findings to the files of a judge; those that are there stay as they are.

    Returns:
        How many tests there are now, and how many of them are new.

    Raises:
        ConfigError: the file was not written by calm, or cannot be written.
    """
    there = kept_rows(files.texts)
    rows = {**new, **there}
    ordered = [rows[one] for one in dict.fromkeys([*there, *new])]
    if ordered:
        write_whole(files.texts, [f"{json.dumps(row)}\n" for row in ordered], FOUND_TEXTS)
        write_whole(files.tests, [module_for(ordered)], FOUND_TESTS)
    return len(ordered), len(ordered) - len(there)


def module_for(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a test file; it is valid Python, whatever the rows say."""
    judges = ", ".join(dict.fromkeys(repr(_short(row["judge"])) for row in rows))
    about = (
        f"Texts that flipped the judge {judges}. Each test fails as long as its text does so, and passes only if that "
        "is disproven: where the judge is too noisy to tell, it fails and says so."
    )
    head = _HEAD.format(begins=FOUND_BEGINS, about="\n".join(_lines(about, WIDTH + 4)))
    return head + "".join(map(_test, rows))


def _test(row: Mapping[str, Any]) -> str:
    first = f"Case {_short(row['case_id'])}, {row['where']}: {row['words']!r} flips the judge {_short(row['judge'])!r}."
    rest = (
        f"Found on {row['found']}: the answer won {row['wins']} of {row['asks']} fresh asks with these words, and "
        f"{row['clean_wins']} without them; by at least {max(0.0, float(row['low'])):.2f} of all asks more."
    )
    about = [*_lines(first, WIDTH), "", *_lines(rest, WIDTH)]
    name = f"{_plain(row['case_id']) or 'case'}_{row['finding']}"
    return _TEST.format(name=name, finding=row["finding"], about="\n".join(f"    {one}".rstrip() for one in about))


def _lines(text: str, width: int) -> list[str]:
    """Return a text as lines of a docstring: what shows nothing is escaped, and no sign can end it."""
    lines = wrap(printable(text), width, break_on_hyphens=False)
    return [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]


def _whole(row: Mapping[str, Any]) -> bool:
    """Return whether a row has what the test file says of it."""
    texts = ("finding", "case_id", "where", "words", "judge", "found")
    numbers = ("asks", "wins", "clean_wins", "low")
    return (
        all(isinstance(row.get(name), str) for name in texts)
        and all(isinstance(row.get(name), int | float) for name in numbers)
        and re.fullmatch("[0-9a-f]{12}", row["finding"]) is not None
        and all(name in row for name in ("case", "order", "edited"))
    )


def _plain(name: str) -> str:
    """Return a name as part of a file name and of a function name."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:LONGEST].strip("_")


def _short(name: str) -> str:
    return clipped(printable(name), LONGEST)
