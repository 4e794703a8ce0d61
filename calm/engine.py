"""The engine: the only scheduler, and the only door to a model. It counts, caps, caches and records every call."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random
from typing import Final, TypeVar

from calm.case import Case, digest
from calm.errors import ConfigError, JudgeError
from calm.pacing import Health, Pace
from calm.pricing import cost, price_of, tokens_in
from calm.store import Mode, Store
from calm.verdict import NoReply, Refused, Unreadable, Verdict, code, decode
from calm.wire import Endpoint, Judge, Limits, Price, Reply, Request, Usage

T = TypeVar("T")

CAPPED = "a cap was reached"
"""How the reason of a `NoReply` begins when it is the user's own cap that was reached."""
RETRIES: Final = 6
"""How often a call is tried again, unless its endpoint has `retries` of its own."""
GREETING_RETRIES: Final = 3
FIRST_WAIT_S: Final = 0.5
MOST_BACKOFF_S: Final = 8.0
MOST_WAIT_S: Final = 120.0
"""A server that asks for a longer wait than this is not waited for."""
GREETING_TOKENS: Final = 1000
"""The most that the prompt of a greeting is taken to have: one short sentence, and the judge's schema."""
MARGIN: Final = 1.2
"""How much more than the most that was seen so far a call may use."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Hard limits of one process: calls and US dollars; None: none."""

    calls: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The verdict of one ask, and the keys of the calls that it took."""

    verdict: Verdict
    calls: tuple[bytes, ...] = ()


@dataclass
class Ledger:
    """
    What a run has used so far. `reserved` dollars are the most that the calls in flight can cost.

    `made` counts attempts, those that failed and those that were repeated (`retried`) included.
    """

    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    usd: float = 0.0
    reserved: float = 0.0
    priced: bool = True


@dataclass
class _Observed:
    """The most tokens that a server has reported: for a character of a body, and for a reply."""

    per_character: float = 0.0
    output: int = 0


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
        served: Mapping[str, str] | None = None,
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        self.store, self.caps, self.ledger = store, caps or Caps(), Ledger()
        self.served = dict(served or {})
        self.notes: list[str] = []
        self.broken: str | None = None
        self._first_wait_s, self._random = first_wait_s, Random()
        self._paces: dict[str, Pace] = {}
        self._healths: dict[str, Health] = {}
        self._observed: dict[str, _Observed] = {}
        self._prices: dict[str, Price | None] = {}
        self._flights: dict[bytes, asyncio.Future[Reply]] = {}
        self._asked: dict[str, asyncio.Future[Asked]] = {}
        self._judges: dict[int, Judge] = {}  # kept alive, or a new one could come to have the id of an old one
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calm-engine", daemon=True)
        self._thread.start()

    def greet(self, judge: Judge) -> None:
        """
        Make one live call to each model of a judge and note which model serves it; in `replay`, read it up.

        Raises:
            ConfigError: no answer, the wrong model, nothing to replay, or a cap in dollars for a model without a price.
        """
        for endpoint in judge.endpoints:
            if self.caps.usd is not None and self._price(endpoint) is None and endpoint.live:
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
        if self.caps.calls is not None and self.ledger.calls["made"] >= self.caps.calls:
            raise ConfigError("--calm-max-calls: the first live call does not fit; allow at least one call")
        retries = min(_retries(endpoint), GREETING_RETRIES)
        try:
            reply = self._run(self._tried(endpoint, endpoint.greet, 0, GREETING_TOKENS, retries))
        except JudgeError as error:
            hint = "; the first live call did not fit: allow more" if str(error).startswith(CAPPED) else ""
            raise ConfigError(f"{error}{hint}") from error
        if endpoint.served_as and reply.model and reply.model != endpoint.served_as:
            raise ConfigError(
                f"the model {endpoint.model!r} is served by {reply.model!r}, but judge.toml says "
                f"served_as = {endpoint.served_as!r}; correct it, or find out who changed the model"
            )
        return reply.model or endpoint.model

    def ask(self, judge: Judge, questions: Sequence[tuple[Case, int]]) -> list[Asked]:
        """Return the verdict on each (case, repeat index), in the order asked. Blocks; Ctrl-C is honoured."""
        return self._run(self._ask_all(judge, questions))

    def close(self) -> None:
        """Cancel what is under way, stop the thread and close the cache."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(timeout=10)
        # the SDKs' clients close with the loop's generators
        asyncio.run_coroutine_threadsafe(self._loop.shutdown_asyncgens(), self._loop).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()
        self.store.close()

    def _run(self, work: Coroutine[object, object, T]) -> T:
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
                with suppress(NotYet):
                    asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(timeout=10)
            raise

    async def _ask_all(self, judge: Judge, questions: Sequence[tuple[Case, int]]) -> list[Asked]:
        keys: dict[int, str] = {}
        whose = judge.fingerprint or f"object {id(judge)}"
        self._judges[id(judge)] = judge
        work = []
        for case, ask in questions:
            shown = keys.get(id(case))
            if shown is None:
                shown = keys[id(case)] = digest(whose, case.blind().content())
            work.append(self._ask_once(f"{shown} {ask}", judge, case, ask))
        return list(await asyncio.gather(*work))

    async def _ask_once(self, key: str, judge: Judge, case: Case, ask: int) -> Asked:
        """Let the first to ask do the work, and all others wait for it; what got no reply may be asked again."""
        running = self._asked.get(key)
        if running is None or running.cancelled():
            running = self._asked[key] = asyncio.ensure_future(self._ask(judge, case.blind(), ask))
        asked = await asyncio.shield(running)
        if isinstance(asked.verdict, NoReply) and self._asked.get(key) is running:
            del self._asked[key]
        return asked

    async def _ask(self, judge: Judge, case: Case, ask: int) -> Asked:
        send = _Send(self, ask)
        try:
            if judge.endpoints:
                return Asked(await judge.judge(case, send), tuple(send.keys))
            return await self._ask_callable(judge, case, send)
        except JudgeError as error:
            self.ledger.calls["failed"] += 1
            return Asked(NoReply(str(error)), tuple(send.keys))

    async def _ask_callable(self, judge: Judge, case: Case, send: _Send) -> Asked:
        """Ask a judge without an endpoint: an ask without `send` is a call, and kept if it is known whose."""
        key = None
        if judge.fingerprint is not None:
            key = bytes.fromhex(digest("verdict", judge.fingerprint, repr(judge.sees(case)), send.ask))
            kept = self.store.get(key)
            if kept is not None:
                self.ledger.calls["cached"] += 1
                found = json.loads(kept.text)
                return Asked(decode(found["code"], found["reason"]))
        if self.store.mode is Mode.REPLAY:
            raise JudgeError(f"--calm-cache=replay: the cache lacks a verdict of {judge.name!r}; no call is made")
        sends = bool(getattr(judge, "send", ""))  # what it sends is counted and capped there, not here
        if not sends:
            self._reserve(0.0)
        try:
            async with self._pace(f"judge {id(judge)}", Limits(concurrency=getattr(judge, "concurrency", 32))).turn(0):
                verdict = await judge.judge(case, send)
        finally:
            self.ledger.calls["made"] += sends - send.used  # it did not send, or did although it did not say so
        if key is not None and not isinstance(verdict, NoReply):
            reason = verdict.reason if isinstance(verdict, Unreadable | Refused) else ""
            self.store.put(key, (), {}, Reply(json.dumps({"code": code(verdict), "reason": reason})))
        return Asked(verdict, tuple(send.keys))

    async def send(self, request: Request, ask: int) -> tuple[bytes, Reply]:
        """Return the key and the reply of one call: from the cache, from a flight under way, or from the model."""
        endpoint = request.endpoint
        key = self._key(request, ask)
        kept = self.store.get(key)
        if kept is not None:
            self.ledger.calls["cached"] += 1
            return key, kept
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.ensure_future(self._call(endpoint, request, key))
            flight.add_done_callback(lambda _: self._flights.pop(key, None))
        return key, await asyncio.shield(flight)

    def _key(self, request: Request, ask: int) -> bytes:
        endpoint = request.endpoint
        parts = [endpoint.identity, self.served.get(endpoint.identity, ""), request.body, ask]
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return sha256(text.encode()).digest()

    async def _call(self, endpoint: Endpoint, request: Request, key: bytes) -> Reply:
        if self.store.mode is Mode.REPLAY:
            raise JudgeError("--calm-cache=replay: this call is not in the cache, and no call may be made")
        shown = sum(len(m.text) for m in request.prompt)
        size = max(len(json.dumps(request.body)), shown)
        tokens = tokens_in(shown) // 2 + endpoint.max_tokens // 8
        reply = await self._tried(endpoint, lambda: endpoint.call(request.body), size, tokens, _retries(endpoint))
        expected = self.served.get(endpoint.identity)
        if expected and reply.model and reply.model != expected:
            why = (
                f"the model {endpoint.model!r} was served by {expected!r} when the run began and answers as "
                f"{reply.model!r} now: verdicts of two models cannot be compared; run again"
            )
            self._lose(endpoint, why)
            raise JudgeError(why, fatal=True)
        return self.store.put(key, request.prompt, request.body, reply)

    async def _tried(
        self, endpoint: Endpoint, call: Callable[[], Awaitable[Reply]], size: int, tokens: int, retries: int
    ) -> Reply:
        """Return the reply to a call with a body of so many characters; it is tried again where that may help."""
        pace, health = self._pace(endpoint.identity, endpoint.limits), self._health(endpoint)
        failures: list[JudgeError] = []
        with ExitStack() as trying:
            while True:
                async with health.waiting():
                    await _place(pace, health, tokens, again=bool(failures))
                try:
                    found = await self._attempt(endpoint, call, size, again=bool(failures))
                finally:
                    pace.give()
                if isinstance(found, Reply):
                    health.answered()
                    return replace(found, retries=len(failures)) if failures else found
                if not failures:
                    trying.enter_context(health.retrying())
                failures.append(found)
                self._judge_server(endpoint, failures)
                wait_s = self._wait_s(failures, retries)
                if wait_s is None:
                    tried = f"; tried {len(failures)} times" if len(failures) > 1 else ""
                    raise JudgeError(f"{found}{tried}")
                async with health.waiting():
                    await asyncio.sleep(wait_s)

    async def _attempt(
        self, endpoint: Endpoint, call: Callable[[], Awaitable[Reply]], size: int, *, again: bool
    ) -> Reply | JudgeError:
        """Make one attempt within the caps; return its reply, or why there is none."""
        price, worst = self._price(endpoint), self._worst(endpoint, size)
        dollars = cost(price, worst) if price else 0.0
        self._reserve(dollars)
        self.ledger.calls["retried"] += again
        try:
            reply = await call()
        except JudgeError as error:
            if error.billed and dollars:
                self.ledger.usd += dollars
                self._say(f"calls to {endpoint.model!r} that failed may be billed: its cost is an upper estimate")
            return error
        finally:
            self.ledger.reserved -= dollars
        self._count(endpoint, reply, worst, size)
        return reply

    def _judge_server(self, endpoint: Endpoint, failures: list[JudgeError]) -> None:
        """Note a failed attempt, and give the server up if there is no more to hope for."""
        health, last = self._health(endpoint), failures[-1]
        if last.fatal:
            self._lose(endpoint, str(last))
        elif health.failed(failures):
            kept = "" if self.store.mode is Mode.OFF else "; what was answered is kept, and the new run goes on there"
            self._lose(
                endpoint,
                f"the server of {endpoint.model!r} stopped answering: {health.row} attempts in a row failed, the last "
                f"one so: {last}; no more calls are made to it: mend it and run again{kept}",
            )
        health.check()

    def _lose(self, endpoint: Endpoint, why: str) -> None:
        self._health(endpoint).lose(why)
        self.broken = self.broken or why

    def _wait_s(self, failures: list[JudgeError], retries: int) -> float | None:
        """Return how long to wait before the next attempt; None: there is none."""
        after_s = failures[-1].after_s
        if not failures[-1].again or len(failures) > retries or (after_s is not None and after_s > MOST_WAIT_S):
            return None
        if after_s:
            return after_s * self._random.uniform(1.0, 1.1)  # not all at the same moment
        return min(self._first_wait_s * 2.0 ** (len(failures) - 1), MOST_BACKOFF_S) * self._random.uniform(0.75, 1.0)

    def _reserve(self, worst: float) -> None:
        """Take a call, and the most that it can cost, out of the caps before it is made."""
        ledger, caps = self.ledger, self.caps
        if caps.calls is not None and ledger.calls["made"] >= caps.calls:
            raise JudgeError(f"{CAPPED}: --calm-max-calls {caps.calls}")
        if caps.usd is not None and ledger.usd + ledger.reserved + worst > caps.usd:
            raise JudgeError(f"{CAPPED}: --calm-max-usd {caps.usd:g}")
        ledger.calls["made"] += 1
        ledger.reserved += worst

    def _count(self, endpoint: Endpoint, reply: Reply, worst: Usage, size: int) -> None:
        used, ledger, price = reply.usage, self.ledger, self._price(endpoint)
        ledger.tokens["input"] += used.input or 0
        ledger.tokens["output"] += used.output or 0
        observed = self._observed.setdefault(endpoint.identity, _Observed())
        observed.output = max(observed.output, used.output or 0)
        if size:
            observed.per_character = max(observed.per_character, (used.input or 0) / size)
        if price is not None:
            ledger.usd += cost(price, used, worst)
            if used.input is None or used.output is None:
                self._say(f"the server of {endpoint.model!r} reports no usage: its cost is an upper estimate")
        elif endpoint.live:
            ledger.priced = False

    def _worst(self, endpoint: Endpoint, size: int) -> Usage:
        """Return the most tokens that a call with a body of so many characters can take; 0: a greeting."""
        seen = self._observed.get(endpoint.identity, _Observed())
        put = tokens_in(size, max(0.5, MARGIN * seen.per_character)) if size else GREETING_TOKENS
        return Usage(put, max(endpoint.max_tokens, int(MARGIN * seen.output)))

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _price(self, endpoint: Endpoint) -> Price | None:
        if not endpoint.live:
            return None
        if endpoint.identity not in self._prices:
            self._prices[endpoint.identity] = price_of(endpoint)
        return self._prices[endpoint.identity]

    def _pace(self, whose: str, limits: Limits) -> Pace:
        pace = self._paces.get(whose)
        if pace is None:
            pace = self._paces[whose] = Pace(limits)
        return pace

    def _health(self, endpoint: Endpoint) -> Health:
        health = self._healths.get(endpoint.identity)
        if health is None:
            health = self._healths[endpoint.identity] = Health(endpoint.limits)
        return health


def _retries(endpoint: Endpoint) -> int:
    return int(getattr(endpoint, "retries", RETRIES))


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


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Send:
    """`send` for one ask: remembers the calls that were made through it."""

    def __init__(self, engine: Engine, ask: int) -> None:
        self._engine, self._number = engine, ask
        self.keys: list[bytes] = []
        self.used = False

    @property
    def ask(self) -> int:
        return self._number

    async def __call__(self, request: Request) -> Reply:
        self.used = True
        key, reply = await self._engine.send(request, self._number)
        self.keys.append(key)
        return reply
