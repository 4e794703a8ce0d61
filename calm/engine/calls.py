"""The way of a call: from the cache, from an equal call under way, or from the server, in one attempt or several."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b, sha256
from random import Random
from typing import TYPE_CHECKING, Final, Protocol

from calm.core.reasons import Kind, because, name, reason_of
from calm.core.recent import Recent
from calm.engine.journal import Journal
from calm.engine.money import STOPPED, Calls, Charges
from calm.engine.queue import PLACE, Place
from calm.engine.servers import Server, Servers
from calm.engine.store import Entry, Mode, Store, request_text
from calm.engine.thread import Clerk
from calm.errors import JudgeError
from calm.models.pacing import Beginnings, Health, Pace
from calm.models.pricing import tokens_in
from calm.models.wire import Endpoint, Reply, Request, Sent

if TYPE_CHECKING:
    from hashlib import _Hash as _Digest


_COMPACT: Final = json.JSONEncoder(separators=(",", ":"))
REMEMBERED: Final = 1 << 22
"""Bytes of requests that are remembered; the same one is sent several times, under several repeat indices."""
LEAST_BYTES: Final = 2000
"""About how many bytes a request takes beside the texts in it."""


@dataclass(eq=False)
class PreparedRequest:
    """
    A request with its server and its body as it is sent.

    `digest` is that of its key without the repeat index, `shown` counts the characters of the prompt, and `size` those
    of the body or the prompt, whichever has more.
    """

    request: Request
    server: Server
    sent: Sent
    digest: _Digest
    size: int
    shown: int

    def key(self, ask: int) -> bytes:
        """Return its key in the cache, for a repeat index."""
        key = self.digest.copy()
        key.update(f",{ask}]".encode())
        return key.digest()

    @cached_property
    def call(self) -> Call:
        """What makes it."""
        endpoint = self.request.endpoint
        tokens = tokens_in(self.shown) // 2 + endpoint.max_tokens // 8
        # what makes it may not hold this request, which holds it: each would wait for the collector of cycles
        make = partial(endpoint.call, self.sent)
        beginning = self.beginning if any(self.sent.shared[:1]) else b""
        return Call(endpoint, make, self.size, tokens, endpoint.retries, self.sent, beginning)

    @property
    def beginning(self) -> bytes:
        """What its prompt and those about all other cases begin with, and which server it goes to."""
        text = "".join(message.text for message in self.request.prompt)[: self.sent.shared[0]]
        return blake2b(f"{self.server.identity} {text}".encode(errors="surrogatepass"), digest_size=16).digest()

    @property
    def stored(self) -> str:
        """The text that the cache keeps of it."""
        return request_text(self.request.prompt, self.sent.text, self.sent)


class Requests:
    """Prepares requests. The model that serves a server is a part of the key, and so is a series that is not ""."""

    def __init__(self, servers: Servers, series: str = "") -> None:
        self._servers = servers
        self._series = (series,) if series else ()
        self._prepared = Recent[int, PreparedRequest](REMEMBERED)

    def prepared(self, request: Request) -> PreparedRequest:
        """Return a request with all that follows from it."""
        found = self._prepared.get(id(request))  # which holds the request
        if found is None:
            server = self._servers.of(request.endpoint)
            served = self._servers.served.get(server.identity, "")
            again = (request.occurrence,) if request.occurrence else ()  # a number, which no series is
            whose = _COMPACT.encode([server.identity, served, *self._series, *again])
            sent = Sent(request.body, request.shared)
            shown = sum(len(m.text) for m in request.prompt)
            digest = sha256(f"{whose[:-1]},".encode())
            digest.update(sent.text.encode())
            made = PreparedRequest(request, server, sent, digest, max(len(sent.text), shown), shown)
            found = self._prepared.put(id(request), made, LEAST_BYTES + len(sent.text) + shown)
        return found


MOST_BACKOFF_S: Final = 8.0
MOST_WAIT_S: Final = 120.0
"""A server that asks for a longer wait than this is not waited for."""


@dataclass(frozen=True, slots=True)
class Call:
    """
    A call that may take several attempts: `make` makes one.

    `size` counts the characters of its body (0: a greeting), `tokens` is about how many it will use, and `retries` is
    how often it may be tried again. `sent` is its body, where that may be changed. `beginning` names what its prompt
    and many others begin with (b"": nothing).
    """

    endpoint: Endpoint
    make: Callable[[], Awaitable[Reply]]
    size: int
    tokens: int
    retries: int
    sent: Sent | None = None
    beginning: bytes = b""


class Taken(JudgeError):
    """A call that another process may make by now; so many `failures` it had."""

    failures = 0


class Attempts:
    """
    Makes calls.

    `first_wait_s` is the wait before the second attempt, in seconds. `idling` is entered while a call only waits.
    With `kept`, the reason of a lost server says that replies were kept. `jitter` spreads the waits of several calls.
    """

    def __init__(
        self,
        servers: Servers,
        calls: Calls,
        charges: Charges,
        *,
        first_wait_s: float,
        idling: Callable[[], AbstractContextManager[None]],
        kept: bool,
        jitter: Random,
    ) -> None:
        self._servers, self._calls, self._charges = servers, calls, charges
        self._first_wait_s, self._idling, self._random = first_wait_s, idling, jitter
        self._beginnings = Beginnings()
        self._lost = Kind.SERVER_LOST_KEPT if kept else Kind.SERVER_LOST

    async def reply(self, call: Call, holds: Callable[[], bool] = lambda: True) -> Reply:
        """
        Return the reply to a call. Before each attempt it is asked whether this process still `holds` the lease on it.

        Raises:
            Taken: it does not.
            JudgeError: the last attempt failed, a cap would be passed, the server was given up, or the run is stopped.
        """
        server = self._servers.of(call.endpoint)
        pace, health = server.pace, server.health
        failures: list[JudgeError] = []
        loop = asyncio.get_running_loop()
        first = await self._beginnings.turn(call.beginning, health) if call.beginning else None
        try:
            while True:
                if failures or not (health.sound and pace.grab()):
                    async with health.waiting():
                        await _place(pace, health, call.tokens, again=bool(failures))
                began_s = loop.time()
                try:
                    found = await self._attempt(call, server, holds, again=bool(failures))
                except Taken as taken:
                    taken.failures = len(failures)
                    raise
                finally:
                    pace.give()
                    if first is not None:  # whatever came of it: nobody waits for its retries
                        first.set()
                if isinstance(found, Reply):
                    pace.answered()
                    health.answered()
                    return replace(found, retries=len(failures)) if failures else found
                failures.append(found)
                if len(failures) == 1:
                    health.begin_retries()
                if found.limited:
                    pace.limited(began_s, loop.time())
                self._weigh(server, call.endpoint, failures)
                await self._wait(server, failures, call)
        finally:
            if first is not None:
                first.set()
            if failures:
                health.end_retries()

    async def _attempt(
        self, call: Call, server: Server, holds: Callable[[], bool], *, again: bool
    ) -> Reply | JudgeError:
        """Make one attempt within the caps; return its reply, or why there is none."""
        charges = self._charges
        charge = await charges.begin(server, call.endpoint, call.size, batch=False, again=again, sent=call.sent)
        if not holds():
            taken = Taken(pending=True, again=True)  # whoever makes it counts it
            charges.failed(charge, taken)
            raise taken
        make = call.make if charge.short is None else partial(call.endpoint.call, charge.short)
        try:
            longest_s = self._calls.longest_s
            if longest_s is None:
                reply = await make()
            else:
                async with asyncio.timeout(longest_s):
                    reply = await make()
        except TimeoutError:
            error = JudgeError(self._calls.budget.out_of_time, billed=True)
            charges.failed(charge, error)
            return error
        except JudgeError as error:
            charges.failed(charge, error)
            return error
        except BaseException:  # it is under way, and may be billed
            charges.failed(charge, JudgeError(billed=True))
            raise
        charges.answered(charge, reply)
        if charge.cuts(reply):
            raise JudgeError(charge.cap)
        return reply

    def _weigh(self, server: Server, endpoint: Endpoint, failures: list[JudgeError]) -> None:
        """Note a failed attempt, and give the server up if there is no more hope."""
        health, last = server.health, failures[-1]
        if last.fatal or (last.unproven and not health.proven):
            self._servers.lose(server, reason_of(last))
        elif health.failed(failures):
            self._servers.lose(server, because(self._lost, name(endpoint.model), health.row, reason_of(last)))
        health.check()

    async def _wait(self, server: Server, failures: list[JudgeError], call: Call) -> None:
        """Wait before the next attempt; raise the last failure if there is none."""
        last = failures[-1]
        if not last.again or len(failures) > call.retries or (last.after_s is not None and last.after_s > MOST_WAIT_S):
            raise no_reply(last, len(failures))
        if last.after_s:
            wait_s = last.after_s * self._random.uniform(1.0, 1.1)  # not all at the same moment
        else:
            backoff_s = min(self._first_wait_s * 2.0 ** (len(failures) - 1), MOST_BACKOFF_S)
            wait_s = backoff_s * self._random.uniform(0.75, 1.0)
        with self._idling():
            async with server.health.waiting():
                await asyncio.sleep(wait_s)


def no_reply(last: JudgeError, failures: int) -> JudgeError:
    """Return the error for a call without a reply: why the `last` of so many attempts failed."""
    why = reason_of(last)
    return JudgeError(
        because(Kind.TRIED, why, failures) if failures > 1 else why,
        again=last.again,
        unknown=last.unknown,
        too_long=last.too_long,
        silent=last.silent,
    )


async def _place(pace: Pace, health: Health, tokens: int, *, again: bool) -> None:
    """Take a place for an attempt; while the server is in doubt, only a repeated call may have one."""
    while True:
        if not again:
            await health.trusted.wait()
        await pace.take(tokens, again=again)
        if health.lost is None and (again or health.trusted.is_set()):
            return
        pace.give()
        health.check()


class Route(Protocol):
    """A way by which calls to some servers go."""

    def takes(self, server: Server) -> bool:
        """Return whether the calls to a server go this way."""

    async def send(self, prepared: PreparedRequest, key: bytes, place: Place | None) -> Reply:
        """Return the reply to a call; an ask at a `place` may be set aside, and begun again. Raises a `JudgeError`."""


class Cache:
    """
    Replies by key: each is asked for once in a run, and once in the life of the store.

    `clerk` takes what it asks of the store there. `idling` is entered while a call waits for another process.
    `by_batch` sends the calls to servers that take batches (None: every call is made live).
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
    ) -> None:
        self._store, self._calls, self._servers, self._attempts = store, calls, servers, attempts
        self.by_batch: Route | None = None
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
        if self.by_batch is not None and self.by_batch.takes(prepared.server):
            return key, await self.by_batch.send(prepared, key, PLACE.get() if patient else None)
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
        return {} if self.by_batch is not None else await self._journal.find_all(keys)

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
