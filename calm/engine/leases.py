"""Leases: which process makes a call, where several share a cache."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from calm.engine.host import Host

BEAT_S: Final = 1.0
"""Every so many seconds a process shows that it is alive."""
STALE_S: Final = 15.0
"""A process that showed no life for so many seconds of watching holds no lease."""
LONGEST_LOOK_S: Final = 2 * BEAT_S
"""What lies between two looks counts as so many seconds at most: whoever slept, or stood still, saw nothing."""
LONG_AGO_S: Final = 3600.0
"""A last sign of life of another place that is older than this, by the calendar, is not watched at all."""


@dataclass(slots=True)
class _Watch:
    """What this process has seen of another one: its last beat, and for how many seconds that has stood there."""

    beat: int
    looked: float
    stood_s: float = 0.0


class Leases:
    """
    The leases of one process, and what it knows of the others. Each method is given a connection that may write.

    A process is alive while its beats go on. They are counted, not timed, so two machines or containers need no clock
    in common: whoever wants a lease watches its owner with its own clock. Only in the same place (`Host.place`) does
    the number of a process say that it is gone, and then nobody needs to wait.
    """

    def __init__(self, host: Host) -> None:
        self._host, self.me = host, uuid4().hex
        self._beats = 0
        self._next = float("-inf")
        self._watched: dict[str, _Watch] = {}
        self._given_up: set[bytes] = set()

    def claim(self, db: sqlite3.Connection, key: bytes) -> bool:
        """Return whether this process holds the lease on a call now; False while another live process does."""
        self._given_up.discard(key)
        if db.execute("insert or ignore into lease values (?, ?)", (key, self.me)).rowcount:
            return True
        holder = db.execute("select owner from lease where key = ?", (key,)).fetchone()[0]
        if holder == self.me:
            return True
        if self.lives(db, holder):
            return False
        # the transaction is the only one that writes: of several heirs of a dead one, one gets it
        db.execute("update lease set owner = ? where key = ?", (self.me, key))
        return True

    def end(self, db: sqlite3.Connection, keys: Iterable[bytes]) -> None:
        """End the leases on calls that are answered, whoever holds them."""
        db.executemany("delete from lease where key = ?", [(key,) for key in keys])

    def give_up(self, keys: Iterable[bytes]) -> None:
        """Note leases that this process has no use for; the next `beat` ends them."""
        self._given_up.update(keys)

    def beat(self, db: sqlite3.Connection, *, now: bool = False) -> None:
        """Show other processes that this one is alive, if the last sign is `BEAT_S` old or this is wanted `now`."""
        if not now and self._host.now() < self._next:
            return
        host = self._host
        self._beats += 1
        row = self.me, host.place, host.pid, self._beats, host.wall()
        db.execute("insert or replace into owner values (?, ?, ?, ?, ?)", row)
        if self._given_up:
            mine: Sequence[tuple[bytes, str]] = [(key, self.me) for key in self._given_up]
            db.executemany("delete from lease where key = ? and owner = ?", mine)
            self._given_up.clear()
        self._next = host.now() + BEAT_S

    @property
    def due(self) -> bool:
        """Whether there is something for `beat` to write."""
        return bool(self._given_up) or self._host.now() >= self._next

    def lives(self, db: sqlite3.Connection, owner: str) -> bool:
        """Return whether a process is alive, as far as this one can know."""
        if owner == self.me:
            return True
        row = db.execute("select place, pid, beat, at from owner where id = ?", (owner,)).fetchone()
        if row is None:
            self._watched.pop(owner, None)
            return False
        place, pid, beat, at = row
        host = self._host
        if place == host.place:
            if not host.runs(pid):
                return False
        elif abs(host.wall() - at) > LONG_AGO_S:
            return False
        return self._stands(owner, beat) < STALE_S

    def _stands(self, owner: str, beat: int) -> float:
        """Return for how many seconds this process has watched the same beat of another one."""
        now = self._host.now()
        watch = self._watched.get(owner)
        if watch is None or watch.beat != beat:
            self._watched[owner] = _Watch(beat, now)
            return 0.0
        watch.stood_s += min(now - watch.looked, LONGEST_LOOK_S)
        watch.looked = now
        return watch.stood_s

    def close(self, db: sqlite3.Connection) -> None:
        """End all leases of this process, and its signs of life."""
        db.execute("delete from lease where owner = ?", (self.me,))
        db.execute("delete from owner where id = ?", (self.me,))
