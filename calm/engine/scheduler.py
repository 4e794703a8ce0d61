"""Who goes next: queues of work by priority, and how many pieces of work of each queue are under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from time import monotonic
from typing import Final, TypeAlias

from calm.models.pacing import PRIORITY

Work: TypeAlias = Callable[[], Awaitable[None]]

SPARE: Final = 16
"""While work only waits, a queue may have up to twice its width and so many more pieces of work under way."""
SLICE_S: Final = 0.01
"""For how many seconds work that never waits may keep the loop from everything else."""


@dataclass(eq=False, slots=True)
class Queue:
    """Work that goes to the same servers; `width` pieces of it are under way at once."""

    width: int
    waiting: list[tuple[int, int, Work]] = field(default_factory=list)
    under_way: int = 0


class Scheduler:
    """The queues of one event loop; `start` begins a task there."""

    def __init__(self, start: Callable[[Coroutine[object, object, None]], None]) -> None:
        self._start = start
        self._queues: dict[Hashable, Queue] = {}
        self._came = count()
        self._idle = 0

    def queue(self, key: Hashable, width: Callable[[], int]) -> Queue:
        """Return the queue of a key; the first call sets its width."""
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = Queue(width())
        return queue

    def put(self, queue: Queue, work: Work) -> None:
        """Add work to a queue with the `PRIORITY` of the context; the lower number goes first, then the older work."""
        heappush(queue.waiting, (PRIORITY.get(), next(self._came), work))
        self._call_worker(queue)

    @property
    def pending(self) -> int:
        """How many pieces of work are under way or wait for their turn."""
        return sum(len(queue.waiting) + queue.under_way for queue in list(self._queues.values()))

    def clear(self) -> None:
        """Drop the work that has not begun."""
        for queue in self._queues.values():
            queue.waiting.clear()

    @contextmanager
    def idling(self) -> Iterator[None]:
        """Let other work begin while a piece of work does nothing but wait."""
        self._idle += 1
        for queue in self._queues.values():
            self._call_worker(queue)
        try:
            yield
        finally:
            self._idle -= 1

    def _room(self, queue: Queue) -> int:
        """Return how many pieces of work may be under way: those that only wait for their next attempt leave room."""
        return queue.width + min(self._idle, queue.width + SPARE)

    def _call_worker(self, queue: Queue) -> None:
        if queue.waiting and queue.under_way < self._room(queue):
            queue.under_way += 1
            self._start(self._worker(queue))

    async def _worker(self, queue: Queue) -> None:
        """Do one piece of work after the other until none waits, or too many are under way."""
        began_s = monotonic()
        try:
            while queue.waiting and queue.under_way <= self._room(queue):
                rank, _, work = heappop(queue.waiting)
                PRIORITY.set(rank)
                await work()
                if monotonic() - began_s > SLICE_S:
                    await asyncio.sleep(0)
                    began_s = monotonic()
        finally:
            queue.under_way -= 1
