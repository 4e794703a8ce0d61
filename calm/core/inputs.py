"""The files that this process reads as inputs: no output of a run may take the place of one."""

from __future__ import annotations

from pathlib import Path

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
