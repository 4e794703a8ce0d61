"""
Calls on their way through batches: they gather in waves, and whoever waits for one gets its reply.

A wave is over when nothing else can go on without its replies: then it is handed in. So the pilots of all probes go
together, then all measured asks, then what is topped up. A batch that is full is handed in at once.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final
from uuid import uuid4

from calm.core.reasons import NONE, Kind, Reason, Said, because, reason_of
from calm.engine.batch_records import BatchedCall, BatchRecords, State
from calm.engine.batching.carrier import Carrier, NotOurs, NotTaken, NotThere
from calm.engine.calls import Calls
from calm.engine.database import BY
from calm.engine.requests import PreparedRequest
from calm.engine.rows import request_text
from calm.engine.servers import Server, Servers
from calm.engine.store import Store
from calm.errors import JudgeError
from calm.models.wire import Batchable, Batching, BatchState, Reply

TICK_S: Final = 0.05
SETTLED_S: Final = 0.3
"""A wave is over when nothing came for so many seconds, and all that is under way waits for it."""
LONGEST_S: Final = 2.0
"""The same where something else is under way, such as a call to a model that is asked live."""
WATCH_S: Final = 1.0
"""A batch that another process waits for is looked up every so many seconds."""
CROWDED: Final = 60.0
"""A batch that does not fit beside others at its server waits for so many first waits, then it is handed in again."""


class Batches(StrEnum):
    """
    What a run does with the calls that gather.

    Where it does not wait, each call without a reply fails with the reason, and a later run goes on.
    """

    WAIT = "wait"
    """Hand them in, and wait for the replies."""
    LEAVE = "leave"
    """Hand them in, and end."""
    HOLD = "hold"
    """Note them, and end: they go to a file, for whatever engine."""


class GoLive(JudgeError):
    """What a call gets whose wave is too small for a batch: it is to be made live."""


@dataclass(slots=True)
class _Wait:
    """A call that somebody waits for."""

    prepared: PreparedRequest
    reply: asyncio.Future[Reply]
    batch: str = ""


@dataclass(slots=True)
class _Wave:
    """Calls to one server that were not handed in: those that came, and the batch that takes them."""

    server: Server
    batching: Batching
    carrier: Carrier
    came: deque[BatchedCall] = field(default_factory=deque)
    batch: str = ""
    count: int = 0
    size: int = 0


@dataclass(slots=True)
class Figures:
    """How far the batches of a process are: how many it has seen to, and how many of them are over."""

    batches: int = 0
    over: int = 0


class BatchDesk:
    """
    Sends calls by batch, for one event loop.

    `idle` says whether nothing is under way but the calls that wait here, and nobody computes. `start` begins a task.
    `batches` says what becomes of what was gathered. A wave with fewer than `least` calls to a server is made live: a
    batch of so few saves cents, and may take hours.
    """

    def __init__(
        self,
        store: Store,
        calls: Calls,
        servers: Servers,
        *,
        idle: Callable[[int], bool],
        start: Callable[[Coroutine[object, object, None]], None],
        batches: Batches,
        least: int,
        first_wait_s: float,
    ) -> None:
        self._store, self._calls, self._servers = store, calls, servers
        self._records: BatchRecords = store.batches
        self._idle, self._start = idle, start
        self._leave, self._hold_all = batches is not Batches.WAIT, batches is Batches.HOLD
        self._least, self._first_wait_s = least, first_wait_s
        self._waiting: dict[bytes, _Wait] = {}
        self._waves: dict[str, _Wave] = {}
        self._carried: dict[str, bool] = {}
        """The batches that this process sees to; True: it was looked at, and is not over."""
        self._at_server: set[str] = set()
        self._running = False
        self._stopped: Reason = NONE
        self._changed_s = 0.0
        self.figures = Figures()

    @property
    def leaves(self) -> bool:
        """Whether the run ends without its replies."""
        return self._leave

    @staticmethod
    def takes(server: Server) -> bool:
        """Return whether the calls to a server can go by batch."""
        return server.batchable

    async def reply(self, prepared: PreparedRequest, key: bytes) -> Reply:
        """
        Return the reply to a call that goes by batch; it is kept by then.

        Raises:
            JudgeError: there is none; `pending` if it may come later.
        """
        if self._stopped:
            raise JudgeError(self._stopped, pending=True)
        wait = self._waiting[key] = _Wait(prepared, asyncio.get_running_loop().create_future())
        self._put(key, wait)
        if not self._running:
            self._running = True
            self._start(self._run())
        try:
            return await wait.reply
        finally:
            if self._waiting.get(key) is wait:
                del self._waiting[key]

    def stop(self, why: Reason) -> None:
        """Take nothing more, and end all waits with a reason: what was handed in comes back all the same."""
        self._stopped = self._stopped or why
        left = sum(not wait.reply.done() and wait.batch in self._carried for wait in self._waiting.values())
        if left:
            self._calls.ledger.note(because(Kind.IN_BATCH, left))
        for wait in self._waiting.values():
            if not wait.reply.done():
                wait.reply.set_exception(JudgeError(self._stopped, pending=True))

    def trust(self) -> None:
        """Take calls again."""
        self._stopped = NONE
        self._running = False
        self._waves.clear()
        self._carried.clear()

    def _put(self, key: bytes, wait: _Wait) -> None:
        wait.batch = ""
        request = wait.prepared.request
        text = request_text(
            request.prompt, wait.prepared.sent.text
        )  # not `stored`: all of a wave would be held at once
        self._wave(wait.prepared.server).came.append(BatchedCall(key, text))
        self._changed_s = asyncio.get_running_loop().time()

    def _wave(self, server: Server) -> _Wave:
        wave = self._waves.get(server.identity)
        if wave is None:
            endpoint = server.endpoint
            assert isinstance(endpoint, Batchable)
            batching = endpoint.batching()
            carrier = Carrier(
                self._store,
                self._records,
                self._calls,
                batching,
                server.batch_price,
                strange=lambda model: self._servers.mismatch(server, model),
                first_wait_s=self._first_wait_s,
                patient=not self._leave,
            )
            wave = self._waves[server.identity] = _Wave(server, batching, carrier)
        return wave

    async def _run(self) -> None:
        """Gather waves, and hand each in when nothing can go on without it."""
        loop = asyncio.get_running_loop()
        try:
            while not self._stopped:
                for wave in list(self._waves.values()):
                    await self._take(wave)
                if self._out_of_time:
                    self.stop(self._left())
                elif self._settled(loop.time()):
                    if self._hold_all:
                        await self._hold()
                        return
                    for wave in self._waves.values():
                        if wave.count < self._least:
                            await self._go_live(wave)
                        else:
                            self._seal(wave)
                    if self._leave and self._carried and all(self._carried.values()):
                        self.stop(self._left())
                await asyncio.sleep(TICK_S)
        except JudgeError as error:  # the cache failed
            self.stop(reason_of(error))
        except Exception as error:  # noqa: BLE001 - whoever waits would wait for ever
            self.stop(_fault(error))
        finally:
            for wave in self._waves.values():
                await wave.batching.close()

    @property
    def _out_of_time(self) -> bool:
        left_s = self._calls.budget.seconds_left
        return left_s is not None and left_s <= 0

    def _left(self) -> Reason:
        return because(Kind.IN_BATCH, len(self._waiting))

    def _settled(self, now_s: float) -> bool:
        """Return whether all that is under way waits for a batch."""
        still_s = now_s - self._changed_s
        if still_s < SETTLED_S or not self._waiting or any(wave.came for wave in self._waves.values()):
            return False
        return still_s >= LONGEST_S or self._idle(len(self._waiting))

    async def _take(self, wave: _Wave) -> None:
        """Note the calls that came, each in a batch with room for it; a full batch is handed in."""
        while wave.came:
            some: list[BatchedCall] = []
            while wave.came and len(some) < BY:
                call = wave.came[0]
                size = len(wave.batching.line(call.key, call.body)) + len(wave.batching.between)
                room = wave.batching.most_bytes - len(wave.batching.opening) - len(wave.batching.closing)
                if wave.count + 1 > wave.batching.most or wave.size + size > room:
                    break
                some.append(wave.came.popleft())
                wave.count, wave.size = wave.count + 1, wave.size + size
            if some:
                await self._note(wave, some)
            if wave.came and len(some) < BY:
                if not wave.count:
                    self._refuse(wave.came.popleft())
                self._seal(wave)
            await asyncio.sleep(0)

    async def _note(self, wave: _Wave, some: list[BatchedCall]) -> None:
        """Write calls down in the batch that is open; those that stand in another one are waited for there."""
        server, host = wave.server, self._store.host
        if not wave.batch:
            wave.batch = uuid4().hex
            await self._calls.storing(lambda: self._records.begin(wave.batch, about(server), host.wall()))
        elsewhere = await self._calls.storing(lambda: self._records.add(wave.batch, some))
        for call in some:
            batch = elsewhere.get(call.key, wave.batch)
            if (wait := self._waiting.get(call.key)) is not None:
                wait.batch = batch
        wave.count -= len(elsewhere)
        for batch in set(elsewhere.values()) - self._carried.keys():
            self._carry(wave, batch, adopt=True)

    async def _hold(self) -> None:
        """Leave all calls of the wave to a file, and end all waits."""
        count = 0
        for wave in self._waves.values():
            if wave.batch:
                count += wave.count
                await self._calls.storing(partial(self._records.moves, wave.batch, State.HELD))
        self.stop(because(Kind.HELD, count) if count else self._left())

    async def _go_live(self, wave: _Wave) -> None:
        """Have the few calls of a wave made live."""
        if wave.batch:
            keys = self._keys_of(wave.batch)
            await self._calls.storing(partial(self._records.drop, wave.batch))
            wave.batch, wave.count, wave.size = "", 0, 0
            self._fail(keys, GoLive(pending=True, again=True))

    def _refuse(self, call: BatchedCall) -> None:
        self._fail([call.key], JudgeError(because(Kind.BATCH_TOO_LARGE)))

    def _seal(self, wave: _Wave) -> None:
        """Hand the open batch of a wave in."""
        if wave.batch:
            self._carry(wave, wave.batch, adopt=False)
            wave.batch, wave.count, wave.size = "", 0, 0

    def _carry(self, wave: _Wave, batch: str, *, adopt: bool) -> None:
        self._carried[batch] = False
        self.figures.batches += 1
        self._start(self._see_to(wave, batch, adopt=adopt))

    async def _see_to(self, wave: _Wave, batch: str, *, adopt: bool) -> None:
        """See to a batch until its replies are here, or somebody else has them."""
        try:
            if not await self._calls.storing(lambda: self._records.claim(batch)):
                await self._watch(batch)
            elif (state := await self._over(wave, batch, adopt=adopt)) is None:
                self._carried[batch] = True
            elif state.fault:
                await self._refused(wave, batch, JudgeError(because(Kind.BATCH_FAULT, Said(state.fault))))
            else:
                await self._collect(wave, batch)
        except NotThere:
            await self._calls.storing(lambda: self._records.drop(batch))
            self._again(self._keys_of(batch))
        except NotOurs:
            self._again(self._keys_of(batch))  # they find their batch in the record, and look for it anew
        except NotTaken as refusal:
            self._lose(wave, refusal.error)
            await self._calls.storing(lambda: self._records.drop(batch))
            self._fail(self._keys_of(batch), refusal.error)
        except JudgeError as error:  # the record stays: the server may have the batch
            self._lose(wave, error)
            self._fail(self._keys_of(batch), JudgeError(reason_of(error), pending=True))
        except Exception as error:  # noqa: BLE001 - whoever waits would wait for ever
            self._fail(self._keys_of(batch), JudgeError(_fault(error), pending=True))
        finally:
            self._at_server.discard(batch)
            if not self._carried[batch]:
                del self._carried[batch]
            self._changed_s = asyncio.get_running_loop().time()

    def _lose(self, wave: _Wave, error: JudgeError) -> None:
        if error.fatal:
            self._servers.lose(wave.server, reason_of(error))

    async def _over(self, wave: _Wave, batch: str, *, adopt: bool) -> BatchState | None:
        """
        Hand a batch in, or take it over, and return its state once it is over; None: nobody is to wait for that.

        What does not fit beside others at its server waits for them, or goes in two halves.
        """
        while True:
            if adopt:
                await wave.carrier.adopt(batch)
            else:
                row = await self._calls.storing(lambda: self._records.row(batch))
                if row is None or not row.total:  # all of its calls stand in others
                    raise NotThere
                await wave.carrier.hand_in(batch)
            self._at_server.add(batch)
            state = await wave.carrier.look(batch)
            if not state.over:
                if self._leave:
                    return None
                state = await wave.carrier.wait(batch)
            if not state.crowded:
                return state
            self._at_server.discard(batch)
            await self._calls.storing(lambda: self._records.moves(batch, State.OPEN))
            if self._at_server:
                await asyncio.sleep(CROWDED * self._first_wait_s)
            elif not await self._halved(wave, batch):  # it does not even fit alone
                return state
            adopt = False

    async def _halved(self, wave: _Wave, batch: str) -> bool:
        """Move half of the calls of a batch to another one; return whether that could be done."""
        row = await self._calls.storing(lambda: self._records.row(batch))
        if row is None or row.total < 2:
            return False
        other, at = uuid4().hex, self._store.host.wall()
        await self._calls.storing(lambda: self._records.begin(other, about(wave.server), at))
        await self._calls.storing(lambda: self._records.split(batch, other))
        for key in await self._calls.storing(lambda: self._records.keys(other)):
            if key in self._waiting:
                self._waiting[key].batch = other
        self._carry(wave, other, adopt=False)
        return True

    async def _refused(self, wave: _Wave, batch: str, error: JudgeError) -> None:
        """Give each call of a batch that its server did not take the reason."""
        keys = await self._calls.storing(lambda: self._records.keys(batch))
        await wave.carrier.give_up(batch, dict.fromkeys(keys, error))
        self._fail(keys, error)

    async def _collect(self, wave: _Wave, batch: str) -> None:
        """Collect a batch that is over, and give each call what came of it."""
        carrier, ledger = wave.carrier, self._calls.ledger

        def give(replies: Mapping[bytes, Reply]) -> None:
            others = [reply for key, reply in replies.items() if not self._answer(key, reply)]
            ledger.collected(carrier.bill(others))

        faults = await carrier.collect(batch, give)
        endpoint = wave.server.endpoint
        if isinstance(endpoint, Batchable):
            ledger.note(because(Kind.BY_BATCH, endpoint.batch_share))
        self.figures.over += 1
        for key, error in faults.items():
            self._fail([key], error)
        await self._taken_elsewhere(self._keys_of(batch))

    async def _taken_elsewhere(self, keys: Sequence[bytes]) -> None:
        """Give calls that another process collected what is kept of them."""
        for at in range(0, len(keys), BY):
            some = keys[at : at + BY]
            replies = await self._calls.storing(partial(self._store.find, some))
            for key in some:
                if key not in replies:
                    self._fail([key], JudgeError(because(Kind.BATCH_LACKS), again=True, billed=True))
                elif self._answer(key, replies[key]):
                    self._calls.ledger.calls["made"] -= 1  # who collected it counted it
                    self._calls.ledger.found(key)

    async def _watch(self, batch: str) -> None:
        """Wait for a batch that another process sees to."""
        while not await self._calls.storing(lambda: self._records.claim(batch)):
            if self._leave:
                self._carried[batch] = True
                return
            keys = await self._calls.storing(lambda: self._records.keys(batch))
            await self._taken_elsewhere([key for key in self._keys_of(batch) if key not in keys])
            if not keys:
                return
            await asyncio.sleep(WATCH_S)
        self._again(self._keys_of(batch))  # who saw to it has gone

    def _keys_of(self, batch: str) -> list[bytes]:
        """Return the calls of a batch that are still waited for."""
        return [key for key, wait in self._waiting.items() if wait.batch == batch and not wait.reply.done()]

    def _answer(self, key: bytes, reply: Reply) -> bool:
        """Give a call its reply; return whether anybody waits for it."""
        wait = self._waiting.get(key)
        if wait is None or wait.reply.done():
            return False
        wait.reply.set_result(reply)
        return True

    def _again(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            if (wait := self._waiting.get(key)) is not None and not wait.reply.done():
                self._put(key, wait)

    def _fail(self, keys: Iterable[bytes], error: JudgeError) -> None:
        for key in keys:
            if (wait := self._waiting.get(key)) is not None and not wait.reply.done():
                wait.reply.set_exception(error)


def _fault(error: Exception) -> Reason:
    return because(Kind.BATCH_BROKE, Said(f"{type(error).__name__}: {error}"))


def about(server: Server) -> str:
    """Return a server as the record of batches keeps it: without any credential."""
    endpoint = server.endpoint
    assert isinstance(endpoint, Batchable)
    return json.dumps({"identity": server.identity, "model": dict(endpoint.reached_by)}, sort_keys=True)
