"""What was made last, as long as all of it takes no more than so many bytes."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """
    The last things that were made, by their keys; the oldest go when all take more than `room` bytes together.

    May be used from several threads.
    """

    def __init__(self, room: int) -> None:
        self.room, self.taken = room, 0
        self._held: dict[K, tuple[V, int]] = {}
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return what is held under a key, or None."""
        found = self._held.get(key)
        return None if found is None else found[0]

    def put(self, key: K, value: V, size: int) -> V:
        """Hold something of so many bytes, and return it."""
        with self._lock:
            if key in self._held:
                self.taken -= self._held.pop(key)[1]
            self._held[key] = value, size
            self.taken += size
            while self.taken > self.room:
                self.taken -= self._held.pop(next(iter(self._held)))[1]
        return value
