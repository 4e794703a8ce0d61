"""Who begins together: the first rounds of several experiments are held back until all of them are there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar


class Guest:
    """One experiment that is waited for; the first call of `arrived` counts, in whichever thread it is made."""

    def __init__(self, arrived: Callable[[], None]) -> None:
        self._arrived, self._lock = arrived, threading.Lock()

    def arrived(self) -> None:
        """Note that its first round is in the queues, or that there will be none."""
        if self._lock.acquire(blocking=False):  # never released: it arrives once
            self._arrived()


GUEST: ContextVar[Guest | None] = ContextVar("calm_guest", default=None)
"""The guest in whose name this context asks."""


class Gathering:
    """Waits for its guests; `ready` is called when the last one has arrived and no more are invited."""

    def __init__(self, ready: Callable[[], None]) -> None:
        self._ready, self._lock = ready, threading.Lock()
        self._awaited = 1  # the host, who may invite more

    def guest(self) -> Guest:
        """Invite one more."""
        with self._lock:
            self._awaited += 1
        return Guest(self.one_less)

    def one_less(self) -> None:
        """Note that one of the awaited, or the host, is waited for no more."""
        with self._lock:
            self._awaited -= 1
            last = self._awaited == 0
        if last:
            self._ready()
