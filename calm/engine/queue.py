"""Who goes next: queues of work by round and lot, held until all are there, or set aside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple, TypeAlias

from calm.errors import JudgeError
from calm.models.pacing import FIRST, PRIORITY

Work: TypeAlias = Callable[[], Awaitable[None]]


class SetAside(BaseException):
    """Ends an ask that waits for batches alone. It is begun again, from its start, once its calls came to something."""


class Tried(NamedTuple):
    """Why a call by batch has no reply, and how many attempts have failed so far."""

    failures: int
    last: JudgeError


@dataclass(eq=False, slots=True)
class Aside:
    """
    What is kept of an ask that was set aside.

    `open` counts the calls that it still waits for. `known` are the keys of calls that were counted, and are not
    counted again; `tried` tells of those without a reply. `work` begins the ask again (None: it goes on).
    """

    open: int = 0
    known: tuple[bytes, ...] = ()
    tried: dict[bytes, Tried] | None = None
    work: Work | None = None

    def knows(self, keys: Iterable[bytes]) -> None:
        """Note calls that were counted."""
        self.known = tuple(dict.fromkeys((*self.known, *keys)))


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


SPARE: Final = 16
"""While work only waits, a queue may have up to twice its width and so many more pieces of work under way."""
SLICE_S: Final = 0.01
"""For how many seconds work that never waits may keep the loop from everything else."""


@dataclass(eq=False, slots=True)
class Queue:
    """
    Work that goes to the same servers; `width` pieces of it are under way at once.

    `empty` places have no work, and so many pieces of work were set `aside`.
    """

    width: int
    waiting: list[tuple[int, int, int, Place]] = field(default_factory=list)
    under_way: int = 0
    empty: int = 0
    aside: int = 0


@dataclass(eq=False, slots=True)
class Place:
    """A place in a queue, by round and lot, with its work until that begins, and what is kept of work set `aside`."""

    queue: Queue
    round: int
    lot: int
    work: Work | None
    aside: Aside | None = None


PLACE: ContextVar[Place | None] = ContextVar("calm_place", default=None)
"""The place of the work that goes on in this context."""


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
        if work is None or place.aside is not None or number >= place.round:
            return place
        place.work = None
        place.queue.empty += 1
        return self._placed(Place(place.queue, number, place.lot, work))

    def _placed(self, place: Place) -> Place:
        heappush(place.queue.waiting, (place.round, place.lot, next(self._came), place))
        self._call_worker(place.queue)
        return place

    def again(self, place: Place) -> None:
        """Begin work again that was set aside; it goes first, and is not held."""
        aside = place.aside
        if aside is None or aside.work is None:  # it is on its way aside
            return
        place.work, aside.work = aside.work, None
        place.queue.aside -= 1
        heappush(place.queue.waiting, (FIRST - 1, place.lot, next(self._came), place))
        self._call_worker(place.queue)

    def _set_aside(self, place: Place, work: Work) -> None:
        place.aside = aside = place.aside or Aside()
        aside.work = work
        place.queue.aside += 1
        if not aside.open:  # what it waited for came meanwhile
            self.again(place)

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
        """How many pieces of work are under way, wait for their turn, or were set aside."""
        queues = list(self._queues.values())
        return sum(len(queue.waiting) - queue.empty + queue.under_way + queue.aside for queue in queues)

    @property
    def under_way(self) -> int:
        """How many pieces of work are under way."""
        return sum(queue.under_way for queue in self._queues.values())

    def clear(self) -> None:
        """Drop the work that has not begun, or was set aside; nothing is held any more."""
        self._held = False
        for queue in self._queues.values():
            queue.waiting.clear()
            queue.empty = queue.aside = 0

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
        return bool(queue.waiting) and not (self._held and queue.waiting[0][0] >= FIRST)

    def _call_worker(self, queue: Queue) -> None:
        if self._ready(queue) and queue.under_way < self._room(queue):
            queue.under_way += 1
            self._start(self._worker(queue))

    async def _worker(self, queue: Queue) -> None:
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
                PLACE.set(place)
                try:
                    await work()
                except SetAside:
                    self._set_aside(place, work)
                if loop.time() - began_s > SLICE_S:
                    await asyncio.sleep(0)
                    began_s = loop.time()
        finally:
            queue.under_way -= 1
