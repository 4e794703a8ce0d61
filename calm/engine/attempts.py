"""The attempts of one call: each within pace, caps and health, and another one after a wait where that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from calm.core.reasons import Kind, because, name, reason_of
from calm.engine.budget import NOTHING, Amount
from calm.engine.calls import ONE, Calls
from calm.engine.servers import Server, Servers
from calm.errors import JudgeError
from calm.models.pacing import Health, Pace
from calm.models.pricing import cost
from calm.models.wire import Endpoint, Reply, Usage

MOST_BACKOFF_S: Final = 8.0
MOST_WAIT_S: Final = 120.0
"""A server that asks for a longer wait than this is not waited for."""


@dataclass(frozen=True, slots=True)
class Call:
    """
    A call that may take several attempts: `make` makes one.

    `size` counts the characters of its body (0: a greeting), `tokens` is about how many it will use, and `retries` is
    how often it may be tried again. Those that go by `batch` cost less, wait for nobody and say nothing of the server's
    health.
    """

    endpoint: Endpoint
    make: Callable[[], Awaitable[Reply]]
    size: int
    tokens: int
    retries: int
    batch: bool = False


class Attempts:
    """
    Makes calls.

    `first_wait_s` is the wait before the second attempt, in seconds. `idling` is entered while a call only waits.
    With `kept`, the reason of a lost server says that replies were kept. `jitter` spreads the waits of several calls.
    """

    def __init__(
        self,
        servers: Servers,
        calls: Calls,
        *,
        first_wait_s: float,
        idling: Callable[[], AbstractContextManager[None]],
        kept: bool,
        jitter: Random,
    ) -> None:
        self._servers, self._calls, self._ledger = servers, calls, calls.ledger
        self._first_wait_s, self._idling, self._random = first_wait_s, idling, jitter
        self._lost = Kind.SERVER_LOST_KEPT if kept else Kind.SERVER_LOST

    async def reply(self, call: Call) -> Reply:
        """
        Return the reply to a call.

        Raises:
            JudgeError: the last attempt failed, a cap would be passed, the server was given up, or the run is stopped.
        """
        server = self._servers.of(call.endpoint)
        pace, health = server.pace, server.health
        failures: list[JudgeError] = []
        loop = asyncio.get_running_loop()
        try:
            while True:
                if call.batch:
                    health.check()
                elif failures or not (health.sound and pace.grab()):
                    async with health.waiting():
                        await _place(pace, health, call.tokens, again=bool(failures))
                began_s = loop.time()
                try:
                    found = await self._attempt(call, server, again=bool(failures))
                finally:
                    if not call.batch:
                        pace.give()
                if isinstance(found, Reply):
                    pace.answered()
                    health.answered()
                    return replace(found, retries=len(failures)) if failures else found
                failures.append(found)
                if len(failures) == 1:
                    health.begin_retries()
                if found.limited:
                    pace.limited(began_s, loop.time())
                if not call.batch:
                    self._weigh(server, call.endpoint, failures)
                await self._wait(server, failures, call)
        finally:
            if failures:
                health.end_retries()

    async def _attempt(self, call: Call, server: Server, *, again: bool) -> Reply | JudgeError:
        """Make one attempt within the caps; return its reply, or why there is none."""
        price, model = server.price_of(batch=call.batch), call.endpoint.model
        if price is None and call.endpoint.live and self._calls.budget.caps.usd is not None:
            raise JudgeError(because(Kind.CAPPED_UNPRICED, name(model)))
        counted = self._calls.budget.counts or price is not None
        most = server.worst(call.size, call.endpoint.max_tokens) if counted else Usage()
        dollars = cost(price, most) if price else 0.0
        worst = Amount(1, (most.input or 0) + (most.output or 0), dollars) if counted else ONE
        if not self._calls.begin_now(worst):
            async with server.health.waiting():
                await self._calls.begin(worst)
        self._ledger.calls["retried"] += again
        used = worst
        try:
            longest_s = None if call.batch else self._calls.longest_s
            if longest_s is None:
                reply = await call.make()
            else:
                async with asyncio.timeout(longest_s):
                    reply = await call.make()
            used = self._used(call, server, reply.usage, most)
        except TimeoutError:
            self._count_worst(call, dollars)
            return JudgeError(self._calls.budget.out_of_time, billed=True)
        except JudgeError as error:
            if error.pending:  # whoever collects its reply counts it; what may be at the server stays reserved
                self._ledger.calls["made"] -= 1
                used = NOTHING if error.again else worst
            elif error.billed:
                self._count_worst(call, dollars)
            else:
                used = ONE
            return error
        except asyncio.CancelledError:  # it is under way, and may be billed
            self._count_worst(call, dollars)
            raise
        finally:
            self._calls.end(worst, used)
        return reply

    def _count_worst(self, call: Call, dollars: float) -> None:
        """Note a call without a reply that may be billed, by the most that it can cost."""
        model = call.endpoint.model
        self._ledger.usd += dollars
        if dollars:
            self._ledger.note(because(Kind.MAY_BE_BILLED, name(model)))
        elif call.endpoint.live:
            self._ledger.no_price(model)

    def _used(self, call: Call, server: Server, used: Usage, worst: Usage) -> Amount:
        """Note what a call used, and return it; where the server does not say, the most that it can have used."""
        ledger, price = self._ledger, server.price_of(batch=call.batch)
        ledger.tokens["input"] += used.input or 0
        ledger.tokens["output"] += used.output or 0
        server.note(used, call.size)
        pairs = (used.input, worst.input), (used.output, worst.output)
        tokens = sum(reported if reported is not None else most or 0 for reported, most in pairs)
        if price is None:
            if call.endpoint.live:
                ledger.no_price(call.endpoint.model)
            return Amount(1, tokens, 0.0)
        if used.input is None or used.output is None:
            ledger.note(because(Kind.NO_USAGE, name(call.endpoint.model)))
        dollars = cost(price, used, worst)
        ledger.usd += dollars
        return Amount(1, tokens, dollars)

    def _weigh(self, server: Server, endpoint: Endpoint, failures: list[JudgeError]) -> None:
        """Note a failed attempt, and give the server up if there is no more hope."""
        health, last = server.health, failures[-1]
        if last.fatal or (last.unproven and not health.proven):
            self._servers.lose(server, reason_of(last))
        elif health.failed(failures):
            self._servers.lose(server, because(self._lost, name(endpoint.model), health.row, reason_of(last)))
        health.check()

    async def _wait(self, server: Server, failures: list[JudgeError], call: Call) -> None:
        """Wait before the next attempt; raise the last failure if there is none."""
        last = failures[-1]
        if last.pending:
            raise last
        if not last.again or len(failures) > call.retries or (last.after_s is not None and last.after_s > MOST_WAIT_S):
            why = reason_of(last)
            raise JudgeError(because(Kind.TRIED, why, len(failures)) if len(failures) > 1 else why)
        if call.batch:  # the next batch is wait enough
            return
        if last.after_s:
            wait_s = last.after_s * self._random.uniform(1.0, 1.1)  # not all at the same moment
        else:
            backoff_s = min(self._first_wait_s * 2.0 ** (len(failures) - 1), MOST_BACKOFF_S)
            wait_s = backoff_s * self._random.uniform(0.75, 1.0)
        with self._idling():
            async with server.health.waiting():
                await asyncio.sleep(wait_s)


async def _place(pace: Pace, health: Health, tokens: int, *, again: bool) -> None:
    """Take a place for an attempt; while the server is in doubt, only a repeated call may have one."""
    while True:
        if not again:
            await health.trusted.wait()
        await pace.take(tokens, again=again)
        if health.lost is None and (again or health.trusted.is_set()):
            return
        pace.give()
        health.check()
