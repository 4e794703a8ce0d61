"""One ask of a judge: its verdict, and the calls that it took."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from calm.core.case import Case, digest
from calm.core.identity import Identity
from calm.core.reasons import Kind, because, name, reason_of
from calm.core.verdict import NoReply, Refused, Unreadable, Verdict, code, decode
from calm.engine.aside import SetAside
from calm.engine.cache import Cache
from calm.engine.calls import ONE, Calls
from calm.engine.rows import request_text
from calm.engine.scheduler import PLACE
from calm.errors import JudgeError
from calm.models.pacing import Pace
from calm.models.wire import Foreseen, Judge, Limits, Reply, Request

ONCE = 1
"""The repeat index of a request that belongs to no single ask."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """
    The verdict of one ask, and the keys of the calls that it took.

    `once` are those of the calls that it shares with every ask of the run (`Request.once`).
    """

    verdict: Verdict
    calls: tuple[bytes, ...] = ()
    once: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """What came of one request: its key in the cache, and the reply, or why there is none."""

    key: bytes
    reply: Reply | NoReply


class Verdicts:
    """Asks judges. With `replay`, no judge without an endpoint is asked."""

    def __init__(self, cache: Cache, calls: Calls, *, replay: bool) -> None:
        self._cache, self._calls, self._replay = cache, calls, replay
        self._paces: dict[Identity, Pace] = {}

    async def ask(self, judge: Judge, case: Case, ask: int) -> Judgment:
        """Return the verdict of a judge on a case; where a call of it fails, that is a `NoReply`."""
        send = _Send(self._cache, ask, patient=judge.traits.patient)
        try:
            if judge.endpoints:
                found = Judgment(await judge.judge(case, send), tuple(send.keys), tuple(send.once))
            else:
                found = await self._ask_code(judge, case, send)
            self._calls.ledger.answers += not isinstance(found.verdict, NoReply)
            return found
        except SetAside:
            place = PLACE.get()
            if place is not None and place.aside is not None:
                place.aside.knows((*send.keys, *send.once))
            raise
        except JudgeError as error:
            self._lost(error)
            return Judgment(NoReply(reason_of(error)), tuple(send.keys), tuple(send.once))

    def keys(self, judge: Foreseen, case: Case, ask: int) -> tuple[bytes, ...]:
        """Return the keys of all calls of an ask; none where they cannot be told before it."""
        return tuple(self._cache.key(request, ask) for request in judge.requests(case) or ())

    async def kept(self, keys: Collection[bytes]) -> Mapping[bytes, Reply]:
        """Return the replies that are kept under some keys."""
        return await self._cache.find(keys)

    def recalled(self, keys: tuple[bytes, ...], verdict: Verdict) -> Judgment:
        """Count the kept replies to an ask, and return the verdict in them."""
        for key in keys:
            self._calls.ledger.found(key)
        self._calls.ledger.answers += 1
        return Judgment(verdict, keys)

    async def generate(self, request: Request, ask: int) -> Response:
        """Return the response to a request; where the call fails, it holds a `NoReply`."""
        try:
            found = Response(*await self._cache.send(request, ask, patient=True))
            self._calls.ledger.answers += 1
            return found
        except JudgeError as error:
            self._lost(error)
            return Response(self._cache.key(request, ask), NoReply(reason_of(error)))

    def _lost(self, error: JudgeError) -> None:
        """Count what has no reply: it failed, or was not made any more."""
        self._calls.ledger.calls["unmade" if reason_of(error).unmade else "failed"] += 1

    async def _ask_code(self, judge: Judge, case: Case, send: _Send) -> Judgment:
        """Ask a judge without an endpoint: an ask without `send` is a call, and is cached if its judge is known."""
        key = None  # a kept verdict names answers by id, and a judge may not see these
        if judge.fingerprint is not None:
            series = (self._cache.series,) if self._cache.series else ()
            seen = repr(judge.sees(case))
            key = bytes.fromhex(digest("verdict", judge.fingerprint, seen, case.slots, send.ask, *series))
            kept = await self._cache.get(key)
            if kept is not None:
                found = json.loads(kept.text)
                return Judgment(decode(found["code"], found["reason"]))
        if self._replay:
            raise JudgeError(because(Kind.VERDICT_NOT_CACHED, name(judge.name)))
        if key is None:
            return Judgment(await self._run(judge, case, send), tuple(send.keys))
        if not await self._cache.claim(key):
            return await self._ask_code(judge, case, send)
        try:
            verdict = await self._run(judge, case, send)
            if isinstance(verdict, NoReply):
                self._cache.release(key)
            else:
                reason = verdict.reason if isinstance(verdict, Unreadable | Refused) else ""
                said = json.dumps({"code": code(verdict), "reason": reason})
                await self._cache.record(key, request_text((), "{}"), Reply(said))
        except BaseException:
            self._cache.release(key)
            raise
        return Judgment(verdict, tuple(send.keys))

    async def _run(self, judge: Judge, case: Case, send: _Send) -> Verdict:
        """Run the code of a judge, within its limit and the caps."""
        sends = judge.traits.sends  # the calls that it sends are counted and capped there, not here
        async with self._pace(judge).turn(0):
            if not sends:
                await self._calls.begin(ONE)
                if judge.traits.recorded is not None:  # nobody is asked
                    self._calls.ledger.calls.update(made=-1, recorded=1)
            else:
                self._calls.check()
                self._calls.under_way += 1  # it may work between its calls, or make none: a stop waits for it
            try:
                return await judge.judge(case, send)
            finally:
                # it did not send although it said so, or sent although it did not say so
                self._calls.ledger.calls["made"] += sends - send.used
                if not sends:
                    self._calls.end(ONE, ONE)
                else:
                    self._calls.under_way -= 1

    def _pace(self, judge: Judge) -> Pace:
        """Return what keeps the asks of a judge without endpoints within its limit."""
        pace = self._paces.get(Identity(judge))
        if pace is None:
            pace = self._paces[Identity(judge)] = Pace(Limits(concurrency=judge.traits.concurrency))
        return pace


class _Send:
    """`send` for one ask: it remembers the calls that were made through it."""

    def __init__(self, cache: Cache, ask: int, *, patient: bool) -> None:
        self._cache, self._ask, self._patient = cache, ask, patient
        self.keys: list[bytes] = []
        self.once: list[bytes] = []
        self.used = False

    @property
    def ask(self) -> int:
        return self._ask

    async def __call__(self, request: Request) -> Reply:
        self.used = True
        key, reply = await self._cache.send(request, ONCE if request.once else self._ask, patient=self._patient)
        (self.once if request.once else self.keys).append(key)
        return reply
