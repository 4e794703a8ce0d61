"""The engine: the only scheduler, and the only door to a model. It counts, caps, caches and records every call."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from heapq import heappop, heappush
from itertools import count
from random import Random
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from calm.core.case import Case, digest
from calm.core.reasons import Kind, Reason, because, reason_of
from calm.core.verdict import NoReply, Refused, Unreadable, Verdict, code, decode
from calm.engine.caps import Amount, Budget, Caps
from calm.engine.clerk import Clerk
from calm.engine.store import BEAT_S, Kept, Mode, Store, written
from calm.errors import ConfigError, JudgeError
from calm.models.conformance import schema_fault
from calm.models.pacing import PRIORITY, Health, Pace
from calm.models.pricing import cost, price_of, tokens_in
from calm.models.wire import Endpoint, Judge, Limits, Price, Reply, Request, Sent, Usage

if TYPE_CHECKING:
    from hashlib import _Hash as _Digest

T = TypeVar("T")

GREETING_RETRIES: Final = 3
FIRST_WAIT_S: Final = 0.5
MOST_BACKOFF_S: Final = 8.0
MOST_WAIT_S: Final = 120.0
"""A server that asks for a longer wait than this is not waited for."""
GREETING_TOKENS: Final = 1000
"""The most that the prompt of a greeting is taken to have: one short sentence, and the judge's schema."""
GRACE_S: Final = 10.0
"""How long calls in flight are waited for when a run is stopped: they are billed anyway, and go to the cache."""
STOPPED: Final = because(Kind.STOPPED)
MARGIN: Final = 1.2
"""How much more than the most that was seen so far a call may use."""
SPARE: Final = 16
"""How many asks of a judge without calls of its own in flight may be under way, beside as many as its concurrency."""
SLICE_S: Final = 0.01
"""How long asks that find all in the cache may keep the loop from everything else."""
AT_ONCE: Final = 256
"""How many questions are put in line before the loop turns to something else."""
COLLECT: Final = (50_000, 20, 100)
"""How many objects may be made before the collector of cycles looks at the young ones, the older, and all."""
KEY_BYTES: Final = 12
"""So many bytes of a key tell it from all others of a run."""
PRINTS: Final = 1024
"""How many requests are remembered with their keys: one is sent several times, with another repeat index."""


_ONE: Final = Amount(1)


@dataclass(frozen=True, slots=True)
class Asked:
    """The verdict of one ask, and the keys of the calls that it took."""

    verdict: Verdict
    calls: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """What came of one request: its key in the cache, and the reply, or why there is none."""

    key: bytes
    reply: Reply | NoReply


R = TypeVar("R", Asked, Response)


@dataclass(frozen=True, slots=True)
class Keys:
    """
    Which calls a process found in the record and which it made, by the first bytes of their keys.

    Several processes of one run find what one of them has made, and all find what was there before: only together they
    tell how many calls were saved.
    """

    found: set[bytes] = field(default_factory=set)
    answered: set[bytes] = field(default_factory=set)

    def packed(self) -> tuple[bytes, bytes]:
        """Return both, as bytes."""
        return b"".join(self.found), b"".join(self.answered)


def saved(packed: Iterable[tuple[bytes, bytes]]) -> int:
    """Return how many calls processes of one run found in the record that none of them had made."""

    def of(data: bytes) -> set[bytes]:
        return {data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES)}

    found: set[bytes] = set()
    answered: set[bytes] = set()
    for one, other in packed:
        found |= of(one)
        answered |= of(other)
    return len(found - answered)


@dataclass
class Ledger:
    """
    What a process has used so far.

    `made` counts attempts, those that failed and those that were repeated (`retried`) included.
    """

    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    usd: float = 0.0
    priced: bool = True
    keys: Keys | None = None

    def found(self, key: bytes) -> None:
        """Count a call whose reply the record holds."""
        self.calls["cached"] += 1
        if self.keys is not None:
            self.keys.found.add(key[:KEY_BYTES])

    def answered(self, key: bytes) -> None:
        """Note a call that this process made."""
        if self.keys is not None:
            self.keys.answered.add(key[:KEY_BYTES])


@dataclass(eq=False, slots=True)
class _Batch(Generic[R]):
    """Results that somebody waits for together, by their places."""

    results: list[R | None]
    left: int
    done: asyncio.Future[None]

    def take(self, place: int, result: R) -> None:
        self.results[place] = result
        self.left -= 1
        if self.left == 0 and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


@dataclass(eq=False, slots=True)
class _Job:
    """One ask that has no answer yet, and who waits for it; `foreseen` counts those who may come to want it."""

    key: bytes
    judge: Judge
    case: Case
    ask: int
    waiting: list[tuple[_Batch[Asked], int]] = field(default_factory=list)
    foreseen: int = 0


@dataclass(eq=False, slots=True)
class _Queue:
    """The work that goes to the same endpoints, by priority; `width` pieces of it are under way at once."""

    width: int
    jobs: list[tuple[int, int, Callable[[], Awaitable[None]]]] = field(default_factory=list)
    working: int = 0


@dataclass(eq=False, slots=True)
class Foresight:
    """Questions that were asked beforehand, until they are taken back."""

    jobs: list[_Job] = field(default_factory=list)
    over: bool = False


@dataclass(eq=False)
class _Print:
    """
    A request with what follows from it.

    That is its body as it is sent, the digest of its key up to the repeat index, and its size and its prompt's in
    characters.
    """

    request: Request
    sent: Sent
    key: _Digest
    size: int
    shown: int

    @cached_property
    def stored(self) -> str:
        """How it is stored, once it is answered."""
        return written(self.request.prompt, self.sent.text)


@dataclass(eq=False)
class _Known:
    """
    What is known of a server, for all endpoints of one identity; `endpoint` is the first of them.

    `per_character` and `output` are the most tokens that it has reported: for a character of a body, and for a reply.
    """

    identity: str
    endpoint: Endpoint
    pace: Pace
    health: Health
    per_character: float = 0.0
    output: int = 0

    @cached_property
    def price(self) -> Price | None:
        """What its tokens cost, if anybody knows; it takes a moment to look up, and a replay costs nothing."""
        return price_of(self.endpoint) if self.endpoint.live else None


class Engine:
    """
    Asks judges about cases, many at a time, in a thread of its own.

    An equal call is made once in a run and once in the life of its cache; only answered calls are kept. A call that
    fails is tried again after a wait of `first_wait_s` seconds, then twice as many; each attempt counts against the
    caps. A server that stopped answering is given up (`broken`).

    The cap in dollars holds because the most that a call can cost is taken out of it before the call is made: a token
    for two characters of its body, and the longest reply that is allowed, or more if the server was seen to report
    more. What remains is a server that reports more tokens than that before it was seen to: the first calls in flight
    can then pass the cap. Where a server reports no usage, the most that was taken out is what counts.
    """

    def __init__(
        self,
        store: Store,
        *,
        caps: Caps | None = None,
        budget: Budget | None = None,
        served: Mapping[str, str] | None = None,
        first_wait_s: float = FIRST_WAIT_S,
        grace_s: float = GRACE_S,
    ) -> None:
        self.store, self.ledger = store, Ledger()
        self.budget = budget or Budget(caps or Caps())
        self.served = dict(served or {})
        self.notes: list[str] = []
        self.broken: Reason | None = None
        self._first_wait_s, self._grace_s, self._random = first_wait_s, grace_s, Random()
        self._paces: dict[int, Pace] = {}
        self._servers: dict[str, _Known] = {}
        self._flights: dict[bytes, asyncio.Future[Reply]] = {}
        self._clerk = Clerk(store)
        self._asked: dict[bytes, Asked | _Job] = {}
        self._queues: dict[tuple[int, ...], _Queue] = {}
        self._came = count()
        self._idle = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._prints: dict[int, _Print] = {}
        self._names: dict[int, str] = {}
        self._endpoints: dict[int, tuple[Endpoint, _Known]] = {}
        self._desk, self._mine = threading.Lock(), threading.local()
        self._rarely = _RarelyCollected()
        self._stopping = False
        self._in_flight = 0
        self._judges: dict[int, Judge] = {}  # kept alive, or a new one could come to have the id of an old one
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calm-engine", daemon=True)
        self._thread.start()
        self._life = asyncio.run_coroutine_threadsafe(self._live(), self._loop)

    def greet(self, *endpoints: Endpoint) -> None:
        """
        Make one live call to each endpoint and note which model serves it; in `replay`, look that up in the cache.

        Raises:
            ConfigError: no answer, the wrong model, nothing to replay, or a cap in dollars for a model without a price.
        """
        for endpoint in endpoints:
            if self.budget.caps.usd is not None and self._known(endpoint).price is None and endpoint.live:
                raise ConfigError(
                    f"--calm-max-usd: no price is known for the model {endpoint.model!r}; "
                    "give price_usd_per_mtok = { input = ..., output = ... } in the [model] table of judge.toml"
                )
            if not endpoint.live or endpoint.identity in self.served:
                continue
            before = self.store.served(endpoint.identity)
            if self.store.mode is Mode.REPLAY:
                if before is None:
                    raise ConfigError(
                        f"--calm-cache=replay: the cache {self.store.path} holds no run of the model {endpoint.model!r}"
                    )
                self.served[endpoint.identity] = before
                continue
            self.served[endpoint.identity] = now = self._greeted(endpoint)
            if before is not None and before != now:
                self.notes.append(
                    f"{endpoint.model!r} is served by {now!r} now and was by {before!r}: earlier replies are not reused"
                )
            self.store.serves(endpoint.identity, now)

    def _greeted(self, endpoint: Endpoint) -> str:
        retries = min(endpoint.retries, GREETING_RETRIES)
        try:
            reply = self._run(self._tried(endpoint, endpoint.greet, 0, GREETING_TOKENS, retries))
        except JudgeError as error:
            hint = "; the first live call did not fit: allow more" if reason_of(error).has(Kind.CAPPED) else ""
            raise ConfigError(f"{error}{hint}") from error
        if endpoint.served_as and reply.model and reply.model != endpoint.served_as:
            raise ConfigError(
                f"the model {endpoint.model!r} is served by {reply.model!r}, but judge.toml says "
                f"served_as = {endpoint.served_as!r}; correct it, or find out who changed the model"
            )
        if endpoint.schema is not None and schema_fault(reply, endpoint.schema):
            self._say(
                f"{endpoint.model!r} did not keep to the schema of its replies at the first call: they are read as "
                "they stand; `calm try --server` tells what the server keeps to"
            )
        return reply.model or endpoint.model

    def ask(self, judge: Judge, questions: Sequence[tuple[Case, int]]) -> list[Asked]:
        """Return the verdict on each (case, repeat index), in the order asked. Blocks; Ctrl-C is honoured."""
        return self.ask_each([(judge, case, ask) for case, ask in questions])

    def ask_each(self, questions: Sequence[tuple[Judge, Case, int]]) -> list[Asked]:
        """Return the same where each question names its judge, as where a judge's prompt is edited case by case."""
        return self._run(self._ask_all(questions))

    def generate(self, requests: Sequence[tuple[Request, int]]) -> list[Response]:
        """
        Return the response to each (request, repeat index), in the order given. Blocks; Ctrl-C is honoured.

        A request that fails has a `NoReply` in place of its reply, with the reason; it is no error of the others.
        """
        return self._run(self._generate_all(requests))

    @property
    def pending(self) -> int:
        """How many asks are under way or wait for their turn."""
        return sum(len(queue.jobs) + queue.working for queue in list(self._queues.values()))

    def foresee(self, questions: Sequence[tuple[Judge, Case, int]]) -> Foresight:
        """Ask what may be wanted soon, after all that was asked so far; nobody waits."""
        foresight = Foresight()
        self._loop.call_soon_threadsafe(lambda: self._start(self._line_up(questions, foresight)))
        return foresight

    def forget(self, foresight: Foresight) -> None:
        """Take questions back: those that were not begun and that nobody else wants are not asked."""
        self._loop.call_soon_threadsafe(self._forgotten, foresight)

    @contextmanager
    def working(self) -> Iterator[None]:
        """
        Let one thread compute at a time; while it waits for answers, another one may.

        Threads that compute side by side gain nothing in Python, and keep the loop from the answers that came.
        """
        with self._desk:
            self._mine.held = True
            try:
                yield
            finally:
                self._mine.held = False

    def stop(self) -> None:
        """Send nothing new, and wait for what is in flight: it is billed anyway, and goes to the cache."""
        self._stopping = True
        self._loop.call_soon_threadsafe(self._lose_all)
        deadline = monotonic() + self._grace_s
        while self._in_flight and monotonic() < deadline:
            sleep(0.02)

    def _lose_all(self) -> None:
        for known in self._servers.values():
            known.health.lose(STOPPED)
        self._clerk.dismiss()

    def close(self) -> None:
        """Cancel what is under way, stop the thread and close the cache."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result(timeout=10)
        # the SDKs' clients close with the loop's generators
        asyncio.run_coroutine_threadsafe(self._loop.shutdown_asyncgens(), self._loop).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()
        self.store.close()

    def _run(self, work: Coroutine[object, object, T]) -> T:
        held = getattr(self._mine, "held", False)
        if held:
            self._desk.release()
        try:
            with self._rarely:
                return self._waited(work)
        finally:
            if held:
                self._desk.acquire()

    def _waited(self, work: Coroutine[object, object, T]) -> T:
        future: Future[T] | None = None
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            while True:
                try:
                    return future.result(timeout=0.2)  # in slices: an untimed wait cannot be interrupted everywhere
                except NotYet:
                    if future.done():  # the work itself timed out, not the wait
                        raise
        except BaseException:
            if future is None or not future.done():  # interrupted: what is under way must not go on costing money
                self.stop()
                with suppress(NotYet):
                    asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result(timeout=10)
                self._stopping = False
                for known in self._servers.values():
                    known.health = Health(known.pace.limits)
                self._life = asyncio.run_coroutine_threadsafe(self._live(), self._loop)
            raise

    async def _ask_all(self, questions: Sequence[tuple[Judge, Case, int]]) -> list[Asked]:
        batch = _Batch[Asked]([None] * len(questions), len(questions), self._loop.create_future())
        await self._line_up(questions, batch)
        if questions:
            await batch.done
        return [asked for asked in batch.results if asked is not None]

    async def _generate_all(self, requests: Sequence[tuple[Request, int]]) -> list[Response]:
        batch = _Batch[Response]([None] * len(requests), len(requests), self._loop.create_future())
        for place, (request, ask) in enumerate(requests):
            if place % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            self._enqueue(self._queue(request.endpoint), partial(self._generate, request, ask, batch, place))
        if requests:
            await batch.done
        return [response for response in batch.results if response is not None]

    async def _generate(self, request: Request, ask: int, batch: _Batch[Response], place: int) -> None:
        try:
            response = Response(*await self.send(request, ask, patient=True))
        except JudgeError as error:
            self.ledger.calls["failed"] += 1
            response = Response(self._key(request, ask), NoReply(str(error)))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            batch.fail(error)
            return
        batch.take(place, response)

    def _forgotten(self, foresight: Foresight) -> None:
        foresight.over = True
        for job in foresight.jobs:
            job.foreseen -= 1
        foresight.jobs.clear()

    async def _line_up(self, questions: Sequence[tuple[Judge, Case, int]], whose: _Batch[Asked] | Foresight) -> None:
        """Put in line what was not asked yet; who asks for what is in line already waits for it with the others."""
        shown: dict[tuple[int, int], tuple[bytes, Case]] = {}
        for place, (judge, case, ask) in enumerate(questions):
            if place % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            if (id(judge), id(case)) not in shown:
                blind = case.blind()
                content = bytes.fromhex(digest(self._name(judge), blind.content()))[:KEY_BYTES]
                shown[id(judge), id(case)] = content, blind
            content, blind = shown[id(judge), id(case)]
            key = content + ask.to_bytes(4)
            job = self._asked.get(key)
            if job is None:
                job = self._asked[key] = _Job(key, judge, blind, ask)
                self._enqueue(self._queue(*judge.endpoints, judge=judge), partial(self._do, job))
            if isinstance(whose, _Batch):
                if isinstance(job, Asked):
                    whose.take(place, job)
                else:
                    job.waiting.append((whose, place))
            elif whose.over:
                return
            elif isinstance(job, _Job):
                job.foreseen += 1
                whose.jobs.append(job)

    def _name(self, judge: Judge) -> str:
        name = self._names.get(id(judge))
        if name is None:
            self._judges[id(judge)] = judge
            name = self._names[id(judge)] = judge.fingerprint or f"object {id(judge)}"
        return name

    def _queue(self, *endpoints: Endpoint, judge: Judge | None = None) -> _Queue:
        """Return the queue of some endpoints, or of a judge that has none."""
        whose = tuple(id(e) for e in endpoints) or (id(judge),)
        queue = self._queues.get(whose)
        if queue is None:
            own = 0 if judge is None else judge.traits.concurrency
            queue = self._queues[whose] = _Queue(sum(e.limits.concurrency for e in endpoints) or own)
        return queue

    def _enqueue(self, queue: _Queue, work: Callable[[], Awaitable[None]]) -> None:
        heappush(queue.jobs, (PRIORITY.get(), next(self._came), work))
        self._call_worker(queue)

    def _call_worker(self, queue: _Queue) -> None:
        """Let one more ask be under way, if there is room; asks that only wait for their next attempt leave room."""
        if queue.jobs and queue.working < queue.width + min(self._idle, queue.width + SPARE):
            queue.working += 1
            self._start(self._work(queue))

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)  # the loop itself holds none
        task.add_done_callback(self._tasks.discard)

    async def _work(self, queue: _Queue) -> None:
        """Do what is in line, one ask after the other, until nothing is."""
        began = monotonic()
        try:
            while queue.jobs and queue.working <= queue.width + min(self._idle, queue.width + SPARE):
                rank, _, work = heappop(queue.jobs)
                PRIORITY.set(rank)
                await work()
                if monotonic() - began > SLICE_S:
                    await asyncio.sleep(0)
                    began = monotonic()
        finally:
            queue.working -= 1

    async def _do(self, job: _Job) -> None:
        """Ask, and tell all that wait; what got no reply may be asked again."""
        if not job.waiting and job.foreseen <= 0:  # taken back
            self._asked.pop(job.key, None)
            return
        try:
            asked = await self._ask(job.judge, job.case, job.ask)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            self._asked.pop(job.key, None)
            for batch, _ in job.waiting:
                batch.fail(error)
            return
        if isinstance(asked.verdict, NoReply):
            self._asked.pop(job.key, None)
        else:
            self._asked[job.key] = asked
        for batch, place in job.waiting:
            batch.take(place, asked)

    @contextmanager
    def _idling(self) -> Iterator[None]:
        """Let others go on while an ask does nothing but wait."""
        self._idle += 1
        for queue in self._queues.values():
            self._call_worker(queue)
        try:
            yield
        finally:
            self._idle -= 1

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._clerk.commit()
        for queue in self._queues.values():
            queue.jobs.clear()
        self._asked = {key: asked for key, asked in self._asked.items() if isinstance(asked, Asked)}

    async def _ask(self, judge: Judge, case: Case, ask: int) -> Asked:
        send = _Send(self, ask, patient=judge.traits.patient)
        try:
            if judge.endpoints:
                return Asked(await judge.judge(case, send), tuple(send.keys))
            return await self._ask_callable(judge, case, send)
        except JudgeError as error:
            self.ledger.calls["failed"] += 1
            return Asked(
                NoReply(reason_of(error)),
                tuple(send.keys),
            )

    async def _ask_callable(self, judge: Judge, case: Case, send: _Send) -> Asked:
        """Ask a judge without an endpoint: an ask without `send` is a call, and kept if it is known whose."""
        key = None
        if judge.fingerprint is not None:
            key = bytes.fromhex(digest("verdict", judge.fingerprint, repr(judge.sees(case)), send.ask))
            kept = self.store.get(key)
            if kept is not None:
                self.ledger.found(key)
                found = json.loads(kept.text)
                return Asked(decode(found["code"], found["reason"]))
        if self.store.mode is Mode.REPLAY:
            raise JudgeError(because(Kind.VERDICT_NOT_CACHED, judge.name))
        if key is not None and not await self._clerk.claim(key):
            await self._elsewhere(key)
            return await self._ask_callable(judge, case, send)
        try:
            return await self._ask_code(judge, case, send, key)
        except BaseException:
            if key is not None:
                self.store.release(key)
            raise

    async def _ask_code(self, judge: Judge, case: Case, send: _Send, key: bytes | None) -> Asked:
        sends = judge.traits.sends  # what it sends is counted and capped there, not here
        async with self._pace(judge).turn(0):
            if not sends:
                self._begin(Amount(1))
            elif self._stopping:
                raise JudgeError(STOPPED, fatal=True)
            else:
                self._in_flight += 1  # it may work between its calls, or make none: it is waited for, too
            try:
                verdict = await judge.judge(case, send)
            finally:
                self.ledger.calls["made"] += sends - send.used  # it did not send, or did although it did not say so
                self._in_flight -= 1
        if key is not None and not isinstance(verdict, NoReply):
            reason = verdict.reason if isinstance(verdict, Unreadable | Refused) else ""
            said = json.dumps({"code": code(verdict), "reason": reason})
            self.ledger.answered(key)
            await self._clerk.keep(Kept(key, written((), "{}"), Reply(said)), more=self._in_flight > 0)
        elif key is not None:
            self.store.release(key)
        return Asked(verdict, tuple(send.keys))

    async def send(self, request: Request, ask: int, *, patient: bool = False) -> tuple[bytes, Reply]:
        """
        Return the key and the reply of one call: from the cache, from a flight under way, or from the model.

        Who calls is `patient` if it will wait until the reply is there. Who is not may be gone before: the call is
        billed all the same, so it goes on, and its reply is kept.
        """
        endpoint = request.endpoint
        key = self._key(request, ask)
        kept = self.store.get(key)
        if kept is not None:
            self.ledger.found(key)
            return key, kept
        flight = self._flights.get(key)
        if flight is not None:
            return key, await asyncio.shield(flight)
        if patient:
            return key, await self._flown(endpoint, request, key)
        flight = self._flights[key] = asyncio.ensure_future(self._once(endpoint, request, key))
        flight.add_done_callback(lambda _: self._flights.pop(key, None))
        return key, await asyncio.shield(flight)

    async def _flown(self, endpoint: Endpoint, request: Request, key: bytes) -> Reply:
        """Make a call in the task of its ask, which nobody calls off; a task of its own would take longer."""
        flight = self._flights[key] = self._loop.create_future()
        try:
            reply = await self._once(endpoint, request, key)
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

    async def _once(self, endpoint: Endpoint, request: Request, key: bytes) -> Reply:
        """Make a call that no other process is making, or wait for its reply."""
        while not await self._clerk.claim(key):
            kept = await self._elsewhere(key)
            if kept is not None:
                self.ledger.found(key)
                return kept
        try:
            return await self._call(endpoint, request, key)
        except BaseException:
            self.store.release(key)
            raise

    async def _elsewhere(self, key: bytes) -> Reply | None:
        """Wait while another process makes a call, for a moment or until its reply is there."""
        with self._idling():
            kept = await self._clerk.elsewhere(key)
        if kept is None and self._stopping:
            raise JudgeError(STOPPED, fatal=True)
        return kept

    async def _live(self) -> None:
        """Let other processes know that this one is alive."""
        while True:
            await asyncio.sleep(BEAT_S)
            self.store.show_life()

    def _key(self, request: Request, ask: int) -> bytes:
        key = self._print(request).key.copy()
        key.update(f",{ask}]".encode())
        return key.digest()

    def _print(self, request: Request) -> _Print:
        found = self._prints.get(id(request))
        if found is None:
            identity = self._known(request.endpoint).identity
            whose = json.dumps([identity, self.served.get(identity, "")], separators=(",", ":"))
            sent = Sent(request.body)
            shown = sum(len(m.text) for m in request.prompt)
            if len(self._prints) >= PRINTS:
                self._prints.clear()
            # the request is kept with its print, or a new one could come to have its id
            found = _Print(
                request,
                sent,
                sha256(f"{whose[:-1]},{sent.text}".encode()),
                max(len(sent.text), shown),
                shown,
            )
            self._prints[id(request)] = found
        return found

    def _known(self, endpoint: Endpoint) -> _Known:
        """Return what is known of an endpoint's server; to write an identity down takes some time."""
        found = self._endpoints.get(id(endpoint))
        if found is None:
            identity = endpoint.identity
            server = self._servers.get(identity)
            if server is None:
                limits = endpoint.limits
                server = self._servers[identity] = _Known(identity, endpoint, Pace(limits), Health(limits))
            if len(self._endpoints) >= PRINTS:
                self._endpoints.clear()
            found = self._endpoints[id(endpoint)] = endpoint, server
        return found[1]

    async def _call(self, endpoint: Endpoint, request: Request, key: bytes) -> Reply:
        if self.store.mode is Mode.REPLAY:
            raise JudgeError(because(Kind.CALL_NOT_CACHED))
        known = self._print(request)
        tokens = tokens_in(known.shown) // 2 + endpoint.max_tokens // 8
        reply = await self._tried(endpoint, lambda: endpoint.call(known.sent), known.size, tokens, endpoint.retries)
        expected = self.served.get(self._known(endpoint).identity)
        if expected and reply.model and reply.model != expected:
            why = because(Kind.OTHER_MODEL, endpoint.model, expected, reply.model)
            self._lose(endpoint, why)
            raise JudgeError(why, fatal=True)
        self.ledger.answered(key)
        return await self._clerk.keep(Kept(key, known.stored, reply), more=self._in_flight > 0)

    async def _tried(
        self, endpoint: Endpoint, call: Callable[[], Awaitable[Reply]], size: int, tokens: int, retries: int
    ) -> Reply:
        """Return the reply to a call with a body of so many characters; it is tried again where that may help."""
        server = self._known(endpoint)
        pace, health = server.pace, server.health
        failures: list[JudgeError] = []
        with ExitStack() as trying:
            while True:
                if failures or not (health.sound and pace.grab()):
                    async with health.waiting():
                        await _place(pace, health, tokens, again=bool(failures))
                began_s = monotonic()
                try:
                    found = await self._attempt(endpoint, server, call, size, again=bool(failures))
                finally:
                    pace.give()
                if isinstance(found, Reply):
                    pace.answered()
                    health.answered()
                    return replace(found, retries=len(failures)) if failures else found
                if not failures:
                    trying.enter_context(health.retrying())
                failures.append(found)
                if found.limited:
                    pace.limited(began_s)
                self._judge_server(endpoint, failures)
                wait_s = self._wait_s(failures, retries)
                if wait_s is None:
                    why = reason_of(found)
                    raise JudgeError(because(Kind.TRIED, why, len(failures)) if len(failures) > 1 else why)
                with self._idling():
                    async with health.waiting():
                        await asyncio.sleep(wait_s)

    async def _attempt(
        self, endpoint: Endpoint, server: _Known, call: Callable[[], Awaitable[Reply]], size: int, *, again: bool
    ) -> Reply | JudgeError:
        """Make one attempt within the caps; return its reply, or why there is none."""
        price = server.price
        capped = self.budget.counts or price is not None
        most = _worst(endpoint, server, size) if capped else Usage()
        dollars = cost(price, most) if price else 0.0
        worst = Amount(1, (most.input or 0) + (most.output or 0), dollars) if capped else _ONE
        self._begin(worst)
        self.ledger.calls["retried"] += again
        used = _ONE
        try:
            longest_s = self._longest_s()
            async with asyncio.timeout(longest_s) if longest_s is not None else nullcontext():
                reply = await call()
            used = self._count(endpoint, server, reply, most, size)
        except TimeoutError:
            used = worst
            return JudgeError(self.budget.out_of_time, billed=True)
        except JudgeError as error:
            if error.billed:
                used = worst
                self.ledger.usd += dollars
                if dollars:
                    self._say(f"calls to {endpoint.model!r} that failed may be billed: its cost is an upper estimate")
            return error
        finally:
            self._in_flight -= 1
            self.budget.settle(worst, used)
        return reply

    def _longest_s(self) -> float | None:
        """Return how long a call may last so that the cap in minutes holds; in flight it has some grace."""
        left = self.budget.seconds_left
        return None if left is None else max(0.0, left) + self._grace_s

    def _judge_server(self, endpoint: Endpoint, failures: list[JudgeError]) -> None:
        """Note a failed attempt, and give the server up if there is no more to hope for."""
        health, last = self._known(endpoint).health, failures[-1]
        if last.fatal:
            self._lose(endpoint, reason_of(last))
        elif health.failed(failures):
            kind = Kind.SERVER_LOST if self.store.mode is Mode.OFF else Kind.SERVER_LOST_KEPT
            self._lose(endpoint, because(kind, endpoint.model, health.row, reason_of(last)))
        health.check()

    def _lose(self, endpoint: Endpoint, why: Reason) -> None:
        self._known(endpoint).health.lose(why)
        self.broken = self.broken or why

    def _wait_s(self, failures: list[JudgeError], retries: int) -> float | None:
        """Return how long to wait before the next attempt; None: there is none."""
        after_s = failures[-1].after_s
        if not failures[-1].again or len(failures) > retries or (after_s is not None and after_s > MOST_WAIT_S):
            return None
        if after_s:
            return after_s * self._random.uniform(1.0, 1.1)  # not all at the same moment
        return min(self._first_wait_s * 2.0 ** (len(failures) - 1), MOST_BACKOFF_S) * self._random.uniform(0.75, 1.0)

    def _pace(self, judge: Judge) -> Pace:
        """Return what keeps the asks of a judge without endpoints within its limit."""
        pace = self._paces.get(id(judge))
        if pace is None:
            pace = self._paces[id(judge)] = Pace(Limits(concurrency=judge.traits.concurrency))
        return pace

    def _begin(self, worst: Amount) -> None:
        """Take a call, and the most that it can use, out of the caps before it is made."""
        if self._stopping:
            raise JudgeError(STOPPED, fatal=True)
        self.budget.reserve(worst)
        self.ledger.calls["made"] += 1
        self._in_flight += 1

    def _count(self, endpoint: Endpoint, server: _Known, reply: Reply, worst: Usage, size: int) -> Amount:
        """Note what a call used, and return it; where the server does not say, the most that it can have used."""
        used, ledger, price = reply.usage, self.ledger, server.price
        ledger.tokens["input"] += used.input or 0
        ledger.tokens["output"] += used.output or 0
        server.output = max(server.output, used.output or 0)
        if size:
            server.per_character = max(server.per_character, (used.input or 0) / size)
        dollars = cost(price, used, worst) if price is not None else 0.0
        tokens = sum(known if known is not None else most or 0 for known, most in _pairs(used, worst))
        ledger.usd += dollars
        if price is not None:
            if used.input is None or used.output is None:
                self._say(f"the server of {endpoint.model!r} reports no usage: its cost is an upper estimate")
        elif endpoint.live:
            ledger.priced = False
        return Amount(1, tokens, dollars)

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _worst(endpoint: Endpoint, server: _Known, size: int) -> Usage:
    """Return the most tokens that a call with a body of so many characters can take; 0: a greeting."""
    put = tokens_in(size, max(0.5, MARGIN * server.per_character)) if size else GREETING_TOKENS
    return Usage(put, max(endpoint.max_tokens, int(MARGIN * server.output)))


def _pairs(used: Usage, worst: Usage) -> tuple[tuple[int | None, int | None], ...]:
    return (used.input, worst.input), (used.output, worst.output)


async def _place(pace: Pace, health: Health, tokens: int, *, again: bool) -> None:
    """Take a place for an attempt; while the server is in doubt, only what is tried again may have one."""
    while True:
        if not again:
            await health.trusted.wait()
        await pace.take(tokens, again=again)
        if health.lost is None and (again or health.trusted.is_set()):
            return
        pace.give()
        health.check()


class _RarelyCollected:
    """
    Have the collector of cycles look less often while anybody waits for answers.

    Thousands of questions are under way then, and going through them all again and again takes a fifth of the time,
    though none of them is garbage. What it was set to before comes back with the last answer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = gc.get_threshold()
                if self._before[0] > 0:  # else it is switched off
                    gc.set_threshold(*(max(own, least) for own, least in zip(self._before, COLLECT, strict=True)))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                gc.set_threshold(*self._before)


class _Send:
    """`send` for one ask: remembers the calls that were made through it."""

    def __init__(self, engine: Engine, ask: int, *, patient: bool) -> None:
        self._engine, self._number, self._patient = engine, ask, patient
        self.keys: list[bytes] = []
        self.used = False

    @property
    def ask(self) -> int:
        return self._number

    async def __call__(self, request: Request) -> Reply:
        self.used = True
        key, reply = await self._engine.send(request, self._number, patient=self._patient)
        self.keys.append(key)
        return reply
