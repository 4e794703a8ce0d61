"""From one record to another: the replies, and the models that answered last; what is there stays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from calm.engine.batch_records import standing
from calm.engine.database import BY, Database, patiently
from calm.engine.rows import checksum, reply_in

KEEP: Final = "insert into reply values (?, ?, ?, ?, ?) on conflict (key) do nothing"
"""Keeps a reply, unless there is one."""
_PAGE: Final = "select key, request, reply, at, sum from reply where key > ? order by key limit ?"
_SERVED: Final = (
    "insert into served values (?, ?, ?) on conflict (endpoint) do update "
    "set model = excluded.model, at = excluded.at where served.at < excluded.at"
)


@dataclass(slots=True)
class Copied:
    """
    What became of the replies of a record: `new` in the other one, `there` before, or `damaged` and left.

    `batched` counts calls that stand in its batches: they stay there, as two records would count them twice.
    """

    new: int = 0
    there: int = 0
    damaged: int = 0
    batched: int = 0


def copy(source: Database, target: Database, show: Callable[[Copied], None]) -> Copied:
    """
    Copy the replies of a record to another one, in the order of their keys.

    It may be broken off, and run again: each page of replies is written whole, or not at all. `show` is told how far it
    is after each page.

    Raises:
        StorageError: one of the two cannot be read or written.
    """
    found, after = Copied(), b""
    while True:
        with source.reading() as db:
            rows = db.execute(_PAGE, (after, BY)).fetchall()
        if not rows:
            break
        whole = [row for row in rows if _is_whole(*row)]

        def write(whole: list[tuple[object, ...]] = whole) -> int:
            with target.writing() as db:
                done = [db.execute(KEEP, row) for row in whole]
                return sum(one.rowcount > 0 for one in done)

        new = patiently(write)
        found.new += new
        found.there += len(whole) - new
        found.damaged += len(rows) - len(whole)
        after = rows[-1][0]
        show(found)
    with source.reading() as db:
        served = db.execute("select endpoint, model, at from served").fetchall()

    def note() -> None:
        with target.writing() as db:
            db.executemany(_SERVED, served)

    patiently(note)
    found.batched = standing(source)
    return found


def _is_whole(key: bytes, request: object, reply: object, _: object, found: object) -> bool:
    """Return whether a row is as it was written, and holds a reply."""
    if isinstance(request, str) and isinstance(reply, str) and checksum(key, request, reply) == found:
        with suppress(ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError):
            reply_in(reply)
            return True
    return False
