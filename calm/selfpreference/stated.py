"""Families that a user states, of authors who are no judges: `human=human`, or a file of such lines as TOML or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from calm.core.files import MOST_SETTINGS, read_bytes, read_toml
from calm.errors import ConfigError

COLUMNS = ("name", "family")
"""The columns of a CSV file."""


def stated(parts: Iterable[str], option: str) -> dict[str, str]:
    """
    Return the family of each name that `NAME=FAMILY` or a file gives; the last word on a name counts.

    Args:
        parts: pairs, and files that end in .toml or .csv; several of them with commas between.
        option: how the user gave them, for messages.

    Raises:
        ConfigError: neither a pair nor such a file, or a file with a fault; all of them are named.

    >>> stated(["human=human,x=y", "vendor/m=1=m"], "--family")
    {'human': 'human', 'x': 'y', 'vendor/m=1': 'm'}
    """
    found: dict[str, str] = {}
    problems: list[str] = []
    for part in filter(None, (one.strip() for several in parts for one in several.split(","))):
        try:
            found |= _file(Path(part)) if part.endswith((".toml", ".csv")) else _pair(part)
        except ConfigError as error:
            problems += [f"{option}: {problem}" for problem in error.problems]
    if problems:
        raise ConfigError(problems)
    return found


def _pair(text: str) -> dict[str, str]:
    name, sign, family = (part.strip() for part in text.rpartition("="))
    if not sign or not name or not family:
        raise ConfigError(f"expected NAME=FAMILY or a file that ends in .toml or .csv, got {text!r}")
    return {name: family}


def _file(path: Path) -> dict[str, str]:
    if path.suffix == ".toml":
        return _toml(path, read_toml(path, "a file of families"))
    try:
        text = read_bytes(path, MOST_SETTINGS).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: expected a file of families, which is UTF-8 text, got {error}") from error
    return _csv(path, text)


def _toml(path: Path, body: dict[str, object]) -> dict[str, str]:
    table = body.get("families", body) if set(body) <= {"families"} else body
    if not isinstance(table, Mapping) or not table or not all(isinstance(v, str) and v.strip() for v in table.values()):
        raise ConfigError(
            f'{path}: expected lines such as "gpt-4o" = "gpt", alone or below [families], got another form'
        )
    return {name: family.strip() for name, family in table.items()}


def _csv(path: Path, text: str) -> dict[str, str]:
    rows = csv.reader(io.StringIO(text, newline=""))
    head = tuple(cell.strip().lower() for cell in next(rows, []))
    if head != COLUMNS:
        raise ConfigError(f"{path}:1: expected the columns name,family, got {','.join(head) or 'nothing'}")
    found: dict[str, str] = {}
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells) and (len(cells) != len(COLUMNS) or not all(cells)):
                raise ConfigError(f"{path}:{rows.line_num}: expected a name and its family, got {','.join(cells)!r}")
            found |= {cells[0]: cells[1]} if any(cells) else {}
    except csv.Error as error:
        raise ConfigError(f"{path}:{rows.line_num}: expected CSV, got {error}") from error
    return found
