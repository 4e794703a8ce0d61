"""The calls under way: each begins within the budget and is counted, and none begins after a stop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from calm.core.reasons import NONE, Kind, Reason, because
from calm.engine.budget import Amount, Budget
from calm.engine.clerk import Clerk
from calm.engine.database import PATIENCE_S
from calm.engine.ledger import Ledger
from calm.engine.reservations import LOOK_S, Reservations
from calm.errors import JudgeError, StorageError

T = TypeVar("T")

STOPPED: Final = because(Kind.STOPPED)
NOT_KEPT: Final = because(Kind.NOT_KEPT)
ONE: Final = Amount(1)


class Calls:
    """
    Begins and ends the calls of a process. `grace_s` is how many seconds calls may go on after the end of a run.

    `fault` is why no call may begin any more: the cache failed. `halted` is called when that happens, with the reason
    that each call gets. `clerk` takes reservations to an account on a server. `over` says whether a signal has come.
    """

    def __init__(
        self,
        budget: Budget,
        ledger: Ledger,
        grace_s: float,
        halted: Callable[[Reason], None],
        clerk: Clerk,
        *,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.budget, self.ledger, self.grace_s = budget, ledger, grace_s
        self.stopping = False
        self.under_way = 0
        self.fault = NONE
        self._halted, self._over = halted, over
        self._line: deque[asyncio.Event] = deque()
        self._busy_since: float | None = None
        self._clerk = clerk
        self._reservations: Reservations | None = None
        if budget.remote:
            self._reservations = Reservations(budget, clerk, self.check, self._failed)

    def begin_now(self, worst: Amount) -> bool:
        """
        Count a call and reserve the most that it can use; return False if it has to wait for calls under way.

        Raises:
            JudgeError: a cap would be passed, or the run is stopped.
        """
        return self._reservations is None and not self._line and self._begins(worst)

    async def begin(self, worst: Amount) -> None:
        """Do the same, and wait until there is room. Who came first goes first."""
        if self._reservations is not None:
            await self._reservations.take(worst)
            self._count()
            return
        mine = asyncio.Event()
        self._line.append(mine)
        try:
            while self._line[0] is not mine or not self._begins(worst):
                self.check()
                mine.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await mine.wait()
        finally:
            self._line.remove(mine)
            self._call_next()

    def _begins(self, worst: Amount) -> bool:
        self.check()
        try:
            if not self.budget.reserve(worst):
                return False
        except StorageError as error:
            if self.patient(error):
                return False
            raise self.broken(error) from error
        self._count()
        return True

    def _count(self) -> None:
        self.served()
        self.ledger.calls["made"] += 1
        self.under_way += 1

    def _failed(self, error: StorageError) -> JudgeError | None:
        """Return the error for who waits; None: it may work a moment later."""
        return None if self.patient(error) else self.broken(error)

    def end(self, worst: Amount, used: Amount) -> None:
        """Note what a call used; the rest of what was reserved is free again."""
        self.under_way -= 1
        try:
            self.budget.settle(worst, used)
        except StorageError as error:  # the amount stays reserved, so the cap holds
            if not self.patient(error):
                self.broken(error)
        self._call_next()

    def _call_next(self) -> None:
        if self._reservations is not None:
            self._reservations.ask()
        elif self._line:
            self._line[0].set()

    def check(self) -> None:
        """Raise a `JudgeError` if the run is stopped."""
        if self.fault:
            raise JudgeError(NOT_KEPT, fatal=True)
        if self.stopping or self._over():
            raise JudgeError(STOPPED, fatal=True)

    def patient(self, error: StorageError) -> bool:
        """Return whether what failed may be tried again in a moment: others keep the cache locked, not for long yet."""
        if not error.busy:
            return False
        now = asyncio.get_running_loop().time()
        if self._busy_since is None:
            self._busy_since = now
        return now - self._busy_since < PATIENCE_S

    async def storing(self, step: Callable[[], T]) -> T:
        """
        Return what a step on the cache returns; while others keep the cache locked, it is tried again.

        Raises:
            JudgeError: the cache failed.
        """
        while True:
            try:
                found = await self._clerk.wait(step)
            except StorageError as error:
                if not self.patient(error):
                    raise self.broken(error) from error
                await asyncio.sleep(LOOK_S)
            else:
                self.served()
                return found

    def served(self) -> None:
        """Note that the cache took or gave something: it is not locked."""
        self._busy_since = None

    def broken(self, error: StorageError) -> JudgeError:
        """Begin no more calls, since the cache failed; return the error for who waits."""
        if not self.fault:
            self.fault = because(Kind.CACHE_FAILED, str(error))
            self._halted(NOT_KEPT)
        return JudgeError(NOT_KEPT, fatal=True)

    @property
    def longest_s(self) -> float | None:
        """For how many seconds a call may last, so that the cap in minutes holds; None: there is no such cap."""
        left_s = self.budget.seconds_left
        return None if left_s is None else max(0.0, left_s) + self.grace_s
