"""
Files that unfold to more than they are (Parquet, SQLite, archives): read in a process of their own, within limits.

A few kilobytes of them can name gigabytes, or a query without an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from calm.core.files import MOST_BYTES, megabytes
from calm.core.helper import Helper, Stop, Stopped
from calm.errors import ConfigError

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
