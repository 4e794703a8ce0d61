"""Who sees to batches: each is handed in or taken over, waited for and collected, beside all others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import uuid4

from calm.core.reasons import Kind, Reason, Said, because, reason_of
from calm.engine.calls import Calls
from calm.engine.database import BY
from calm.engine.engine import BatchFigures
from calm.engine.journal import Journal
from calm.errors import JudgeError
from calm.models.wire import Batchable, BatchState, Reply
from calm.plugins.batches.carrier import Carrier, NotOurs, NotTaken, NotThere
from calm.plugins.batches.records import BatchRecords, Bill
from calm.plugins.batches.waits import Anew, Waits

WATCH_S: Final = 1.0
"""A batch that another process waits for is looked up every so many seconds."""
CROWDED: Final = 60.0
"""A batch that does not fit beside others at its server waits for so many first waits, then it is handed in again."""


@dataclass(eq=False, slots=True)
class _Sizes:
    """
    What is known of how many calls a server takes in one batch: the most that it took, and what it did not take.

    One line that is too long may be to blame for one refusal. So two refusals tell that no batch of the size is taken.
    """

    taken: int = 0
    least: list[int] = field(default_factory=list)
    error: JudgeError | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def refuses(self, total: int) -> JudgeError | None:
        """Return what the server would say to so many calls, if that is known."""
        return self.error if len(self.least) > 1 and total >= self.least[1] and total > self.taken else None

    def refused(self, total: int, error: JudgeError) -> None:
        """Note that so many were too many."""
        self.least, self.error = sorted([*self.least, total])[:2], error


class Minder:
    """
    Sees to the batches of a process, each in a task of its own, which `start` begins.

    With `leave`, none is waited for. `wait_s` is the wait before a batch that found no room is handed in again;
    `changed` is called when one is seen to no more.
    """

    def __init__(
        self,
        calls: Calls,
        journal: Journal,
        waits: Waits,
        records: BatchRecords,
        *,
        start: Callable[[Coroutine[object, object, None]], None],
        leave: bool,
        wait_s: float,
        changed: Callable[[], None],
    ) -> None:
        self._calls, self._journal, self._waits = calls, journal, waits
        self._records = records
        self._start, self._leave, self._wait_s, self._changed = start, leave, wait_s, changed
        self._seen: dict[str, bool] = {}
        """The batches that this process sees to; True: it was looked at, and is not over."""
        self._at_server: set[str] = set()
        self._sizes: dict[str, _Sizes] = {}
        self.figures = BatchFigures()

    @property
    def batches(self) -> Iterable[str]:
        """The batches that it sees to."""
        return self._seen.keys()

    @property
    def all_out(self) -> bool:
        """Whether there are batches, and none of them is over yet."""
        return bool(self._seen) and all(self._seen.values())

    def clear(self) -> None:
        """Forget all batches; they stand in the record."""
        self._seen.clear()

    def hand_in(self, carrier: Carrier, batch: str) -> None:
        """Begin to see to a batch that is to be handed in."""
        self._begin(carrier, batch, adopt=False)

    def take_over(self, carrier: Carrier, batch: str) -> None:
        """Begin to see to a batch of another process, or of an earlier one, unless it is seen to already."""
        if batch not in self._seen:
            self._begin(carrier, batch, adopt=True)

    def _begin(self, carrier: Carrier, batch: str, *, adopt: bool) -> None:
        self._seen[batch] = False
        self.figures.batches += 1
        self._start(self._see_to(carrier, batch, adopt=adopt))

    async def _see_to(self, carrier: Carrier, batch: str, *, adopt: bool) -> None:
        waits = self._waits
        try:
            if not await self._journal.storing(lambda: self._records.claim(batch)):
                await self._watch(batch)
            elif (state := await self._over(carrier, batch, adopt=adopt)) is None:
                self._seen[batch] = True
            elif state.fault:
                error = JudgeError(because(Kind.BATCH_FAULT, Said(state.fault)))
                keys = await self._journal.storing(lambda: self._records.keys(batch))
                await carrier.give_up(batch, dict.fromkeys(keys, error))
                waits.fail(keys, error)
            else:
                await self._collect(carrier, batch)
        except NotThere:
            await self._journal.storing(lambda: self._records.drop(batch))
            waits.fail(waits.of(batch), Anew())
        except NotOurs:
            waits.fail(waits.of(batch), Anew())  # they find their batch in the record, and look for it anew
        except NotTaken as refusal:  # no server has it
            self._lose(carrier, refusal.error)
            await self._journal.storing(lambda: self._records.drop(batch))
            waits.fail(waits.of(batch), refusal.error)
        except JudgeError as error:  # the record stays: the server may have the batch
            self._lose(carrier, error)
            waits.fail(waits.of(batch), JudgeError(reason_of(error), pending=True))
        except Exception as error:  # noqa: BLE001 - whoever waits would wait for ever
            waits.fail(waits.of(batch), JudgeError(fault(error), pending=True))
        finally:
            self._at_server.discard(batch)
            if not self._seen.get(batch, True):
                del self._seen[batch]
            self._changed()

    def _lose(self, carrier: Carrier, error: JudgeError) -> None:
        if error.fatal:
            self._calls.servers.lose(carrier.server, reason_of(error))

    async def _over(self, carrier: Carrier, batch: str, *, adopt: bool) -> BatchState | None:
        """
        Hand a batch in, or take it over, and return its state once it is over; None: nobody is to wait for that.

        What does not fit beside others at its server waits for them, or goes in two halves; so does what its server
        does not take for its size.
        """
        sizes = self._sizes.setdefault(carrier.server.identity, _Sizes())
        while True:
            if adopt:
                await carrier.adopt(batch)
            elif not await self._handed_in(carrier, batch, sizes):
                continue
            self._at_server.add(batch)
            state = await carrier.look(batch)
            if not state.over:
                if self._leave:
                    return None
                state = await carrier.wait(batch)
            if not (state.crowded or state.too_large):
                return state
            self._at_server.discard(batch)
            await carrier.taken_back(batch)
            if state.crowded and self._at_server:
                await asyncio.sleep(CROWDED * self._wait_s)
            elif not await self._halved(carrier, batch):  # it does not even fit alone
                return state
            adopt = False

    async def _handed_in(self, carrier: Carrier, batch: str, sizes: _Sizes) -> bool:
        """Hand a batch in; return False where it is half of what it was, since its server does not take so many."""
        async with sizes.turn:  # what the server says of one tells how the next is to be cut
            row = await self._journal.storing(lambda: self._records.row(batch))
            if row is None or not row.total:  # all of its calls stand in others
                raise NotThere
            try:
                if (error := sizes.refuses(row.total)) is not None:
                    raise NotTaken(error)
                await carrier.hand_in(batch)
            except NotTaken as refusal:
                if not refusal.error.too_large:
                    raise
                sizes.refused(row.total, refusal.error)
                if not await self._halved(carrier, batch):
                    raise
                return False
            sizes.taken = max(sizes.taken, row.total)
        return True

    async def _halved(self, carrier: Carrier, batch: str) -> bool:
        """Move half of the calls of a batch to another one; return whether that could be done."""
        row = await self._journal.storing(lambda: self._records.row(batch))
        if row is None or row.total < 2:
            return False
        other = uuid4().hex
        await self._journal.storing(lambda: self._records.split(batch, other))
        self._waits.stands(await self._journal.storing(lambda: self._records.keys(other)), other)
        self.hand_in(carrier, other)
        return True

    async def _collect(self, carrier: Carrier, batch: str) -> None:
        waits, ledger, server = self._waits, self._calls.money.ledger, carrier.server

        def give(replies: Mapping[bytes, Reply]) -> None:
            Bill.of(waits.answer(server, replies), server.batch_price).add_to(ledger)

        faults = await carrier.collect(batch, give)
        if isinstance(server.endpoint, Batchable):
            ledger.note(because(Kind.BY_BATCH, server.endpoint.batch_share))
        self.figures.over += 1
        for key, error in faults.items():
            waits.fail([key], error)
        await self._taken_elsewhere(waits.of(batch))

    async def _taken_elsewhere(self, keys: Sequence[bytes]) -> None:
        for at in range(0, len(keys), BY):
            some = keys[at : at + BY]
            replies = await self._journal.storing(partial(self._calls.store.find, some))
            self._waits.found(replies)
            lacking = JudgeError(because(Kind.BATCH_LACKS), again=True, billed=True)
            self._waits.fail([key for key in some if key not in replies], lacking)

    async def _watch(self, batch: str) -> None:
        while not await self._journal.storing(lambda: self._records.claim(batch)):
            if self._leave:
                self._seen[batch] = True
                return
            keys = await self._journal.storing(lambda: self._records.keys(batch))
            await self._taken_elsewhere([key for key in self._waits.of(batch) if key not in keys])
            if not keys:
                return
            await asyncio.sleep(WATCH_S)
        self._waits.fail(self._waits.of(batch), Anew())  # who saw to it has gone


def fault(error: Exception) -> Reason:
    """Return the reason for an error that is a fault of ours."""
    return because(Kind.BATCH_BROKE, Said(f"{type(error).__name__}: {error}"))
