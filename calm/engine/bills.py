"""What the processes of a run used, kept in the file of the cache: one that dies leaves its bill."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from calm.engine.database import Database


class Bills:
    """
    The bills of a run that has several processes, `me` being this one. Only those are kept that ask for it.

    A bill is written in the transaction that keeps replies, and with each sign of life. So it covers all that was kept.
    """

    def __init__(self, database: Database, me: str, run: str) -> None:
        self._database, self._me, self._run = database, me, run
        self._figures: Callable[[], str] | None = None

    def keep(self, figures: Callable[[], str]) -> None:
        """Keep from now on what this process has used, as a function tells it."""
        self._figures = figures

    def write(self, db: sqlite3.Connection) -> None:
        """Write the bill of this process down, in a transaction of the caller's."""
        if self._figures is not None:
            db.execute("insert or replace into bill values (?, ?, ?)", (self._me, self._run, self._figures()))

    def left(self) -> list[str]:
        """Return the bills of processes of this run that have not closed the cache."""
        with self._database.reading() as db:
            rows = db.execute("select figures from bill where run = ? order by owner", (self._run,)).fetchall()
        return [figures for (figures,) in rows]

    def close(self, db: sqlite3.Connection) -> None:
        """Take the bill of this process back: it tells itself what it used."""
        if self._figures is not None:
            db.execute("delete from bill where owner = ?", (self._me,))
