"""The calls that wait for a batch: a small row each, and the asks that get what comes of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from calm.core.reasons import Reason
from calm.engine.money import Charge, Money
from calm.engine.queue import PLACE, Aside, Place, SetAside, Tried
from calm.engine.servers import Server, Servers
from calm.errors import JudgeError
from calm.models.wire import Reply

Outcome: TypeAlias = Reply | Tried


class Anew(JudgeError):
    """What a call gets whose batch is not there after all: it may go into another one."""

    def __init__(self) -> None:
        super().__init__(pending=True, again=True)


class GoLive(Anew):
    """What a call gets whose wave is too small for a batch: it is to be made live."""


@dataclass(eq=False, slots=True)
class _Wait:
    """
    A call that waits: what is reserved for it (None: another process made it), and how many attempts failed before.

    `batch` is where it stands ("": nowhere yet), `asks` are those who wait for it.
    """

    charge: Charge | None
    failures: int
    batch: str = ""
    asks: tuple[Place | asyncio.Future[Outcome], ...] = ()


class Waits:
    """
    The calls of a process that wait for batches, by their keys; nothing of a request is kept here.

    `again` begins an ask again that was set aside, `release` gives the lease up on a call that failed and that nobody
    waits for.
    """

    def __init__(
        self,
        money: Money,
        servers: Servers,
        *,
        again: Callable[[Place], None],
        release: Callable[[bytes], None],
    ) -> None:
        self._money, self._ledger, self._servers = money, money.ledger, servers
        self._again, self._release = again, release
        self._rows: dict[bytes, _Wait] = {}
        self._held: Counter[object] = Counter()

    def __contains__(self, key: bytes) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def held(self) -> int:
        """How many asks stay under way while they wait: judges of the user's own, which cannot be begun again."""
        return len(self._held)

    def put(self, key: bytes, charge: Charge | None, failures: int) -> None:
        """Add a call."""
        self._rows[key] = _Wait(charge, failures)

    def drop(self, key: bytes) -> None:
        """Forget a call that stands in no batch after all; who joined it meanwhile looks for its reply again."""
        if (wait := self._rows.pop(key, None)) is not None:
            anew = Anew()
            if wait.charge is not None:
                self._money.failed(wait.charge, anew)
            self._end(key, wait, Tried(wait.failures, anew))

    def stands(self, keys: Iterable[bytes], batch: str) -> None:
        """Note in which batch calls stand."""
        for key in keys:
            if (wait := self._rows.get(key)) is not None:
                wait.batch = batch

    def of(self, batch: str) -> list[bytes]:
        """Return the calls of a batch that still wait."""
        return [key for key, wait in self._rows.items() if wait.batch == batch]

    def among(self, batches: Iterable[str]) -> int:
        """Return how many calls wait for some batches."""
        known = set(batches)
        return sum(wait.batch in known for wait in self._rows.values())

    async def outcome(self, key: bytes, place: Place | None) -> Outcome:
        """
        Return what comes of a call.

        Raises:
            SetAside: the ask at the `place` is begun again when it is there.
        """
        wait = self._rows[key]
        if place is not None:
            aside = place.aside = place.aside or Aside()
            aside.open += 1
            aside.knows([key])
            wait.asks = (*wait.asks, place)
            raise SetAside
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        wait.asks = (*wait.asks, future)
        ask = PLACE.get() or future
        self._held[ask] += 1
        try:
            return await future
        finally:
            self._held[ask] -= 1
            if not self._held[ask]:
                del self._held[ask]

    def answer(self, server: Server, replies: Mapping[bytes, Reply]) -> list[Reply]:
        """Hand kept replies of a server on; return those that no call of this process paid for."""
        unpaid: list[Reply] = []
        for key, reply in replies.items():
            wait = self._rows.pop(key, None)
            if wait is None or wait.charge is None:
                unpaid.append(reply)
            if wait is None:
                continue
            why = self._servers.mismatch(server, reply.model)
            if wait.charge is not None:
                self._money.answered(wait.charge, reply)
            if not why:
                self._ledger.answered(key)
            server.pace.answered()
            server.health.answered()
            if why:
                self._servers.lose(server, why)
                self._end(key, wait, Tried(wait.failures + 1, JudgeError(why, fatal=True)))
            else:
                self._end(key, wait, reply)
        return unpaid

    def found(self, replies: Mapping[bytes, Reply]) -> None:
        """Hand on what another process collected, which counts it."""
        for key, reply in replies.items():
            if (wait := self._rows.pop(key, None)) is not None:
                if wait.charge is not None:
                    self._money.answered(wait.charge, reply)
                    self._ledger.calls["made"] -= 1
                self._ledger.found(key)
                self._end(key, wait, reply)

    def fail(self, keys: Iterable[bytes], error: JudgeError) -> None:
        """Give calls the reason why they have no reply."""
        for key in keys:
            if (wait := self._rows.pop(key, None)) is None:
                continue
            if wait.charge is not None:
                self._money.failed(wait.charge, error)
                if not wait.asks:
                    self._release(key)
            self._end(key, wait, Tried(wait.failures + (not error.pending), error))

    def fail_all(self, why: Reason) -> None:
        """Give all calls a reason; their replies may come later."""
        self.fail(list(self._rows), JudgeError(why, pending=True))

    def clear(self) -> None:
        """Forget all calls, and who waits for them; their replies may come later."""
        for wait in self._rows.values():
            wait.asks = ()
        self.fail(list(self._rows), JudgeError(pending=True))

    def _end(self, key: bytes, wait: _Wait, outcome: Outcome) -> None:
        for ask in wait.asks:
            if not isinstance(ask, Place):
                if not ask.done():
                    ask.set_result(outcome)
                continue
            aside = ask.aside
            assert aside is not None
            if isinstance(outcome, Tried):
                aside.tried = (aside.tried or {}) | {key: outcome}
            aside.open -= 1
            if not aside.open:
                self._again(ask)
