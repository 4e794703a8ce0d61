"""How fast a server may be called, and when it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from heapq import heappop, heappush
from typing import Final

from aiolimiter import AsyncLimiter

from calm.core.reasons import Reason
from calm.errors import JudgeError
from calm.models.wire import Limits

MINUTE = 60.0
LEAST_ROW: Final = 8
MOST_ROW: Final = 40
PATIENCE: Final = 5
"""So often one call must have failed before its server is given up; a timeout counts twice."""
REFUSALS: Final = 3
"""So many times `Health.enough` calls must have been refused for good, with no answer between, to give it up."""

FIRST: Final = 1
"""The round of the first look of an experiment, and of whatever is asked outside one; pilots come before it."""
PRIORITY: ContextVar[int] = ContextVar("calm_priority", default=FIRST)
"""The round that questions belong to. Where they wait for their turn, those with the lower number go first."""


@contextmanager
def in_round(number: int) -> Iterator[None]:
    """Ask in a round: all probes of a run ask what belongs to one round before what belongs to the next."""
    token = PRIORITY.set(number)
    try:
        yield
    finally:
        PRIORITY.reset(token)


class Pace:
    """
    Keeps the calls to one server within its limits: calls in flight, requests a minute and tokens a minute.

    Repeated calls go before new ones, and new ones go by `PRIORITY`.

    `width`, the number of calls in flight, adapts to the server. It is halved when the server asks for fewer calls,
    once for all calls in flight at that moment. It grows by one after as many answers, up to the limit of the user.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.width = self._most = limits.concurrency
        self._held = self._answered = 0
        self._cut_s = float("-inf")
        self._row: list[tuple[bool, int, int, asyncio.Future[None]]] = []
        self._came = 0
        self._requests = AsyncLimiter(limits.rpm, MINUTE) if limits.rpm else None
        self._tokens = AsyncLimiter(limits.tpm, MINUTE) if limits.tpm else None

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[None]:
        """Hold a place for a call of about `tokens` tokens; wait until it may be made."""
        await self.take(tokens)
        try:
            yield
        finally:
            self.give()

    async def take(self, tokens: int, *, again: bool = False) -> None:
        """Wait until a call of about `tokens` tokens may be made, and take a place for it."""
        await self._place(again=again)
        try:
            if self._requests:
                await self._requests.acquire()
            if self._tokens:
                await self._tokens.acquire(min(tokens, self._tokens.max_rate))
        except BaseException:
            self.give()
            raise

    def grab(self) -> bool:
        """Take a place, and return True, if there is nothing to wait for."""
        if self._held >= self.width or self._requests or self._tokens:
            return False
        self._held += 1
        return True

    def give(self) -> None:
        """Give a place back; the next call that waits for one gets it."""
        self._held -= 1
        self._hand_out()

    def answered(self) -> None:
        """Note an answer: after `width` of them, one more call may be in flight."""
        if self.width == self._most:
            return
        self._answered += 1
        if self._answered >= self.width:
            self.width, self._answered = self.width + 1, 0
            self._hand_out()

    def limited(self, began_s: float, now_s: float) -> None:
        """Note that the server asked for fewer calls now, in reply to one that began at `began_s`, by one clock."""
        if began_s >= self._cut_s:  # else it was in flight at the last cut, and is no news
            self.width, self._answered = max(1, self.width // 2), 0
            self._cut_s = now_s

    def _hand_out(self) -> None:
        while self._row and self._held < self.width:
            *_, next_one = heappop(self._row)
            if not next_one.done():  # else it does not wait any more
                next_one.set_result(None)
                self._held += 1

    async def _place(self, *, again: bool) -> None:
        if self._held < self.width:
            self._held += 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._came += 1
        heappush(self._row, (not again, PRIORITY.get(), self._came, mine))
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # the place came while the call was cancelled
                self.give()
            raise


class Health:
    """
    Whether a server still answers.

    `row` counts the failed attempts since the last answer; those that only met a rate limit do not count. When `row`
    reaches `enough`, new calls wait for the result of a repeated one, so that a server that is down for a moment is not
    stormed. The server is given up when one call has failed `PATIENCE` times by then, or when `REFUSALS` times
    `enough` calls in a row were refused for good. A call that is refused by itself loses that call alone. `proven` says
    whether the server has answered.
    """

    def __init__(self, limits: Limits) -> None:
        self.enough = min(max(LEAST_ROW, limits.concurrency // 2), MOST_ROW)
        self.row = self.refused = 0
        self.proven = False
        self.lost: Reason | None = None
        self.trusted = asyncio.Event()
        self.trusted.set()
        self._retrying = 0
        self._waiting: set[asyncio.Timeout] = set()

    @property
    def sound(self) -> bool:
        """Whether the server is expected to answer."""
        return self.lost is None and self.trusted.is_set()

    def answered(self) -> None:
        """Note an answer."""
        self.proven = True
        if not self.row and not self.refused:
            return
        self.row = self.refused = 0
        self._weigh()

    def failed(self, failures: list[JudgeError]) -> bool:
        """Note the last failure of a call, given all its failures so far; return whether to give the server up."""
        last = failures[-1]
        if last.limited:
            return False
        self.row += 1
        self.refused += not last.again
        self._weigh()
        strain = sum(2 if f.billed else 1 for f in failures if not f.limited)
        return (self.row >= self.enough and strain >= PATIENCE) or self.refused >= REFUSALS * self.enough

    def lose(self, why: Reason) -> None:
        """Give the server up: every call that waits, or comes later, fails with this reason."""
        if self.lost is None:
            self.lost = why
            self._weigh()
            for scope in self._waiting:
                scope.reschedule(0.0)

    def check(self) -> None:
        """Raise the `JudgeError` of a server that was given up."""
        if self.lost is not None:
            raise JudgeError(self.lost, fatal=True)

    def begin_retries(self) -> None:
        """Note that a call failed and may be made again."""
        self._retrying += 1
        self._weigh()

    def end_retries(self) -> None:
        """Note that such a call is answered or given up."""
        self._retrying -= 1
        self._weigh()

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """
        Wait in this block, until the server is given up at the latest.

        Raises:
            JudgeError: it was given up.
        """
        self.check()
        try:
            async with asyncio.timeout(None) as scope:
                self._waiting.add(scope)
                try:
                    yield
                finally:
                    self._waiting.discard(scope)
        except TimeoutError:
            raise JudgeError(self.lost or "", fatal=True) from None

    def _weigh(self) -> None:
        if self.row >= self.enough and self._retrying > 0 and self.lost is None:
            self.trusted.clear()
        else:
            self.trusted.set()


class Beginnings:
    """Lets one call with each beginning of a prompt go first: a cache gives what it holds once that reply has begun."""

    def __init__(self) -> None:
        self._first: dict[bytes, asyncio.Event] = {}

    async def turn(self, beginning: bytes, health: Health) -> asyncio.Event | None:
        """
        Wait for the first attempt of the first call with a beginning; if it is this call, return what tells its end.

        Raises:
            JudgeError: the server was given up meanwhile.
        """
        first = self._first.get(beginning)
        if first is None:
            self._first[beginning] = mine = asyncio.Event()
            return mine
        if not first.is_set():
            async with health.waiting():
                await first.wait()
        return None
