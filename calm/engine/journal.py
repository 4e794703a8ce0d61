"""Look-ups, leases and replies on their way to the store: those of one moment share one statement or transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, TypeVar

from calm.core.reasons import Kind, because
from calm.engine.calls import Calls
from calm.engine.rows import Entry
from calm.engine.store import Store
from calm.errors import StorageError
from calm.models.wire import Reply

T = TypeVar("T")

MOST: Final = 32
"""So many replies are committed at once."""
LONGEST_S: Final = 0.01
"""For how many seconds a reply waits at most for others."""
REST: Final = 20.0
"""After a commit, the next one waits this many times as long as it took: a fast disk is written to more often."""
POLL_S: Final = 0.05
ROUNDS: Final = 20
"""A call that another process makes is looked up every `POLL_S` seconds; after so many looks its lease is tried."""
AGAIN_S: Final = 0.2
"""After so many seconds a write is tried again that a locked file refused."""


class Journal:
    """
    Looks replies up, takes leases and commits replies for one event loop.

    A reply is returned only after it is committed, so no decision rests on one that a crash could lose. While the file
    is locked, leases and replies wait. Replies that it does not take are written beside it, and no more calls begin.
    """

    def __init__(self, store: Store, calls: Calls) -> None:
        self._store, self._calls = store, calls
        self._sought: list[tuple[bytes, asyncio.Future[Reply | None]]] = []
        self._claims: list[tuple[bytes, asyncio.Future[bool]]] = []
        self._entries: list[tuple[Entry, asyncio.Future[Reply]]] = []
        self._timer: asyncio.Handle | None = None
        self._next = 0.0
        self._awaited: dict[asyncio.Future[Reply | None], tuple[bytes, int]] = {}
        self._looking: asyncio.TimerHandle | None = None

    async def find(self, key: bytes) -> Reply | None:
        """
        Return the reply that the store holds under a key.

        Callbacks of a loop run in the order of their calls. So whoever gets None goes on before the task of a reply
        that was committed after the look-up: its call is still under way then, and is not made twice.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply | None] = loop.create_future()
        if not self._sought:
            loop.call_soon(self._find_all)
        self._sought.append((key, future))
        return await future

    def _find_all(self) -> None:
        sought, self._sought = self._sought, []
        try:
            found = self._store.find({key for key, _ in sought})
        except StorageError as error:
            _fail((future for _, future in sought), self._calls.broken(error))
            return
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            _fail((future for _, future in sought), error)
            return
        for key, future in sought:
            if not future.done():
                future.set_result(found.get(key))

    async def claim(self, key: bytes) -> bool:
        """Return whether this process is to make a call; False while another live process makes it."""
        if self._store.alone:
            return True
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        if not self._claims:
            loop.call_soon(self._claim_all)
        self._claims.append((key, future))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None and future.result():
                self._store.release(key)  # the lease came while the call was cancelled
            raise

    def _claim_all(self) -> None:
        claims, self._claims = [c for c in self._claims if not c[1].done()], []
        if not claims:
            return
        try:
            found = self._store.claim_all([key for key, _ in claims])
        except StorageError as error:
            if self._calls.patient(error):
                self._claims = claims
                asyncio.get_running_loop().call_later(AGAIN_S, self._claim_all)
            else:
                _fail((future for _, future in claims), self._calls.broken(error))
            return
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            _fail((future for _, future in claims), error)
            return
        self._calls.served()
        for (_, future), mine in zip(claims, found, strict=True):
            future.set_result(mine)

    async def record(self, entry: Entry, *, more: bool = False) -> Reply:
        """
        Commit an entry and return the reply that now stands. It is committed even if nobody waits.

        With `more` calls under way it waits a moment, so that their replies are committed with it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()
        self._entries.append((entry, future))
        if len(self._entries) >= MOST:
            self.commit()
        elif self._timer is None:
            wait_s = self._next - loop.time() if more else 0.0
            self._timer = loop.call_later(wait_s, self.commit) if wait_s > 0 else loop.call_soon(self.commit)
        return await future

    def commit(self, *, last: bool = False) -> None:
        """Commit the entries that wait; the `last` time nothing is tried again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        entries, self._entries = self._entries, []
        if not entries:
            return
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            standing = self._store.put_all([entry for entry, _ in entries])
        except StorageError as error:
            if self._calls.patient(error) and not last:
                self._entries = entries
                self._timer = loop.call_later(AGAIN_S, self.commit)
            else:
                self._spill(entries, error)
            return
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            _fail((future for _, future in entries), error)
            return
        self._calls.served()
        ended = loop.time()
        self._next = ended + min(LONGEST_S, REST * (ended - began))
        for (_, future), reply in zip(entries, standing, strict=True):
            if not future.done():
                future.set_result(reply)

    def _spill(self, entries: list[tuple[Entry, asyncio.Future[Reply]]], error: StorageError) -> None:
        """Write entries beside the cache, which does not take them. Then they are kept, and their callers get them."""
        broken, ledger = self._calls.broken(error), self._calls.ledger
        try:
            path = self._store.spill([entry for entry, _ in entries])
        except OSError as failure:
            ledger.note(because(Kind.REPLIES_LOST, len(entries), str(failure)))
            _fail((future for _, future in entries), broken)
            return
        ledger.note(because(Kind.REPLIES_SPILLED, str(path)))
        for entry, future in entries:
            if not future.done():
                future.set_result(entry.reply)

    async def elsewhere(self, key: bytes) -> Reply | None:
        """Wait for a call that another process makes; return its reply, or None when its lease should be tried."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply | None] = loop.create_future()
        self._awaited[future] = key, 0
        if self._looking is None:
            self._looking = loop.call_later(POLL_S, self._look)
        try:
            return await future
        finally:
            self._awaited.pop(future, None)

    def _look(self) -> None:
        self._looking = None
        awaited = {future: seen for future, seen in self._awaited.items() if not future.done()}
        if not awaited:
            return
        try:
            found = self._store.find({key for key, _ in awaited.values()})
        except StorageError as error:
            if not self._calls.patient(error):
                _fail(awaited, self._calls.broken(error))
                return
            found = {}
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            _fail(awaited, error)
            return
        for future, (key, rounds) in awaited.items():
            self._awaited[future] = key, rounds + 1
            if key in found or rounds + 1 >= ROUNDS:
                future.set_result(found.get(key))
        self._looking = asyncio.get_running_loop().call_later(POLL_S, self._look)

    def dismiss(self) -> None:
        """End all waits for other processes."""
        for future in self._awaited:
            if not future.done():
                future.set_result(None)


def _fail(futures: Iterable[asyncio.Future[T]], error: Exception) -> None:
    """Give an error to those who still wait: the fault of the cache may have ended their wait already."""
    for future in futures:
        if not future.done():
            future.set_exception(error)
