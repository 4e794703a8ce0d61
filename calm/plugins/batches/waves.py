"""Calls that gather for batches: each is written down in the record at once, and its body is not held."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from uuid import uuid4

from calm.core.reasons import Kind, because
from calm.engine.database import BY
from calm.engine.journal import Journal
from calm.engine.leases import Host
from calm.engine.servers import Server
from calm.errors import JudgeError
from calm.models.wire import Batchable, Batching
from calm.plugins.batches.carrier import Carrier
from calm.plugins.batches.records import BatchedCall, BatchRecords


@dataclass(eq=False, slots=True)
class _Coming:
    """A call that is to be written down, and who waits for that; `mine` if this process is to make it."""

    call: BatchedCall
    mine: bool
    noted: asyncio.Future[str]


@dataclass(eq=False, slots=True)
class Wave:
    """Calls to one server that were not handed in: those that came, and the batch that takes them ("": none yet)."""

    server: Server
    batching: Batching
    carrier: Carrier
    batch: str = ""
    count: int = 0
    size: int = 0
    came: deque[_Coming] = field(default_factory=deque)

    def renewed(self) -> str:
        """Return the batch that was open; the next call begins another one."""
        batch, self.batch, self.count, self.size = self.batch, "", 0, 0
        return batch

    def room(self, call: BatchedCall) -> int:
        """Return how many bytes a call takes in the batch that is open; 0 if it has no room there."""
        batching = self.batching
        size = len(batching.line(call.key, call.body)) + len(batching.between)
        most = batching.most_bytes - len(batching.opening) - len(batching.closing)
        return 0 if self.count >= batching.most or self.size + size > most else size


class Waves:
    """
    The waves of a process, one for each server.

    `carrier` makes what carries batches to a server. `stands` is told in which batch calls stand, `full` is given a
    wave whose open batch takes no more, `there` a batch of an earlier process, or of another one, in which calls stand.
    """

    def __init__(
        self,
        records: BatchRecords,
        journal: Journal,
        host: Host,
        *,
        carrier: Callable[[Server, Batching], Carrier],
        stands: Callable[[Iterable[bytes], str], None],
        full: Callable[[Wave], None],
        there: Callable[[Wave, str], None],
    ) -> None:
        self._records, self._journal, self._host = records, journal, host
        self._carrier, self._stands, self._full, self._there = carrier, stands, full, there
        self._waves: dict[str, Wave] = {}
        self.came = 0
        """How many calls came, or were written down."""
        self.crowd = asyncio.Event()
        """Set when enough calls came for a step of the record."""

    @property
    def all(self) -> list[Wave]:
        """All of them."""
        return list(self._waves.values())

    @property
    def coming(self) -> bool:
        """Whether calls are still to be written down."""
        return any(wave.came for wave in self._waves.values())

    async def note(self, server: Server, call: BatchedCall, *, mine: bool) -> str:
        """
        Write a call down in the record, and return its batch; "" for one that is not `mine` and stands in none.

        Raises:
            JudgeError: it is too large for any batch.
        """
        coming = _Coming(call, mine, asyncio.get_running_loop().create_future())
        came = self._wave(server).came
        came.append(coming)
        self.came += 1
        if len(came) >= BY:
            self.crowd.set()
        return await asyncio.shield(coming.noted)

    async def take(self, wave: Wave) -> None:
        """Write down the calls that came, each in a batch with room for it."""
        while wave.came:
            some: list[_Coming] = []
            while wave.came and len(some) < BY and (size := wave.room(wave.came[0].call)):
                some.append(wave.came.popleft())
                wave.count, wave.size = wave.count + 1, wave.size + size
            if some:
                await self._written(wave, some)
            if wave.came and len(some) < BY:
                if wave.count:
                    self._full(wave)
                else:
                    _tell(wave.came.popleft().noted, JudgeError(because(Kind.BATCH_TOO_LARGE)))
            await asyncio.sleep(0)

    def refuse(self, error: JudgeError) -> None:
        """Give all that were not written down an error."""
        for wave in self._waves.values():
            while wave.came:
                _tell(wave.came.popleft().noted, error)

    def clear(self) -> None:
        """Forget all waves."""
        self._waves.clear()

    async def close(self) -> None:
        """Close all connections."""
        for wave in self._waves.values():
            await wave.batching.close()

    async def _written(self, wave: Wave, some: list[_Coming]) -> None:
        try:
            wave.batch, at = wave.batch or uuid4().hex, self._host.wall()
            mine, others = ([one.call for one in some if one.mine is whose] for whose in (True, False))
            elsewhere = await self._journal.storing(
                lambda: self._records.add(wave.batch, about(wave.server), at, mine, others)
            )
        except JudgeError as error:
            for one in some:
                _tell(one.noted, error)
            raise
        self.came += len(some)
        wave.count -= len(elsewhere)
        for one in some:  # at once: who waits is told a moment later
            batch = elsewhere.get(one.call.key, wave.batch)
            self._stands([one.call.key], batch)
            _tell(one.noted, batch)
        for batch in set(elsewhere.values()) - {""}:
            self._there(wave, batch)

    def _wave(self, server: Server) -> Wave:
        wave = self._waves.get(server.identity)
        if wave is None:
            endpoint = server.endpoint
            assert isinstance(endpoint, Batchable)
            batching = endpoint.batching()
            wave = self._waves[server.identity] = Wave(server, batching, self._carrier(server, batching))
        return wave


def _tell(noted: asyncio.Future[str], what: str | JudgeError) -> None:
    if noted.done():
        return
    if isinstance(what, str):
        noted.set_result(what)
    else:
        noted.set_exception(what)
        noted.exception()  # it may be that nobody waits


def about(server: Server) -> str:
    """Return a server as the record of batches keeps it: without any credential."""
    endpoint = server.endpoint
    assert isinstance(endpoint, Batchable)
    return json.dumps({"identity": server.identity, "model": dict(endpoint.reached_by)}, sort_keys=True)
