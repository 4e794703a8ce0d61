"""Look-ups, leases and replies on their way to the store: those of one moment share one statement or transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar

from calm.core.reasons import Kind, because
from calm.engine.database import AGAIN_S
from calm.engine.money import Calls
from calm.engine.store import Entry, Store
from calm.engine.thread import Clerk
from calm.errors import StorageError
from calm.models.wire import Reply

T = TypeVar("T")

MOST: Final = 32
"""So many replies are committed at once."""
MOST_CHARACTERS: Final = 1 << 20
"""Or as many as have requests of so many characters together: while they wait, their prompts lie in memory."""
LONGEST_S: Final = 0.01
"""For how many seconds a reply waits at most for others."""
REST: Final = 20.0
"""After a commit, the next one waits this many times as long as it took: a fast disk is written to more often."""
POLL_S: Final = 0.05
REMOTE_POLL_S: Final = 0.2
"""A call that another process makes is looked up every so many seconds, in a file and on a server."""
LEASE_S: Final = 1.0
"""After so many seconds of looking, its lease is tried."""

Claims: TypeAlias = "list[tuple[bytes, asyncio.Future[bool]]]"
Entries: TypeAlias = "list[tuple[Entry, asyncio.Future[Reply]]]"
Awaited: TypeAlias = "dict[asyncio.Future[Reply | None], tuple[bytes, int]]"
Lookups: TypeAlias = "list[tuple[bytes, asyncio.Future[Reply | None]]]"


class Journal:
    """
    Looks replies up, takes leases and commits replies for one event loop; `clerk` takes them to the store.

    A reply is returned only after it is committed, so no decision rests on one that a crash could lose. While the file
    is locked, leases and replies wait. Replies that it does not take are written beside it, and no more calls begin.
    """

    def __init__(self, store: Store, calls: Calls, clerk: Clerk) -> None:
        self._store, self._calls, self._clerk = store, calls, clerk
        self._sought: Lookups = []
        self._claims: Claims = []
        self._entries: Entries = []
        self._characters = 0
        self._timer: asyncio.Handle | None = None
        self._busy: set[str] = set()
        """What is on its way to a server: what comes meanwhile goes together, when that is done."""
        self._last = False
        self._next = 0.0
        self._awaited: Awaited = {}
        self._looking: asyncio.TimerHandle | None = None
        self._poll_s = REMOTE_POLL_S if clerk.remote else POLL_S
        self._rounds = round(LEASE_S / self._poll_s)

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

    async def find_all(self, keys: Collection[bytes]) -> Mapping[bytes, Reply]:
        """Return the replies that the store holds; none where it fails: who looks for one alone meets that again."""
        try:
            return await self._clerk.wait(partial(self._store.find, keys))
        except StorageError:
            return {}

    def _find_all(self) -> None:
        if "sought" in self._busy or not self._sought:
            return
        sought, self._sought = self._sought, []
        self._busy.add("sought")

        def find() -> dict[bytes, Reply]:
            return self._store.find({key for key, _ in sought})

        self._clerk.do(find, partial(self._found, sought), partial(self._unfound, sought))

    def _found(self, sought: Lookups, found: Mapping[bytes, Reply]) -> None:
        self._busy.discard("sought")
        for key, future in sought:
            if not future.done():
                future.set_result(found.get(key))
        self._find_all()

    def _unfound(self, sought: Lookups, error: Exception) -> None:
        self._busy.discard("sought")
        reason = self._calls.broken(error) if isinstance(error, StorageError) else error
        _fail((future for _, future in sought), reason)
        self._find_all()

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
                self.release(key)  # the lease came while the call was cancelled
            raise

    def _claim_all(self) -> None:
        if "claims" in self._busy:
            return
        claims, self._claims = [c for c in self._claims if not c[1].done()], []
        if not claims:
            return
        self._busy.add("claims")
        keys = [key for key, _ in claims]
        self._clerk.do(
            partial(self._store.claim_all, keys), partial(self._claimed, claims), partial(self._unclaimed, claims)
        )

    def _claimed(self, claims: Claims, found: Sequence[bool]) -> None:
        self._busy.discard("claims")
        self._calls.served()
        for (key, future), mine in zip(claims, found, strict=True):
            if not future.done():
                future.set_result(mine)
            elif mine:  # the call was cancelled while the lease was on its way
                self.release(key)
        self._claim_all()

    def _unclaimed(self, claims: Claims, error: Exception) -> None:
        self._busy.discard("claims")
        if not isinstance(error, StorageError):
            _fail((future for _, future in claims), error)
        elif self._calls.patient(error):
            self._claims = claims + self._claims
            asyncio.get_running_loop().call_later(AGAIN_S, self._claim_all)
            return
        else:
            _fail((future for _, future in claims), self._calls.broken(error))
        self._claim_all()

    def release(self, key: bytes) -> None:
        """Give up the lease on a call that was not answered."""
        self._store.give_up(key)
        if "release" not in self._busy:
            self._busy.add("release")
            self._clerk.do(self._store.release, self._released, self._released)

    def _released(self, _: object) -> None:
        self._busy.discard("release")  # if it failed, the next sign of life does it

    async def record(self, entry: Entry, *, more: bool = False) -> Reply:
        """
        Commit an entry and return the reply that now stands. It is committed even if nobody waits.

        With `more` calls under way it waits a moment, so that their replies are committed with it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()
        self._entries.append((entry, future))
        self._characters += len(entry.request)
        if len(self._entries) >= MOST or self._characters >= MOST_CHARACTERS:
            self.commit()
        elif self._timer is None:
            wait_s = self._next - loop.time() if more else 0.0
            self._timer = loop.call_later(wait_s, self.commit) if wait_s > 0 else loop.call_soon(self.commit)
        return await future

    def commit(self) -> None:
        """Commit the entries that wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if "entries" in self._busy or not self._entries:
            return
        entries, self._entries = self._entries, []
        self._characters = 0
        self._busy.add("entries")
        began = asyncio.get_running_loop().time()
        put = partial(self._store.put_all, [entry for entry, _ in entries])
        self._clerk.do(put, partial(self._committed, entries, began), partial(self._refused, entries))

    async def flush(self) -> None:
        """Commit the entries that wait; nothing is tried again, and a server that is away is not waited for."""
        self._last = True
        with self._store.hurried():
            while self._entries or "entries" in self._busy:
                self.commit()
                await self._clerk.rest()
        self._last = False

    def _committed(self, entries: Entries, began: float, standing: Sequence[Reply]) -> None:
        self._busy.discard("entries")
        self._calls.served()
        ended = asyncio.get_running_loop().time()
        self._next = ended + min(LONGEST_S, REST * (ended - began))
        for (_, future), reply in zip(entries, standing, strict=True):
            if not future.done():
                future.set_result(reply)
        if self._clerk.remote:  # more may have come while those were on their way
            self.commit()

    def _refused(self, entries: Entries, error: Exception) -> None:
        self._busy.discard("entries")
        if not isinstance(error, StorageError):
            _fail((future for _, future in entries), error)
        elif self._calls.patient(error) and not self._last:
            self._entries = entries + self._entries
            self._timer = self._timer or asyncio.get_running_loop().call_later(AGAIN_S, self.commit)
            return
        else:
            self._spill(entries, error)
        self.commit()

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

        self._clerk.do(find, partial(self._seen, awaited), partial(self._unseen, awaited))

    def _seen(self, awaited: Awaited, found: Mapping[bytes, Reply]) -> None:
        for future, (key, rounds) in awaited.items():
            if future.done():
                continue
            self._awaited[future] = key, rounds + 1
            if key in found or rounds + 1 >= self._rounds:
                future.set_result(found.get(key))
        self._looking = asyncio.get_running_loop().call_later(self._poll_s, self._look)

    def _unseen(self, awaited: Awaited, error: Exception) -> None:
        if isinstance(error, StorageError) and self._calls.patient(error):
            self._seen(awaited, {})
        else:
            self._looking = None
            _fail(awaited, self._calls.broken(error) if isinstance(error, StorageError) else error)

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
