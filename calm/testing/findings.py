"""The texts that `calm hunt --write` left beside its tests."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from calm.cases.lines import from_row
from calm.core.case import Case
from calm.core.files import json_of, refuse_large
from calm.errors import ConfigError


def found(path: str | PathLike[str], finding: str) -> tuple[Case, Case]:
    """
    Return a case as it is, and with the text in it that flipped a judge.

    Args:
        path: a file that `calm hunt --write` wrote.
        finding: the id of the finding in it.

    Raises:
        ConfigError: the file cannot be read, or has no such finding.
    """
    try:
        with Path(path).open("rb") as file:
            refuse_large(file, str(path))
            lines = file.read().split(b"\n")
    except OSError as error:
        raise ConfigError(
            f"{path}: expected the texts that `calm hunt --write` left beside this test, got an error: "
            f"{error.strerror or error}; restore the file"
        ) from None
    for number, one in enumerate(lines, 1):
        try:
            row = json_of(one.decode()) if one.strip() else {}
        except ValueError:
            row = {}
        if isinstance(row, dict) and row.get("finding") == finding:
            return from_row(row, f"{path}:{number}")
    raise ConfigError(
        f"{path}: expected a finding {finding!r}, got none of this id; restore the file, or remove its test"
    )
