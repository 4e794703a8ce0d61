"""All of an engine that lives in its event loop: queues, calls, caps, cache and verdicts, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from random import Random
from typing import Final

from calm.core.reasons import Reason
from calm.engine.attempts import Attempts
from calm.engine.batching.desk import BatchDesk, Batches
from calm.engine.batching.waits import Waits
from calm.engine.budget import Budget
from calm.engine.cache import Cache
from calm.engine.calls import STOPPED, Calls
from calm.engine.charges import Charges
from calm.engine.clerk import Clerk
from calm.engine.inbox import Inbox
from calm.engine.leases import BEAT_S
from calm.engine.ledger import Ledger
from calm.engine.scheduler import Scheduler
from calm.engine.servers import Servers
from calm.engine.store import Mode, Store
from calm.engine.verdicts import Verdicts
from calm.errors import StorageError

DRAIN_S: Final = 0.02
"""While calls under way are waited for, they are counted again after so many seconds."""


class Desk:
    """
    Asks judges about cases and models for texts, many at a time, in one event loop.

    `start` begins a task in that loop; every method is to be called there. `patience_s` turns the seconds for which
    calls under way are waited for at the end into those that are left; `over` says whether the run was told to end.
    `inbox` takes what is asked,
    `attempts` makes single calls. `batches` says what becomes of calls that can go by batch (None: all are made live),
    and `least` how many make a batch; `computing` whether a thread computes that may soon ask for more.
    """

    def __init__(
        self,
        store: Store,
        budget: Budget,
        start: Callable[[Coroutine[object, object, None]], None],
        *,
        served: Mapping[str, str],
        first_wait_s: float,
        grace_s: float,
        seed: int,
        patience_s: Callable[[float], float] = float,
        over: Callable[[], bool] = lambda: False,
        batches: Batches | None = None,
        least: int = 1,
        computing: Callable[[], bool] = lambda: False,
    ) -> None:
        self.store, self.ledger = store, Ledger()
        self._patience_s = patience_s
        self.scheduler = Scheduler(start)
        self.servers = Servers(served, batches=batches is not None)
        self.clerk = Clerk(remote=store.remote)
        self.calls = Calls(budget, self.ledger, grace_s, self.end_waits, self.clerk, over=over)
        charges = Charges(self.calls)
        self.attempts = Attempts(
            self.servers,
            self.calls,
            charges,
            first_wait_s=first_wait_s,
            idling=self.scheduler.idling,
            kept=store.mode is not Mode.OFF,
            jitter=Random(f"{store.host.place} {store.host.pid}"),  # processes do not wait in step
        )
        self.batch_desk = None
        if batches is not None:
            waits = Waits(
                charges,
                self.ledger,
                self.servers,
                again=self.scheduler.again,
                release=self._release,
            )
            self.batch_desk = BatchDesk(
                store,
                self.calls,
                self.servers,
                waits,
                under_way=lambda: self.scheduler.under_way,
                computing=computing,
                start=start,
                batches=batches,
                least=least,
                first_wait_s=first_wait_s,
            )
        self._cache = Cache(
            store,
            self.calls,
            self.servers,
            self.attempts,
            self.scheduler.idling,
            clerk=self.clerk,
            charges=charges,
            batches=self.batch_desk,
        )
        verdicts = Verdicts(self._cache, self.calls, replay=store.mode is Mode.REPLAY)
        self.inbox = Inbox(verdicts, self.scheduler, self.servers, seed)

    def end_waits(self, why: Reason = STOPPED) -> None:
        """End all waits, for servers and for other processes: whoever waits gets a `JudgeError` with the reason."""
        self.scheduler.release()
        self.servers.stop(why)
        if self.batch_desk is not None:
            self.batch_desk.stop(why)
        self._cache.stop()

    async def drain(self) -> None:
        """Begin nothing new, and wait for the calls under way while there is patience: they are billed anyway."""
        self.calls.stopping = True
        self.end_waits()
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self.calls.grace_s
        while self.calls.under_way and loop.time() < deadline_s and self._patience_s(self.calls.grace_s) > 0:  # noqa: ASYNC110 - counted where calls begin and end
            await asyncio.sleep(DRAIN_S)

    async def cancel_all(self) -> None:
        """Cancel all that the loop does but the present task, keep what was answered, and forget what was not."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.batch_desk is not None:
            self.batch_desk.clear()
        await self._cache.flush()
        self.scheduler.clear()
        self.inbox.clear()

    def _release(self, key: bytes) -> None:
        self._cache.release(key)

    def close(self) -> None:
        """End the thread that takes steps to the store."""
        self.clerk.close()

    async def live(self) -> None:
        """Let other processes know that this one is alive; a sign that fails is not the last one."""
        while True:
            await asyncio.sleep(BEAT_S)
            with suppress(StorageError):
                await self.clerk.wait(self.store.show_life)
