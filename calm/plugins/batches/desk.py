"""
Calls by batch, for one event loop: they gather in waves, and each wave is handed in when nothing can go on without it.

So the pilots of all probes go together, then all measured asks, then what is topped up. A batch that is full is handed
in at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Final

from calm.core.reasons import NONE, Kind, Reason, because, reason_of
from calm.engine.calls import Calls, PreparedRequest
from calm.engine.engine import Batches, BatchFigures
from calm.engine.journal import Journal
from calm.engine.money import Charge
from calm.engine.queue import Place
from calm.engine.servers import Server
from calm.engine.store import request_text
from calm.errors import JudgeError
from calm.models.wire import Batching
from calm.plugins.batches.carrier import Carrier
from calm.plugins.batches.minder import Minder, fault
from calm.plugins.batches.records import BatchedCall, BatchRecords, State
from calm.plugins.batches.waits import GoLive, Outcome, Waits
from calm.plugins.batches.waves import Wave, Waves

TICK_S: Final = 0.05
SETTLED_S: Final = 0.3
"""A wave is over when nothing came for so many seconds, and all that is under way waits for it."""
LONGEST_S: Final = 2.0
"""The same where something else is under way, such as a call to a model that is asked live."""


class BatchDesk:
    """
    Gathers calls for batches, and hands on what comes of them.

    `again` begins an ask again that was set aside. `under_way` counts the asks that go on,
    `computing` says whether a thread may soon ask for more. `start` begins a
    task. `batches` says what becomes of what was gathered. A wave with fewer than `least` calls to a server is made
    live: a batch of so few saves cents, and may take hours.
    """

    def __init__(
        self,
        calls: Calls,
        journal: Journal,
        *,
        again: Callable[[Place], None],
        under_way: Callable[[], int],
        computing: Callable[[], bool],
        start: Callable[[Coroutine[object, object, None]], None],
        batches: Batches,
        least: int,
        first_wait_s: float,
    ) -> None:
        store, servers = calls.store, calls.servers
        self._journal, self._money, self._start = journal, calls.money, start
        self._records = records = BatchRecords(store)
        self._under_way, self._computing = under_way, computing
        self.leaves, self._hold_all = batches is not Batches.WAIT, batches is Batches.HOLD
        """Whether the run ends without its replies."""
        self._least = least
        self._waits = waits = Waits(calls.money, servers, again=again, release=calls.release)

        def carrier(server: Server, batching: Batching) -> Carrier:
            return Carrier(
                store,
                records,
                journal,
                batching,
                server.batch_price,
                strange=lambda model: servers.mismatch(server, model),
                first_wait_s=first_wait_s,
                patient=not self.leaves,
            )

        self._minder = Minder(
            calls,
            journal,
            waits,
            records,
            start=start,
            leave=self.leaves,
            wait_s=first_wait_s,
            changed=self._changed,
        )
        self._waves = Waves(
            records,
            journal,
            store.host,
            carrier=carrier,
            stands=waits.stands,
            full=self._seal,
            there=lambda wave, batch: self._minder.take_over(wave.carrier, wave.server, batch),
        )
        self._running = False
        self._stopped: Reason = NONE
        self._still_s = 0.0
        """For how many seconds nothing came, and nobody computed."""

    @property
    def figures(self) -> BatchFigures:
        """How far the batches are."""
        return self._minder.figures

    def __contains__(self, key: bytes) -> bool:
        return key in self._waits

    async def outcome(self, key: bytes, place: Place | None) -> Outcome:
        """
        Return what comes of a call that waits here: its reply, which is kept by then, or why there is none.

        Raises:
            SetAside: the ask at the `place` is begun again when it is there.
        """
        return await self._waits.outcome(key, place)

    def check(self) -> None:
        """Raise a `JudgeError` if nothing is taken any more."""
        if self._stopped:
            raise JudgeError(self._stopped, pending=True)

    async def note(self, prepared: PreparedRequest, key: bytes, charge: Charge | None, failures: int) -> bool:
        """
        Take a call, and write it down; then it waits here.

        Return whether it stands in a batch. One without a `charge`, which another process is to make, may stand in
        none; and the reply to any may have come since it was looked up.

        Raises:
            JudgeError: it was not taken.
        """
        self._waits.put(key, charge, failures)
        try:
            self.check()
            if not self._running:
                self._running = True
                self._start(self._run())
            text = request_text(
                prepared.request.prompt, prepared.sent.text, prepared.sent
            )  # not `stored`, which is kept
            batch = await self._waves.note(prepared.server, BatchedCall(key, text), mine=charge is not None)
        except JudgeError as error:
            self._waits.fail([key], error)
            raise
        if not batch:
            self._waits.drop(key)
        return bool(batch)

    def stop(self, why: Reason) -> None:
        """Take nothing more, and end all waits with a reason: what was handed in comes back all the same."""
        self._stopped = self._stopped or why
        left = self._waits.among(self._minder.batches)
        if left and not self._stopped.has(Kind.IN_BATCH):  # else each call says it
            self._money.ledger.note(because(Kind.IN_BATCH, left))
        self._waves.refuse(JudgeError(self._stopped, pending=True))
        self._waits.fail_all(self._stopped)

    def trust(self) -> None:
        """Take calls again."""
        self._stopped = NONE
        self._running = False
        self._waves.clear()
        self._minder.clear()

    def clear(self) -> None:
        """Forget who waits: nobody does any more."""
        self._waits.clear()

    async def _run(self) -> None:
        try:
            while not self._stopped:
                came = self._waves.came
                self._waves.crowd.clear()
                for wave in self._waves.all:
                    await self._waves.take(wave)
                if self._out_of_time:
                    self.stop(self._left())
                elif self._settled:
                    if self._hold_all:
                        await self._hold()
                        return
                    for wave in self._waves.all:
                        if wave.count < self._least:
                            await self._go_live(wave)
                        else:
                            self._seal(wave)
                    if self.leaves and self._minder.all_out:
                        self.stop(self._left())
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_S):
                        await self._waves.crowd.wait()
                # in ticks, as the loop saw nothing come while it was held up
                self._still_s = 0.0 if self._waves.came != came or self._computing() else self._still_s + TICK_S
        except JudgeError as error:  # the cache failed
            self.stop(reason_of(error))
        except Exception as error:  # noqa: BLE001 - whoever waits would wait for ever
            self.stop(fault(error))
        finally:
            await self._waves.close()

    @property
    def _out_of_time(self) -> bool:
        left_s = self._money.seconds_left
        return left_s is not None and left_s <= 0

    def _left(self) -> Reason:
        return because(Kind.IN_BATCH, len(self._waits))

    def _changed(self) -> None:
        self._still_s = 0.0

    @property
    def _settled(self) -> bool:
        if self._still_s < SETTLED_S or not len(self._waits) or self._waves.coming:
            return False
        return self._still_s >= LONGEST_S or self._under_way() <= self._waits.held

    async def _hold(self) -> None:
        count = 0
        for wave in self._waves.all:
            if wave.batch:
                count += wave.count
                await self._journal.storing(partial(self._records.moves, wave.batch, State.HELD))
        self.stop(because(Kind.HELD, count) if count else self._left())

    async def _go_live(self, wave: Wave) -> None:
        if batch := wave.renewed():
            await self._journal.storing(partial(self._records.drop, batch))
            self._waits.fail(self._waits.of(batch), GoLive())

    def _seal(self, wave: Wave) -> None:
        if batch := wave.renewed():
            self._minder.hand_in(wave.carrier, wave.server, batch)
