"""Leases and replies on their way to the store: those of one moment share one transaction."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from calm.engine.store import Entry, Store
from calm.models.wire import Reply

MOST: Final = 32
"""So many replies are committed at once."""
LONGEST_S: Final = 0.01
"""For how many seconds a reply waits at most for others."""
REST: Final = 20.0
"""After a commit, the next one waits this many times as long as it took: a fast disk is written to more often."""
POLL_S: Final = 0.05
ROUNDS: Final = 20
"""A call that another process makes is looked up every `POLL_S` seconds; after so many looks its lease is tried."""


class Journal:
    """
    Takes leases and commits replies for one event loop.

    A reply is returned only after it is committed, so no decision rests on one that a crash could lose.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claims: list[tuple[bytes, asyncio.Future[bool]]] = []
        self._entries: list[tuple[Entry, asyncio.Future[Reply]]] = []
        self._timer: asyncio.Handle | None = None
        self._next = 0.0
        self._awaited: dict[asyncio.Future[Reply | None], tuple[bytes, int]] = {}
        self._looking: asyncio.TimerHandle | None = None

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
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            for _, future in claims:
                future.set_exception(error)
            return
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
            wait_s = self._next - monotonic() if more else 0.0
            self._timer = loop.call_later(wait_s, self.commit) if wait_s > 0 else loop.call_soon(self.commit)
        return await future

    def commit(self) -> None:
        """Commit the entries that wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        entries, self._entries = self._entries, []
        if not entries:
            return
        began = monotonic()
        try:
            standing = self._store.put_all([entry for entry, _ in entries])
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            for _, future in entries:
                if not future.done():
                    future.set_exception(error)
            return
        finally:
            ended = monotonic()
            self._next = ended + min(LONGEST_S, REST * (ended - began))
        for (_, future), reply in zip(entries, standing, strict=True):
            if not future.done():
                future.set_result(reply)

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
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            for future in awaited:
                future.set_exception(error)
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
