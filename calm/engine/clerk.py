"""What is written to the record in a moment is written together: one transaction for many leases or many replies."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from calm.engine.store import Kept, Store
from calm.models.wire import Reply

MOST: Final = 32
"""So many replies are committed at once."""
LONGEST_S: Final = 0.01
"""A reply waits no longer than this for others to be committed with."""
REST: Final = 20.0
"""After a commit so many times as long as it took passes before the next: a fast file is written to more often."""
POLL_S: Final = 0.05
ROUNDS: Final = 20
"""A call that another process makes is looked for every `POLL_S` seconds; after so many looks its lease is tried."""


class Clerk:
    """
    Leases and keeps calls in the record for one event loop.

    Nobody is told of a reply before it is committed, so that no decision rests on one that a crash could lose.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claims: list[tuple[bytes, asyncio.Future[bool]]] = []
        self._replies: list[tuple[Kept, asyncio.Future[Reply]]] = []
        self._timer: asyncio.Handle | None = None
        self._next = 0.0
        self._awaited: dict[asyncio.Future[Reply | None], tuple[bytes, int]] = {}
        self._looking: asyncio.TimerHandle | None = None

    async def claim(self, key: bytes) -> bool:
        """Return whether this process is to make a call; False while another one that is alive does."""
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
                self._store.release(key)  # the lease came as the call was called off
            raise

    def _claim_all(self) -> None:
        claims, self._claims = [c for c in self._claims if not c[1].done()], []
        if not claims:
            return
        try:
            found = self._store.claim_all([key for key, _ in claims])
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            for _, future in claims:
                future.set_exception(error)
            return
        for (_, future), mine in zip(claims, found, strict=True):
            future.set_result(mine)

    async def keep(self, answered: Kept, *, more: bool = False) -> Reply:
        """
        Commit an answered call and return the reply that now stands; it is committed even if nobody waits.

        With `more` calls under way it waits for their replies for a moment, to be committed with them.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()
        self._replies.append((answered, future))
        if len(self._replies) >= MOST:
            self.commit()
        elif self._timer is None:
            wait_s = self._next - monotonic() if more else 0.0
            self._timer = loop.call_later(wait_s, self.commit) if wait_s > 0 else loop.call_soon(self.commit)
        return await future

    def commit(self) -> None:
        """Commit what is waiting to be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        replies, self._replies = self._replies, []
        if not replies:
            return
        began = monotonic()
        try:
            standing = self._store.put_all([answered for answered, _ in replies])
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            for _, future in replies:
                if not future.done():
                    future.set_exception(error)
            return
        finally:
            ended = monotonic()
            self._next = ended + min(LONGEST_S, REST * (ended - began))
        for (_, future), reply in zip(replies, standing, strict=True):
            if not future.done():
                future.set_result(reply)

    async def elsewhere(self, key: bytes) -> Reply | None:
        """Wait for a call that another process makes: return its reply, or None when its lease is to be tried."""
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
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            for future in awaited:
                future.set_exception(error)
            return
        for future, (key, rounds) in awaited.items():
            self._awaited[future] = key, rounds + 1
            if key in found or rounds + 1 >= ROUNDS:
                future.set_result(found.get(key))
        self._looking = asyncio.get_running_loop().call_later(POLL_S, self._look)

    def dismiss(self) -> None:
        """Let all that wait for other processes go."""
        for future in self._awaited:
            if not future.done():
                future.set_result(None)
