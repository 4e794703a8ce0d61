"""The steps of an event loop to its store: look-ups with leases, and replies; those of one moment go together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import Final, Generic, TypeAlias, TypeVar

from calm.core.reasons import NONE, Kind, Reason, because
from calm.engine.database import AGAIN_S, PATIENCE_S
from calm.engine.store import Entry, Store
from calm.errors import JudgeError, StorageError
from calm.models.wire import Reply

T = TypeVar("T")
R = TypeVar("R")

NOT_KEPT: Final = because(Kind.NOT_KEPT)
MOST: Final = 32
"""So many replies are committed at once."""
MOST_CHARACTERS: Final = 1 << 20
"""Or as many as have requests of so many characters together: while they wait, their prompts lie in memory."""
LONGEST_S: Final = 0.01
"""For how many seconds a reply waits at most for others."""
REST: Final = 20.0
"""After a commit, the next one waits this many times as long as it took: a fast disk is written to more often."""
LOOK_S: Final = 0.05
"""A step that has to wait is tried again after so many seconds where what it waits for may come at any moment."""
POLL_S: Final = 0.05
REMOTE_POLL_S: Final = 0.2
"""A call that another process makes is looked up every so many seconds, in a file and on a server."""
LEASE_S: Final = 1.0
"""After so many seconds of looking, its lease is tried."""

Waiting: TypeAlias = "list[tuple[T, asyncio.Future[R]]]"
Awaited: TypeAlias = "dict[asyncio.Future[Reply | None], tuple[bytes, int]]"


class Journal:
    """
    Looks replies up, takes leases and commits replies for one event loop, and takes all other steps to the store.

    A reply is returned only after it is committed, so no decision rests on one that a crash could lose. While the file
    is locked, leases and replies wait. Replies that it does not take are written beside it, and no more calls begin:
    `fault` says why, and `halted` is called with the reason that each call gets. `note` takes what a reader of the run
    should know.

    Steps go one after the other. Where a server answers, which may be far, or away for long, the loop goes on
    meanwhile. Every method is to be called in the loop.
    """

    def __init__(self, store: Store, halted: Callable[[Reason], None], note: Callable[[Reason], None]) -> None:
        self._store, self._halted, self._note = store, halted, note
        self.fault = NONE
        self._thread = ThreadPoolExecutor(1, "calm-record") if store.remote else None
        self._busy_since: float | None = None
        self._looks = Line[bytes, Reply | bool](self, store.look, unwanted=self._unwanted)
        self._entries = Line[Entry, Reply](self, self._put, keep=True, refused=self._spill)
        self._characters, self._next, self._time = 0, 0.0, monotonic
        self._releasing = self._last = False
        self._awaited: Awaited = {}
        self._looking: asyncio.TimerHandle | None = None
        self._poll_s = REMOTE_POLL_S if store.remote else POLL_S

    def look(self, key: bytes) -> Coroutine[object, object, Reply | bool]:
        """
        Return the reply that the store holds; else whether this process is to make the call (False: another one does).

        Callbacks of a loop run in the order of their calls. So whoever gets no reply goes on before the task of one
        that was committed after the look-up: its call is still under way then, and is not made twice.
        """
        return self._looks.wait(key)

    async def find(self, keys: Collection[bytes]) -> Mapping[bytes, Reply]:
        """Return the replies that the store holds; none where it fails: who looks for one alone meets that again."""
        try:
            return await self.step(partial(self._store.find, keys))
        except StorageError:
            return {}

    def _unwanted(self, key: bytes, found: Reply | bool) -> None:
        if found is True:  # the lease came while the call was cancelled
            self.release(key)

    def release(self, key: bytes) -> None:
        """Give up the lease on a call that was not answered."""
        self._store.give_up(key)
        if not self._releasing:
            self._releasing = True
            self.do(self._store.release, self._released, self._released)

    def _released(self, _: object) -> None:
        self._releasing = False  # if it failed, the next sign of life does it

    def record(self, entry: Entry, *, more: bool = False) -> Coroutine[object, object, Reply]:
        """
        Commit an entry and return the reply that now stands. It is committed even if nobody waits.

        With `more` calls under way it waits a moment, so that their replies are committed with it.
        """
        self._time = asyncio.get_running_loop().time
        self._characters += len(entry.request)
        if len(self._entries.waiting) + 1 >= MOST or self._characters >= MOST_CHARACTERS:
            self._characters = 0
            return self._entries.wait(entry, at_once=True)
        return self._entries.wait(entry, self._next - self._time() if more else 0.0)

    def _put(self, entries: Sequence[Entry]) -> list[Reply]:
        began_s = self._time()
        standing = self._store.put_all(entries)
        ended_s = self._time()
        self._next = ended_s + min(LONGEST_S, REST * (ended_s - began_s))
        return standing

    def commit(self) -> None:
        """Commit the entries that wait."""
        self._entries.go()

    async def flush(self) -> None:
        """Commit the entries that wait; nothing is tried again, and a server that is away is not waited for."""
        self._last = True
        with self._store.hurried():
            while self._entries.waiting or self._entries.busy:
                self.commit()
                if self._thread is not None:  # until all steps that were given so far are done, and handed on
                    await asyncio.wrap_future(self._thread.submit(int))
                    await asyncio.sleep(0)
        self._last = False

    def _spill(self, entries: Waiting[Entry, Reply], error: StorageError) -> None:
        broken = self.broken(error)
        try:
            path = self._store.spill([entry for entry, _ in entries])
        except OSError as failure:
            self._note(because(Kind.REPLIES_LOST, len(entries), str(failure)))
            fail((future for _, future in entries), broken)
            return
        self._note(because(Kind.REPLIES_SPILLED, str(path)))
        for entry, future in entries:
            if not future.done():
                future.set_result(entry.reply)

    async def elsewhere(self, key: bytes) -> Reply | None:
        """Wait for a call that another process makes; return its reply, or None when its lease should be tried."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply | None] = loop.create_future()
        self._awaited[future] = key, 0
        if self._looking is None:
            self._looking = loop.call_later(self._poll_s, self._look)
        try:
            return await future
        finally:
            self._awaited.pop(future, None)

    def _look(self) -> None:
        awaited = {future: seen for future, seen in self._awaited.items() if not future.done()}
        if not awaited:
            self._looking = None
            return

        def find() -> dict[bytes, Reply]:
            return self._store.find({key for key, _ in awaited.values()})

        self.do(find, partial(self._seen, awaited), partial(self._unseen, awaited))

    def _seen(self, awaited: Awaited, found: Mapping[bytes, Reply]) -> None:
        for future, (key, rounds) in awaited.items():
            if future.done():
                continue
            self._awaited[future] = key, rounds + 1
            if key in found or rounds + 1 >= round(LEASE_S / self._poll_s):
                future.set_result(found.get(key))
        self._looking = asyncio.get_running_loop().call_later(self._poll_s, self._look)

    def _unseen(self, awaited: Awaited, error: Exception) -> None:
        if isinstance(error, StorageError) and self.patient(error):
            self._seen(awaited, {})
        else:
            self._looking = None
            fail(awaited, self.broken(error) if isinstance(error, StorageError) else error)

    def dismiss(self) -> None:
        """End all waits for other processes."""
        for future in self._awaited:
            if not future.done():
                future.set_result(None)

    def do(self, step: Callable[[], T], then: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        """Run a step; call `then` with what it returns, or `failed` with what it raises."""
        if self._thread is None:
            try:
                found = step()
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                failed(error)
            else:
                then(found)
            return

        def hand_on(done: asyncio.Future[T]) -> None:
            error = done.exception()
            if error is None:
                then(done.result())
            elif isinstance(error, Exception):
                failed(error)
            else:
                raise error

        asyncio.wrap_future(self._thread.submit(step)).add_done_callback(hand_on)

    async def step(self, step: Callable[[], T]) -> T:
        """Return what a step returns. It is run to its end, also where nobody waits any more."""
        if self._thread is None:
            return step()
        future = asyncio.wrap_future(self._thread.submit(step))
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait for it any more
        return await asyncio.shield(future)

    async def storing(self, step: Callable[[], T]) -> T:
        """
        Return what a step returns; while others keep the cache locked, it is tried again.

        Raises:
            JudgeError: the cache failed.
        """
        while True:
            try:
                found = await self.step(step)
            except StorageError as error:
                if not self.patient(error):
                    raise self.broken(error) from error
                await asyncio.sleep(LOOK_S)
            else:
                self.served()
                return found

    def patient(self, error: StorageError) -> bool:
        """Return whether what failed may be tried again in a moment: others keep the cache locked, not for long yet."""
        if not error.busy or self._last:
            return False
        now = asyncio.get_running_loop().time()
        if self._busy_since is None:
            self._busy_since = now
        return now - self._busy_since < PATIENCE_S

    def served(self) -> None:
        """Note that the cache took or gave something: it is not locked."""
        self._busy_since = None

    def broken(self, error: StorageError) -> JudgeError:
        """Begin no more calls, since the cache failed; return the error for who waits."""
        if not self.fault:
            self.fault = because(Kind.CACHE_FAILED, str(error))
            self._halted(NOT_KEPT)
        return JudgeError(NOT_KEPT, fatal=True)

    def close(self) -> None:
        """End the thread that takes steps to a server, when its last step is done."""
        if self._thread is not None:
            self._thread.shutdown(wait=False)


class Later:
    """What a step returns for what has to wait: it goes first in the next one."""


LATER: Final = Later()


class Line(Generic[T, R]):
    """
    What waits for one kind of step to the store: all that came before one begins goes together, in its order.

    `step` returns the result of each, a `JudgeError`, or `LATER`. Who comes while one is on its way goes with the next.
    `unwanted` is told of results that nobody waits for any more; with `keep`, those go all the same. `refused` is told
    what the store did not take; without it, each gets the error.
    """

    def __init__(
        self,
        journal: Journal,
        step: Callable[[list[T]], Sequence[R | JudgeError | Later]],
        *,
        unwanted: Callable[[T, R], None] = lambda _, __: None,
        keep: bool = False,
        refused: Callable[[Waiting[T, R], StorageError], None] | None = None,
        again_s: float = AGAIN_S,
    ) -> None:
        self._journal, self._step, self._unwanted, self._keep = journal, step, unwanted, keep
        self._refused, self._again_s = refused, again_s
        self.waiting: list[tuple[T, asyncio.Future[R]]] = []
        self.busy = False
        self._timer: asyncio.Handle | None = None

    async def wait(self, item: T, later_s: float = 0.0, *, at_once: bool = False) -> R:
        """Return the result for an item; the step begins in so many seconds, or when this turn of the loop ends."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self.waiting.append((item, future))
        if at_once:
            self.go()
        elif self._timer is None:
            self._timer = loop.call_later(later_s, self.go) if later_s > 0 else loop.call_soon(self.go)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._unwanted(item, future.result())  # it came just when nobody wanted it any more
            raise

    def go(self) -> None:
        """Take all that wait to the store."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.busy or not self.waiting:
            return
        some = self.waiting if self._keep else [one for one in self.waiting if not one[1].done()]
        self.waiting = []
        if some:
            self.busy = True
            step = partial(self._step, [item for item, _ in some])
            self._journal.do(step, partial(self._done, some), partial(self._failed, some))

    def _done(self, some: Waiting[T, R], found: Sequence[R | JudgeError | Later]) -> None:
        self._journal.served()
        later: Waiting[T, R] = []
        for (item, future), result in zip(some, found, strict=True):
            if isinstance(result, Later):
                later.append((item, future))
            elif isinstance(result, JudgeError):
                fail([future], result)
            elif future.done():
                self._unwanted(item, result)
            else:
                future.set_result(result)
        self._again(later)

    def _failed(self, some: Waiting[T, R], error: Exception) -> None:
        later: Waiting[T, R] = []
        if not isinstance(error, StorageError):
            fail((future for _, future in some), error)
        elif self._journal.patient(error):
            later = some
        elif self._refused is not None:
            self._refused(some, error)
        else:
            fail((future for _, future in some), self._journal.broken(error))
        self._again(later)

    def _again(self, later: Waiting[T, R]) -> None:
        self.busy, came = False, bool(self.waiting)
        self.waiting[:0] = later
        if later and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._again_s, self.go)
        elif came and not later:
            self.go()


def fail(futures: Iterable[asyncio.Future[T]], error: Exception) -> None:
    """Give an error to those who still wait: the fault of the cache may have ended their wait already."""
    for future in futures:
        if not future.done():
            future.set_exception(error)
