"""One batch, from the hand-in to the last reply: each step is noted before and after it, so a later process goes on."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Final, TypeVar

from calm.core.reasons import NONE, Kind, Reason, because, reason_of
from calm.engine.batch_records import BatchRecords, BatchRow, Bill, State
from calm.engine.calls import Calls
from calm.engine.rows import Entry
from calm.engine.store import Store
from calm.errors import JudgeError
from calm.models.pricing import cost
from calm.models.wire import Batching, BatchState, Price, Reply

T = TypeVar("T")

FIRST_LOOK_S: Final = 0.2
LONGEST_LOOK_S: Final = 30.0
SLOWER: Final = 1.3
"""Each look at a batch waits so many times as long as the one before."""
TRIES: Final = 8
"""What the server refuses for now, or does not answer, is tried so often."""
LONGEST_WAIT_S: Final = 60.0
AT_ONCE: Final = 500
"""So many replies are kept in one transaction."""


@dataclass(slots=True)
class Collected:
    """
    What came of the calls of a batch, by their keys.

    `replies` are those that somebody waits for, kept by now, `faults` say why others have none, and `others` is the
    bill of the replies that nobody waits for: they are kept as well.
    """

    replies: dict[bytes, Reply] = field(default_factory=dict)
    faults: dict[bytes, JudgeError] = field(default_factory=dict)
    others: Bill = field(default_factory=Bill)


class NotThere(Exception):
    """A batch that no server took: its calls may go into another one."""


class Carrier:
    """
    Hands the batches for one server in, and collects them.

    `price` is that of a call in a batch (None: not known). `strange` returns why a reply of a model is none of this
    run, or `NONE`. `first_wait_s` is the first wait after an error, in seconds.
    """

    def __init__(
        self,
        store: Store,
        records: BatchRecords,
        calls: Calls,
        batching: Batching,
        price: Price | None,
        *,
        strange: Callable[[str], Reason],
        first_wait_s: float,
    ) -> None:
        self._store, self._records, self._calls = store, records, calls
        self._batching, self._price, self._strange = batching, price, strange
        self._first_wait_s = first_wait_s

    async def hand_in(self, id_: str) -> None:
        """
        Hand a batch in.

        Raises:
            JudgeError: the server does not take it; `pending` if it may have taken it all the same.
        """
        failures = 0
        while True:
            row = await self._row(id_)
            try:
                remote = await self._found(row) if row.state is State.SENDING else ""
                if not remote:
                    await self._moves(id_, State.SENDING)
                    with tempfile.TemporaryFile() as file:
                        await self._write(id_, file)
                        remote = await self._batching.submit(id_, file)
                await self._moves(id_, State.SENT, remote)
                return
            except JudgeError as error:
                failures += 1
                if error.refused:
                    await self._moves(id_, State.OPEN)  # nobody has it
                if not error.again or failures >= TRIES:
                    if error.refused:
                        raise
                    raise JudgeError(reason_of(error), fatal=error.fatal, pending=True) from error
                await asyncio.sleep(self._wait_s(failures, error))

    async def adopt(self, id_: str) -> None:
        """
        Take over a batch that another process left behind.

        Raises:
            NotThere: no server has it.
            JudgeError: the server does not say.
        """
        row = await self._row(id_)
        if row.state is State.SENDING:
            remote = await self._patiently(lambda: self._found(row))
            if not remote:
                raise NotThere
            await self._moves(id_, State.SENT, remote)
        elif row.state is not State.SENT:
            raise NotThere

    async def look(self, id_: str) -> BatchState:
        """Return how far a batch is now."""
        row = await self._row(id_)
        return await self._patiently(lambda: self._batching.state(row.remote))

    async def wait(self, id_: str) -> BatchState:
        """Return the state of a batch once it is over."""
        wait_s = FIRST_LOOK_S
        while not (found := await self.look(id_)).over:
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * SLOWER, LONGEST_LOOK_S)
        return found

    async def collect(self, id_: str, wanted: Container[bytes]) -> Collected:
        """Keep all replies of a batch that is over, and take out the calls that it did not answer."""
        row = await self._row(id_)
        left, found = await self._calls.storing(lambda: self._records.keys(id_)), Collected()
        failures = 0
        while True:
            before = len(left)
            try:
                async for some in self._read(row.remote, left, found.faults):
                    await self._keep(id_, some, wanted, found)
                break
            except JudgeError as error:
                failures = failures + 1 if len(left) == before else 1
                if not error.again or failures >= TRIES:
                    raise
                await asyncio.sleep(self._wait_s(failures, error))
        for key in left - found.faults.keys():
            found.faults[key] = JudgeError(because(Kind.BATCH_LACKS), again=True)
        await self.give_up(id_, found.faults)
        return found

    async def give_up(self, id_: str, faults: Mapping[bytes, JudgeError]) -> None:
        """Note that a batch is over, and that so many of its calls have no answer."""
        row = await self._row(id_)
        if faults:
            await self._calls.storing(lambda: self._records.failed(id_, list(faults)))
        await self._moves(id_, State.OVER, row.remote)

    async def cancel(self, id_: str) -> None:
        """Have the server answer no more of a batch."""
        row = await self._row(id_)
        await self._patiently(lambda: self._batching.cancel(row.remote))

    async def _read(
        self, remote: str, left: set[bytes], faults: dict[bytes, JudgeError]
    ) -> AsyncIterator[dict[bytes, Reply]]:
        """Yield replies, some at a time, and take their keys out of what is left; note why others have none."""
        some: dict[bytes, Reply] = {}
        async for key, said in self._batching.results(remote):
            if key not in left or key in some:  # it was collected before, or is none of this batch
                continue
            why = self._strange(said.model) if isinstance(said, Reply) else NONE
            found = JudgeError(why, fatal=True) if why else said
            if isinstance(found, JudgeError):
                faults[key] = found
                continue
            faults.pop(key, None)
            some[key] = found
            if len(some) >= AT_ONCE:
                left.difference_update(some)
                yield some
                some = {}
        if some:
            left.difference_update(some)
            yield some

    async def _keep(self, id_: str, some: Mapping[bytes, Reply], wanted: Container[bytes], found: Collected) -> None:
        def keep() -> dict[bytes, Reply]:
            requests = self._records.requests(list(some))
            entries = [Entry(key, requests[key], reply) for key, reply in some.items() if key in requests]
            bill = self._bill([entry.reply for entry in entries])
            keys = [entry.key for entry in entries]
            standing = self._store.put_all(entries, lambda db: self._records.answered(db, id_, keys, bill))
            return dict(zip(keys, standing, strict=True))

        kept = await self._calls.storing(keep)
        found.replies |= {key: reply for key, reply in kept.items() if key in wanted}
        found.others = found.others.plus(self._bill([reply for key, reply in kept.items() if key not in wanted]))

    def _bill(self, replies: list[Reply]) -> Bill:
        used = [reply.usage for reply in replies]
        return Bill(
            answered=len(used),
            input=sum(one.input or 0 for one in used),
            output=sum(one.output or 0 for one in used),
            usd=sum(cost(self._price, one) for one in used) if self._price else 0.0,
        )

    async def _write(self, id_: str, file: BinaryIO) -> None:
        batching = self._batching
        file.write(batching.opening)
        for place, call in enumerate(self._records.calls(id_)):
            file.write(batching.between if place else b"")
            file.write(batching.line(call.key, call.body))
            if place % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
        file.write(batching.closing)
        file.seek(0)

    async def _row(self, id_: str) -> BatchRow:
        row = await self._calls.storing(lambda: self._records.row(id_))
        if row is None:
            raise NotThere
        return row

    async def _moves(self, id_: str, state: State, remote: str = "") -> None:
        await self._calls.storing(lambda: self._records.moves(id_, state, remote))

    async def _found(self, row: BatchRow) -> str:
        rows = await self._calls.storing(self._records.rows)
        known = {other.remote for other in rows if other.remote}
        return await self._batching.find(row.id, row.total, row.at, known)

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what the server answers to a question that may be put again."""
        failures = 0
        while True:
            try:
                return await ask()
            except JudgeError as error:
                failures += 1
                if not error.again:
                    raise
                await asyncio.sleep(self._wait_s(failures, error))

    def _wait_s(self, failures: int, error: JudgeError) -> float:
        return error.after_s or min(self._first_wait_s * 2.0**failures, LONGEST_WAIT_S)
