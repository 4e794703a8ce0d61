"""Who goes next: queues of work by round and lot, and how many pieces of work of each queue are under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final, TypeAlias

from calm.models.pacing import FIRST, PRIORITY

Work: TypeAlias = Callable[[], Awaitable[None]]

SPARE: Final = 16
"""While work only waits, a queue may have up to twice its width and so many more pieces of work under way."""
SLICE_S: Final = 0.01
"""For how many seconds work that never waits may keep the loop from everything else."""


@dataclass(eq=False, slots=True)
class Queue:
    """Work that goes to the same servers; `width` pieces of it are under way at once, `empty` places have no work."""

    width: int
    waiting: list[tuple[int, int, int, Place]] = field(default_factory=list)
    under_way: int = 0
    empty: int = 0


@dataclass(eq=False, slots=True)
class Place:
    """A place in a queue, by round and lot, and its work until that begins."""

    queue: Queue
    round: int
    lot: int
    work: Work | None


class Scheduler:
    """
    The queues of one event loop; `start` begins a task there.

    Work of an earlier round goes first, within a round the lower lot, then what came first. While it is `held`, only
    work of the rounds before the first look begins.
    """

    def __init__(self, start: Callable[[Coroutine[object, object, None]], None]) -> None:
        self._start = start
        self._queues: dict[Hashable, Queue] = {}
        self._came = count()
        self._idle = 0
        self._held = False

    def queue(self, key: Hashable, width: Callable[[], int]) -> Queue:
        """Return the queue of a key; the first call sets its width."""
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = Queue(width())
        return queue

    def put(self, queue: Queue, work: Work, number: int, lot: int = 0) -> Place:
        """Add work to a queue, in the round of a number."""
        return self._placed(Place(queue, number, lot, work))

    def hasten(self, place: Place, number: int) -> Place:
        """Move work that has not begun to another round if that is an earlier one; return its place."""
        work = place.work
        if work is None or number >= place.round:
            return place
        place.work = None
        place.queue.empty += 1
        return self._placed(Place(place.queue, number, place.lot, work))

    def _placed(self, place: Place) -> Place:
        heappush(place.queue.waiting, (place.round, place.lot, next(self._came), place))
        self._call_worker(place.queue)
        return place

    def hold(self) -> None:
        """Let no work of the first look, or a later one, begin."""
        self._held = True

    def release(self) -> None:
        """Let all work begin."""
        self._held = False
        for queue in self._queues.values():
            for _ in range(min(len(queue.waiting), self._room(queue) - queue.under_way)):
                self._call_worker(queue)

    @property
    def pending(self) -> int:
        """How many pieces of work are under way or wait for their turn."""
        queues = list(self._queues.values())
        return sum(len(queue.waiting) - queue.empty + queue.under_way for queue in queues)

    @property
    def under_way(self) -> int:
        """How many pieces of work are under way."""
        return sum(queue.under_way for queue in self._queues.values())

    def clear(self) -> None:
        """Drop the work that has not begun; nothing is held any more."""
        self._held = False
        for queue in self._queues.values():
            queue.waiting.clear()
            queue.empty = 0

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

    def _ready(self, queue: Queue) -> bool:
        """Return whether the next work of a queue may begin, as far as its round goes."""
        return bool(queue.waiting) and not (self._held and queue.waiting[0][0] >= FIRST)

    def _call_worker(self, queue: Queue) -> None:
        if self._ready(queue) and queue.under_way < self._room(queue):
            queue.under_way += 1
            self._start(self._worker(queue))

    async def _worker(self, queue: Queue) -> None:
        """Do one piece of work after the other until none waits, or too many are under way."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            while self._ready(queue) and queue.under_way <= self._room(queue):
                *_, place = heappop(queue.waiting)
                work, place.work = place.work, None
                if work is None:
                    queue.empty -= 1
                    continue
                PRIORITY.set(place.round)
                await work()
                if loop.time() - began_s > SLICE_S:
                    await asyncio.sleep(0)
                    began_s = loop.time()
        finally:
            queue.under_way -= 1
