"""Room in the budget on a server: what the calls of one moment want is reserved in one step, in their order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from calm.engine.budget import NOTHING, Amount, Budget
from calm.engine.clerk import Clerk
from calm.errors import JudgeError, StorageError

LOOK_S: Final = 0.05
"""Who waits for room looks again after so many seconds: another process may have made some."""

Waiting: TypeAlias = "list[tuple[Amount, asyncio.Future[None]]]"


class Reservations:
    """
    Reserves amounts for an event loop, while it goes on. Who came first goes first.

    `check` raises the `JudgeError` of a run that is stopped. `failed` is told why the account cannot be written; it
    returns the error for who waits, or None where it may work a moment later.
    """

    def __init__(
        self,
        budget: Budget,
        clerk: Clerk,
        check: Callable[[], None],
        failed: Callable[[StorageError], JudgeError | None],
    ) -> None:
        self._budget, self._clerk, self._check, self._failed = budget, clerk, check, failed
        self._line: deque[tuple[Amount, asyncio.Future[None]]] = deque()
        self._asking = False
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, worst: Amount) -> None:
        """
        Reserve an amount, and wait until there is room.

        Raises:
            JudgeError: a cap would be passed, or the run is stopped.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._line.append((worst, future))
        if len(self._line) == 1:
            loop.call_soon(self.ask)
        try:
            await future
            self._check()
        except BaseException:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._budget.settle(worst, NOTHING)  # the room came just when nobody wanted it any more
            raise

    def ask(self) -> None:
        """Ask for all who stand in line."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._asking:
            return
        waiting = [one for one in self._line if not one[1].done()]
        self._line.clear()
        try:
            self._check()
        except JudgeError as error:
            for _, future in waiting:
                future.set_exception(error)
            return
        if waiting:
            self._asking = True
            step = partial(self._budget.reserve_all, [worst for worst, _ in waiting])
            self._clerk.do(step, partial(self._answered, waiting), partial(self._refused, waiting))

    def _answered(self, waiting: Waiting, found: Sequence[bool | JudgeError]) -> None:
        self._asking = False
        later: Waiting = []
        for (worst, future), given in zip(waiting, found, strict=True):
            if given is True and future.done():
                self._budget.settle(worst, NOTHING)
            elif future.done():
                continue
            elif isinstance(given, JudgeError):
                future.set_exception(given)
            elif given:
                future.set_result(None)
            else:
                later.append((worst, future))
        self._again(later)

    def _refused(self, waiting: Waiting, error: Exception) -> None:
        self._asking = False
        reason: Exception | None = self._failed(error) if isinstance(error, StorageError) else error
        if reason is None:
            self._again(waiting)
            return
        for _, future in waiting:
            if not future.done():
                future.set_exception(reason)
        self._again([])

    def _again(self, later: Waiting) -> None:
        """Let those who have to wait stand before those who came meanwhile, and ask in a moment."""
        new = bool(self._line)
        self._line.extendleft(reversed(later))
        if later:
            self._timer = asyncio.get_running_loop().call_later(LOOK_S, self.ask)
        elif new:
            self.ask()
