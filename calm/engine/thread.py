"""The event loop of an engine: it runs in a thread of its own, and other threads wait for what it does."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from typing import Final, TypeVar

from calm.errors import ConfigError

RARELY: Final = (50_000, 20, 100)
"""How many objects may be made before the collector looks at the young ones, the older ones, and all."""


class RareCollections:
    """
    Have the collector look less often while anybody waits or works ahead, and set it back with the last one.

    Thousands of questions are made and under way then. To go through them all again and again takes a third of the
    time, though none of them is garbage. A collector that is switched off stays off.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._waiting += 1
            if self._waiting == 1:
                self._before = gc.get_threshold()
                if self._before[0] > 0:
                    gc.set_threshold(*(max(own, least) for own, least in zip(self._before, RARELY, strict=True)))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._waiting -= 1
            if self._waiting == 0:
                gc.set_threshold(*self._before)


T = TypeVar("T")


R = TypeVar("R")

SLICE_S: Final = 0.2
"""A thread waits in slices of so many seconds, because a wait without an end cannot be interrupted everywhere."""
FORKED: Final = (
    "nothing can be asked in a fork of the process in which calm asks; run the test without one (no --forked, no mark "
    "`forked`, no os.fork), or spread the tests with pytest-xdist (-n)"
)
CLOSING_S: Final = 10.0
"""How many seconds the loop may take to end what it is doing."""


def settled(future: Future[T]) -> bool:
    """
    Wait a slice of time for some work at most, and return whether it has ended.

    What the work raised is left to its result: a timeout of the work is never taken for the end of this wait.
    """
    if not future.done():
        wait([future], SLICE_S)
    return future.done()


class LoopThread:
    """An event loop in a daemon thread."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn, self._mine = threading.Lock(), threading.local()
        self._collections, self._ending, self._process = RareCollections(), False, os.getpid()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, T], interrupted: Callable[[], None]) -> T:
        """
        Return what some work returns, or raise what it raises. Blocks; Ctrl-C is honoured.

        `interrupted` is called where the wait ends before the work does.

        Raises:
            CancelledError: the work of this thread is given up, or the loop ends.
        """
        self.refuse_fork()
        held = getattr(self._mine, "held", False)
        if held:
            self._turn.release()
        try:
            with self._collections:
                found = self._waited(work, interrupted)
        finally:
            if held:
                self._turn.acquire()
        if held and self._mine.given_up.is_set():
            raise CancelledError
        return found

    def _waited(self, work: Coroutine[object, object, T], interrupted: Callable[[], None]) -> T:
        if self._ending:
            work.close()
            raise CancelledError
        future: Future[T] | None = None
        try:
            future = asyncio.run_coroutine_threadsafe(work, self.loop)
            while not settled(future):
                if self.closed:  # it came just too late to be cancelled
                    future.cancel()
            return future.result()
        except BaseException:
            if future is None or not future.done():
                interrupted()
            raise

    @contextmanager
    def working(self, given_up: threading.Event) -> Iterator[None]:
        """
        Let one thread compute at a time. While it waits for the loop, another one may.

        Threads that compute side by side gain nothing in Python, and they slow the loop down. One whose work is given
        up ends after its next wait.
        """
        self.refuse_fork()
        with self._collections, self._turn:
            if given_up.is_set():
                raise CancelledError
            self._mine.held, self._mine.given_up = True, given_up
            try:
                yield
            finally:
                self._mine.held = False

    def each(self, work: Callable[[T], R], items: Sequence[T], interrupted: Callable[[], None]) -> list[R]:
        """
        Return what some work returns for each item, in their order; while one waits for answers, another one computes.

        The first error is raised once all have ended. `interrupted` is called where the wait ends before that: it ends
        what is asked.
        """
        if len(items) < 2:
            return [work(item) for item in items]
        held, given_up = getattr(self._mine, "held", False), getattr(self._mine, "given_up", threading.Event())

        def one(item: T) -> R:
            with self.working(given_up):
                return work(item)

        if held:
            self._turn.release()
        try:
            with ThreadPoolExecutor(max_workers=len(items), thread_name_prefix="calm-each") as pool:
                futures = [pool.submit(copy_context().run, one, item) for item in items]
                try:
                    for future in futures:
                        while not settled(future):
                            pass
                except BaseException:
                    interrupted()
                    raise
        finally:
            if held:
                self._turn.acquire()
        return [future.result() for future in futures]

    @property
    def computing(self) -> bool:
        """Whether a thread computes, and may soon ask for more."""
        return self._turn.locked()

    def start(self, work: Coroutine[object, object, None]) -> None:
        """Begin some work that nobody waits for; to be called in the loop."""
        task = self.loop.create_task(work)
        self._tasks.add(task)  # the loop itself keeps no reference
        task.add_done_callback(self._tasks.discard)

    def soon(self, call: Callable[..., None], *given: object) -> None:
        """Have the loop call a function; to be called in any thread."""
        self.loop.call_soon_threadsafe(call, *given)

    def finish(self, work: Coroutine[object, object, object], within_s: float = CLOSING_S) -> None:
        """
        Wait for the last work of the loop.

        Raises:
            TimeoutError: it takes longer than so many seconds.
        """
        asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=within_s)

    @property
    def _forked(self) -> bool:
        return os.getpid() != self._process

    def refuse_fork(self) -> None:
        """
        Return if this process is the one in which the thread runs.

        Raises:
            ConfigError: it is a copy of it (`os.fork`), which has none of its threads and would wait for ever.
        """
        if self._forked:
            raise ConfigError(FORKED)

    def end(self) -> None:
        """Begin nothing new: whoever wants something gets a `CancelledError`."""
        self._ending = True

    @property
    def closed(self) -> bool:
        """Whether the thread has ended, or is one of another process."""
        return self.loop.is_closed() or self._forked

    def close(self) -> None:
        """End the thread."""
        self.finish(self.loop.shutdown_asyncgens())  # the clients of the SDKs close with the generators of the loop
        self.soon(self.loop.stop)
        self._thread.join(timeout=CLOSING_S)
        self.loop.close()
