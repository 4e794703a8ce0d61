"""Which process makes a call, where several share a cache, and how a process knows that another one lives."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final
from uuid import uuid4

from calm.engine.database import BY, Connection, marks
from calm.errors import StorageError

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_GONE: Final = ("Z", "X")
"""The states of a process that has ended."""
_NAMESPACE: Final = Path("/proc/self/ns/pid")


class Host:
    """
    The machine that this process runs on, as far as it can see it.

    `pid` is the number of this process in `place`. Numbers of two places have nothing to do with each other: a process
    of another container may run although its number is free here.
    """

    @cached_property
    def place(self) -> str:
        """What process numbers are unique in: one boot of one machine, and there one namespace of processes."""
        if sys.platform == "linux":
            with suppress(OSError):
                return f"{_BOOT.read_text('ascii').strip()} {_NAMESPACE.readlink()}"
            return uuid4().hex  # nothing is known, so no number says anything
        return f"{sys.platform} {socket.gethostname()}"

    @property
    def pid(self) -> int:
        """The number of this process."""
        return os.getpid()

    def now(self) -> float:
        """Return the seconds of a clock that never goes back; it says nothing to other machines."""
        return time.monotonic()

    def wall(self) -> float:
        """Return the seconds since the epoch."""
        return time.time()

    def runs(self, pid: int) -> bool:
        """Return whether a process of this number runs in the same place; a dead one that nobody waits for does not."""
        if sys.platform == "win32":
            return _runs_on_windows(pid)
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        with suppress(OSError):  # only Linux has the file
            return Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()[0] not in _GONE
        return True


if sys.platform == "win32":

    def _runs_on_windows(pid: int) -> bool:
        """Return whether a process runs; `os.kill(pid, 0)` would end it."""
        import _winapi

        try:
            process = _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, pid)
        except PermissionError:  # it is somebody else's
            return True
        except OSError:
            return False
        try:
            return bool(_winapi.WaitForSingleObject(process, 0) == _winapi.WAIT_TIMEOUT)
        finally:
            _winapi.CloseHandle(process)


BEAT_S: Final = 1.0
"""Every so many seconds a process shows that it is alive."""
STALE_S: Final = 15.0
"""A process that showed no life for so many seconds of watching holds no lease."""
LONGEST_LOOK_S: Final = 2 * BEAT_S
"""What lies between two looks counts as so many seconds at most: whoever slept, or stood still, saw nothing."""
LONG_AGO_S: Final = 3600.0
BRIEF_S: Final = 5.0
"""
Where the last sign of life of another place is more than `LONG_AGO_S` away, by the calendar, so many seconds of
watching are enough: it is dead, or its calendar is wrong. Whoever showed no life for so long may have lost its leases.
"""

_SHOW: Final = (
    "insert into owner values (?, ?, ?, ?, {now}) on conflict (id) do update "
    "set place = excluded.place, pid = excluded.pid, beat = excluded.beat, at = excluded.at"
)
_SEEN: Final = "select abs(at - {now}), place, pid, beat from owner where id = ?"
_TAKE: Final = "insert into lease values (?, ?) on conflict (key) do nothing"


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
    in common: whoever wants a lease watches its owner with its own clock. A process that stood still claims its leases
    again, since others may have taken them. Only in the same place (`Host.place`) does the number of a process say that
    it is gone, and then nobody needs to wait.

    `clock` is the SQL for the seconds since the epoch on the server that machines share; "": the clock of this machine.
    """

    def __init__(self, host: Host, clock: str = "") -> None:
        self._host, self.me = host, uuid4().hex
        self._clock = clock
        self._show, self._seen = (sql.format(now=clock or "?") for sql in (_SHOW, _SEEN))
        self._beats = 0
        self._next = self._shown = float("-inf")
        self._lapses = 0
        self._since: dict[bytes, int] = {}
        """The leases of this process, each with how often it had shown no life for long when it got that."""
        self._watched: dict[str, _Watch] = {}
        self._given_up: set[bytes] = set()

    def claim(self, db: Connection, keys: Sequence[bytes]) -> list[bool]:
        """Return for each of some calls whether this process holds the lease on it now, or another live one does."""
        self._given_up.difference_update(keys)
        db.executemany(_TAKE, [(key, self.me) for key in keys])
        holders = _holders(db, keys)
        dead = {owner for owner in sorted(set(holders.values()) - {self.me}) if not self.lives(db, owner)}
        # the transaction is the only one that writes: of several heirs of a dead one, one gets it
        db.executemany("update lease set owner = ? where key = ?", [(self.me, k) for k in keys if holders[k] in dead])
        mine = [holders[key] == self.me or holders[key] in dead for key in keys]
        self._since.update((key, self._lapses) for key, got in zip(keys, mine, strict=True) if got)
        return mine

    def holds(self, key: bytes) -> bool:
        """Return whether this process surely holds a lease that it has claimed."""
        return self._since.get(key) == self._lapses and self._host.now() - self._shown < BRIEF_S

    def end(self, db: Connection, keys: Iterable[bytes]) -> None:
        """End the leases on calls that are answered, whoever holds them."""
        ended = list(keys)
        db.executemany("delete from lease where key = ?", [(key,) for key in ended])
        for key in ended:
            self._since.pop(key, None)

    def give_up(self, keys: Iterable[bytes]) -> None:
        """Note leases that this process has no use for; the next `beat` ends them."""
        for key in keys:
            self._given_up.add(key)
            self._since.pop(key, None)

    def beat(self, db: Connection, *, now: bool = False) -> None:
        """Show other processes that this one is alive, if the last sign is `BEAT_S` old or this is wanted `now`."""
        if not now and self._host.now() < self._next:
            return
        host = self._host
        self._beats += 1
        db.execute(self._show, (self.me, host.place, host.pid, self._beats, *self._now))
        given_up, self._given_up = self._given_up, set()
        if given_up:
            db.executemany("delete from lease where key = ? and owner = ?", [(key, self.me) for key in given_up])
        at = host.now()
        self._lapses += at - self._shown >= BRIEF_S
        self._next, self._shown = at + BEAT_S, at

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what is to be written with the next beat, if the block fails in which it was written."""
        given_up, shown = set(self._given_up), self._shown
        try:
            yield
        except StorageError:
            self._given_up |= given_up
            self._next, self._shown = float("-inf"), shown
            raise

    @property
    def due(self) -> bool:
        """Whether there is something for `beat` to write."""
        return bool(self._given_up) or self._host.now() >= self._next

    def lives(self, db: Connection, owner: str, *, at_once: bool = False) -> bool:
        """Return whether a process is alive, as far as this one can know, or has to believe if there is one look."""
        if owner == self.me:
            return True
        row = db.execute(self._seen, (*self._now, owner)).fetchone()
        if row is None:
            self._watched.pop(owner, None)
            return False
        ago_s, place, pid, beat = row
        host = self._host
        long_ago = False
        if place != host.place:
            long_ago = ago_s > LONG_AGO_S
        elif not host.runs(pid):
            return False
        if long_ago and at_once:
            return False
        return self._stands(owner, beat) < (BRIEF_S if long_ago else STALE_S)

    @property
    def _now(self) -> tuple[float, ...]:
        """The value for the time in a statement; none where the server puts in its own."""
        return () if self._clock else (self._host.wall(),)

    def _stands(self, owner: str, beat: int) -> float:
        now = self._host.now()
        watch = self._watched.get(owner)
        if watch is None or watch.beat != beat:
            self._watched[owner] = _Watch(beat, now)
            return 0.0
        watch.stood_s += min(now - watch.looked, LONGEST_LOOK_S)
        watch.looked = now
        return watch.stood_s

    def close(self, db: Connection) -> None:
        """End all leases of this process, and its signs of life."""
        db.execute("delete from lease where owner = ?", (self.me,))
        db.execute("delete from owner where id = ?", (self.me,))


def _holders(db: Connection, keys: Sequence[bytes]) -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    for at in range(0, len(keys), BY):
        some = keys[at : at + BY]
        found.update(db.execute(f"select key, owner from lease where key in ({marks(some)})", tuple(some)))  # noqa: S608 - marks alone
    return found
