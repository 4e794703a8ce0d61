"""
A run that was begun and not recorded: what names its replies in the cache, so that it alone can go on with them.

Each run draws a name. It is kept in a file beside the history while the run lasts, and goes with it: a run that was
recorded, a copy of the history, and another history have no such file, so that none of them finds these replies.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from calm.core.case import digest
from calm.results.outputs import WATCH_BEGUN, remove, write_whole

SCHEMA: Final = "calm-watch-begun/1"
ENDING: Final = ".begun"


@dataclass(frozen=True, slots=True)
class Begun:
    """A run under way: the name of its replies in the cache, and whether it was begun before and stopped."""

    series: str
    again: bool


def place_of(history: Path) -> Path:
    """Return where a run under way is kept, beside its history; a link to a history is followed."""
    try:
        place = history.resolve()
    except (OSError, ValueError, RuntimeError):
        place = history.absolute()
    return place.with_name(f"{place.name}{ENDING}")


def begin(history: Path, last: str) -> Begun:
    """
    Return the run that follows the line with the checksum `last`: the one that was stopped there, or a new one.

    The name of its replies holds what was drawn, the place of the history and `last`. So a file that was copied or
    moved, or a history with fewer or more lines than then, is a new run.

    Raises:
        ConfigError: the file beside the history cannot be written, or is not calm's.
    """
    place = place_of(history)
    drawn, again = _kept(place, last), True
    if drawn is None:
        drawn, again = uuid4().hex, False
        body = json.dumps({"schema": SCHEMA, "run": drawn, "after": last}, separators=(",", ":"))
        write_whole(place, [f"{body}\n"], WATCH_BEGUN)
    return Begun(digest("watch", drawn, str(place), last), again)


def end(history: Path) -> None:
    """Forget the run under way, which was recorded: nothing finds its replies any more."""
    remove(place_of(history), WATCH_BEGUN)


def _kept(place: Path, last: str) -> str | None:
    """Return what a run drew that was stopped after the same line; None if there is none."""
    try:
        found = json.loads(place.read_bytes()[:1000])
        drawn, after = found["run"], found["after"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return drawn if isinstance(drawn, str) and drawn and after == last else None
