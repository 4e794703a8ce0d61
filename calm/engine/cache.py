"""The way of a request: its reply comes from the cache, from an equal call under way, or from the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from calm.core.reasons import Kind, because
from calm.engine.attempts import Attempts, Taken
from calm.engine.batching.desk import BatchDesk
from calm.engine.batching.route import BatchRoute
from calm.engine.calls import STOPPED, Calls
from calm.engine.charges import Charges
from calm.engine.clerk import Clerk
from calm.engine.journal import Journal
from calm.engine.requests import PreparedRequest, Requests
from calm.engine.rows import Entry
from calm.engine.scheduler import PLACE
from calm.engine.servers import Servers
from calm.engine.store import Mode, Store
from calm.errors import JudgeError
from calm.models.wire import Reply, Request


class Cache:
    """
    Replies by key: each is asked for once in a run, and once in the life of the store.

    `clerk` takes what it asks of the store there. `idling` is entered while a call waits for another process. `batches`
    sends the calls to servers that take batches (None: every call is made live).
    """

    def __init__(
        self,
        store: Store,
        calls: Calls,
        servers: Servers,
        attempts: Attempts,
        idling: Callable[[], AbstractContextManager[None]],
        *,
        clerk: Clerk,
        charges: Charges,
        batches: BatchDesk | None = None,
    ) -> None:
        self._store, self._calls, self._servers, self._attempts = store, calls, servers, attempts
        self._by_batch = None if batches is None else BatchRoute(self, batches, calls.ledger, charges)
        self._idling = idling
        self._journal = Journal(store, calls, clerk)
        self._requests = Requests(servers, store.series)
        self._flights: dict[bytes, asyncio.Future[Reply]] = {}

    @property
    def series(self) -> str:
        """Whose replies are found; it is a part of every key."""
        return self._store.series

    def key(self, request: Request, ask: int) -> bytes:
        """Return the key of a request, for a repeat index."""
        return self._requests.prepared(request).key(ask)

    async def send(self, request: Request, ask: int, *, patient: bool = False) -> tuple[bytes, Reply]:
        """
        Return the key and the reply of one call.

        A `patient` caller waits until the reply is there. Another one may be cancelled before: the call is billed all
        the same, so it goes on, and its reply is kept.

        Raises:
            JudgeError: there is no reply.
        """
        prepared = self._requests.prepared(request)
        key = prepared.key(ask)
        if self._by_batch is not None and self._by_batch.takes(prepared.server):
            return key, await self._by_batch.send(prepared, key, PLACE.get() if patient else None)
        if key not in self._flights:
            reply = await self.get(key)
            if reply is not None:
                return key, reply
        flight = self._flights.get(key)
        if flight is not None:
            return key, await asyncio.shield(flight)
        if patient:
            return key, await self._flown(prepared, key)
        flight = self._flights[key] = asyncio.ensure_future(self._once(prepared, key))
        flight.add_done_callback(partial(self._landed, key))
        return key, await asyncio.shield(flight)

    def _landed(self, key: bytes, flight: asyncio.Future[Reply]) -> None:
        self._flights.pop(key, None)
        if not flight.cancelled():
            flight.exception()  # it may be that nobody waits any more

    async def get(self, key: bytes) -> Reply | None:
        """Return the reply that the store holds under a key, and count it."""
        reply = await self._journal.find(key)
        if reply is not None:
            place = PLACE.get()
            if place is None or place.aside is None or key not in place.aside.known:
                self._calls.ledger.found(key)
        elif self._store.damaged:
            self._calls.ledger.note(because(Kind.ROWS_DAMAGED))
        return reply

    async def find(self, keys: Collection[bytes]) -> Mapping[bytes, Reply]:
        """Return the replies that the store holds under some keys, without counting them; none in a run by batches."""
        return {} if self._by_batch is not None else await self._journal.find_all(keys)

    async def claim(self, key: bytes) -> bool:
        """Return whether this process is to make a call; else wait a moment for the process that makes it."""
        if await self._journal.claim(key):
            return True
        await self._elsewhere(key)
        return False

    async def takes(self, key: bytes) -> bool:
        """Return whether this process is to make a call; False while another one makes it."""
        return await self._journal.claim(key)

    async def record(self, key: bytes, request: str, reply: Reply) -> Reply:
        """Keep the reply to a call that this process made; return the reply that now stands."""
        self._calls.ledger.answered(key)
        return await self._journal.record(Entry(key, request, reply), more=self._calls.under_way > 0)

    def release(self, key: bytes) -> None:
        """Give up the lease on a call that was not answered."""
        self._journal.release(key)

    def stop(self) -> None:
        """End all waits for other processes."""
        self._journal.dismiss()

    async def flush(self) -> None:
        """Commit the replies that wait to be committed."""
        await self._journal.flush()

    async def _flown(self, prepared: PreparedRequest, key: bytes) -> Reply:
        """Make a call in the task of its caller, who is not cancelled; a task of its own would take longer."""
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._once(prepared, key)
        except BaseException as error:
            stopped = isinstance(error, asyncio.CancelledError)
            flight.set_exception(JudgeError(STOPPED, fatal=True) if stopped else error)
            flight.exception()  # it may be that nobody waits
            raise
        else:
            flight.set_result(reply)
            return reply
        finally:
            del self._flights[key]

    async def _once(self, prepared: PreparedRequest, key: bytes) -> Reply:
        """Make a call that no other process makes, or wait for its reply."""
        if (reply := await self._leased(key)) is not None:
            return reply
        try:
            return await self.make(prepared, key)
        except BaseException:
            self.release(key)
            raise

    async def _leased(self, key: bytes) -> Reply | None:
        """Take the lease on a call; return its reply if another process makes it."""
        while not await self._journal.claim(key):
            reply = await self.elsewhere(key)
            if reply is not None:
                return reply
        return None

    async def elsewhere(self, key: bytes) -> Reply | None:
        """Wait while another process makes a call, for a moment or until its reply is there; count it then."""
        reply = await self._elsewhere(key)
        if reply is not None:
            self._calls.ledger.found(key)
        return reply

    async def _elsewhere(self, key: bytes) -> Reply | None:
        with self._idling():
            reply = await self._journal.elsewhere(key)
        if reply is None:
            self._calls.check()
        return reply

    async def make(self, prepared: PreparedRequest, key: bytes, *, failures: int = 0) -> Reply:
        """Make a call live, of which so many attempts have failed, and keep its reply."""
        self.may_call(key)
        while True:
            call = prepared.call
            if failures:
                call = replace(call, retries=max(0, call.retries - failures))
            try:
                reply = await self._attempts.reply(call, partial(self._store.holds, key))
            except Taken as taken:
                failures += taken.failures
                if (found := await self._leased(key)) is not None:
                    return found
            else:
                return await self.record(key, prepared.stored, self._by_the_model(prepared, reply))

    def may_call(self, key: bytes) -> None:
        """Raise a `JudgeError` if no call may be made."""
        if self._store.mode is Mode.REPLAY:
            raise JudgeError(because(Kind.CALL_DAMAGED if key in self._store.damaged else Kind.CALL_NOT_CACHED))

    def _by_the_model(self, prepared: PreparedRequest, reply: Reply) -> Reply:
        """Return a reply if it is by the model of this run; else its server is given up."""
        if why := self._servers.mismatch(prepared.server, reply.model):
            self._servers.lose(prepared.server, why)
            raise JudgeError(why, fatal=True)
        return reply
