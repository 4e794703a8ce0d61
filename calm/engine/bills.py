"""What the processes of a run used, kept in the file of the cache: one that dies leaves its bill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from calm.engine.database import Connection, Database, patiently

_KEEP: Final = (
    "insert into bill values (?, ?, ?) on conflict (owner) do update set run = excluded.run, figures = excluded.figures"
)


class Bills:
    """
    The bills of a run that has several processes, `me` being this one. Only those are kept that ask for it.

    A bill is written in the transaction that keeps replies, and with each sign of life. So it covers all that was kept.
    """

    def __init__(self, database: Database, me: str, run: str) -> None:
        self._database, self._me, self._run = database, me, run
        self._figures: Callable[[], str] | None = None
        self._read = False

    def keep(self, figures: Callable[[], str]) -> None:
        """
        Keep from now on what this process has used, as a function tells it.

        Raises:
            StorageError: the file cannot be written.
        """
        self._figures = figures

        def write() -> None:
            with self._database.writing() as db:
                self.write(db)

        patiently(write)

    def write(self, db: Connection) -> None:
        """Write the bill of this process down, in a transaction of the caller's."""
        if self._figures is not None:
            db.execute(_KEEP, (self._me, self._run, self._figures()))

    def left(self) -> list[str]:
        """Return the bills of all processes of this run that kept one."""
        self._read = True
        with self._database.reading() as db:
            wanted = "select figures from bill where run = ? order by owner"
            rows = db.execute(wanted, (self._run,)).fetchall()
        return [figures for (figures,) in rows]

    def close(self, db: Connection) -> None:
        """Forget the bills of this run, if this is the process that has read them."""
        if self._read:
            db.execute("delete from bill where run = ?", (self._run,))
