"""How long a server is waited for: while it says nothing, while it is away, and when the run is over."""

from __future__ import annotations

import threading
from collections.abc import Generator
from time import monotonic, sleep
from typing import Any, Final, TypeVar

from psycopg import Connection, OperationalError

T = TypeVar("T")
Y = TypeVar("Y")

SILENT_S: Final = 30.0
"""A server that says nothing for so many seconds is away: its network may drop all that is sent, without a word."""
SOON_S: Final = 0.1
"""The shortest wait before a step is tried again, in seconds."""
HURRY_S: Final = 4.0
"""The same, and how long one that is away is waited for, once the run is over."""


class Silent(OperationalError):
    """A server that says nothing."""


class Patience:
    """
    The wait for one server, which may be away for `most_s` seconds, counted from the first step that it did not answer.

    Used by one thread at a time, but for `hurry` and `take_time`.
    """

    def __init__(self, most_s: float) -> None:
        self.most_s = most_s
        self.hurried = threading.Event()
        self._hurried_at = 0.0
        self._away_since: float | None = None
        self._heard = monotonic()

    def hurry(self) -> None:
        """Wait no longer than `HURRY_S` from now."""
        self._hurried_at = monotonic()
        self.hurried.set()

    def take_time(self) -> None:
        """Wait as long as before."""
        self.hurried.clear()

    def pause(self, wait_s: float) -> None:
        """Wait so many seconds, or less where there is a hurry."""
        if self.hurried.wait(wait_s):
            sleep(SOON_S)

    def answered(self) -> None:
        """Note that a step was done."""
        self._away_since = None

    def missed(self) -> None:
        """Note that a step was not done, since its server is away."""
        if self._away_since is None:
            self._away_since = self._heard

    @property
    def over(self) -> bool:
        """Whether the server was away for so long that it is not waited for any more, in a hurry or without one."""
        return monotonic() >= self._until

    @property
    def spent(self) -> bool:
        """Whether the server was away for `most_s` seconds."""
        return self._away_since is not None and monotonic() >= self._away_since + self.most_s

    @property
    def _until(self) -> float:
        if self._away_since is None:
            return float("inf")
        until = self._away_since + self.most_s
        return min(until, self._hurried_at + HURRY_S) if self.hurried.is_set() else until

    def _silent(self) -> bool:
        silent_s = HURRY_S if self.hurried.is_set() else SILENT_S
        return monotonic() >= min(self._heard + min(silent_s, self.most_s), self._until)

    def held(self, steps: Generator[Y, Any, T]) -> Generator[Y, Any, T]:
        """
        Pass on what psycopg does to get an answer, step by step, and end it where the server says nothing for too long.

        Raises:
            Silent: it says nothing.
        """
        self._heard, began = monotonic(), monotonic()
        ready: Any = None
        try:
            while True:
                wanted = steps.send(ready)
                ready = yield wanted
                if ready:
                    self._heard = monotonic()
                elif self._silent():
                    raise Silent(f"no answer for {monotonic() - began:.0f} seconds")
        except StopIteration as end:
            found: T = end.value
            return found
        finally:
            steps.close()


def patient(patience: Patience) -> type[Connection[Any]]:
    """Return a class of connections that are waited for with some patience."""

    class Patient(Connection[Any]):
        @classmethod
        def _connect_gen(cls, *given: Any, **options: Any) -> Any:
            return patience.held(super()._connect_gen(*given, **options))

        def wait(self, gen: Any, *given: Any, **options: Any) -> Any:
            try:
                return super().wait(patience.held(gen), *given, **options)
            except Silent:
                self.close()
                raise

    return Patient
