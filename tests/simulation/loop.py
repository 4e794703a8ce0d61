"""An event loop with virtual time, which runs the callbacks of several processes in an order drawn from a seed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from heapq import heappop
from random import Random

PROCESS: ContextVar[int] = ContextVar("process", default=0)
"""The process that a callback belongs to; 0 is the world itself, which neither fails nor waits."""
MOST_STEPS = 100_000


class Stuck(Exception):
    """Nothing can happen any more, or too much happens."""


class Loop(asyncio.BaseEventLoop):
    """
    Callbacks of one process run in the order in which they came, as in any loop; those of several are mixed.

    Time stands still while anything can run, and then leaps to the next timer. `step` is called after each callback
    with its process.
    """

    def __init__(self, seed: int, step: Callable[[int], None]) -> None:
        super().__init__()
        self._random, self._step, self._time = Random(seed), step, 0.0
        self._queues: dict[int, deque[asyncio.Handle]] = {}
        self._paused: dict[int, float] = {}
        self.steps = 0

    def time(self) -> float:
        """Return the virtual seconds since the world began."""
        return self._time

    def pause(self, process: int, seconds: float) -> None:
        """Let a process stand still."""
        self._paused[process] = self._time + seconds

    def kill(self, process: int) -> None:
        """Forget all that a process would do."""
        self._queues.pop(process, None)
        for handle in self._scheduled:
            if handle._context.get(PROCESS, 0) == process:
                handle.cancel()

    def _run_once(self) -> None:
        self._sort()
        free = [process for process, queue in self._queues.items() if queue and not self._stands(process)]
        if not free:
            self._leap()
            return
        process = free[self._random.randrange(len(free))] if len(free) > 1 else free[0]
        handle = self._queues[process].popleft()
        if not handle.cancelled():
            handle._run()
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Stuck(f"{MOST_STEPS} steps, and no end")
        self._step(process)

    def _sort(self) -> None:
        """Put what may run into the queue of its process."""
        while self._scheduled and (self._scheduled[0].cancelled() or self._scheduled[0].when() <= self._time):
            timer = heappop(self._scheduled)
            timer._scheduled = False
            if not timer.cancelled():
                self._ready.append(timer)
        while self._ready:
            handle = self._ready.popleft()
            self._queues.setdefault(handle._context.get(PROCESS, 0), deque()).append(handle)

    def _stands(self, process: int) -> bool:
        return self._paused.get(process, 0.0) > self._time

    def _leap(self) -> None:
        """Let time go on to the next thing that can happen."""
        times = [end for process, end in self._paused.items() if end > self._time and self._queues.get(process)]
        if self._scheduled:
            times.append(self._scheduled[0].when())
        if not times:
            if self._stopping:
                return
            raise Stuck("everybody waits, and for nothing")
        self._time = max(self._time, min(times))

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Keep cancelled timers until their time comes."""

    def _write_to_self(self) -> None:
        """There is nobody to wake."""

    def _process_events(self, event_list: object) -> None:
        """There are no sockets."""
