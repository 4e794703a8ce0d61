"""The attempts of one call: each within pace, caps and health, and another one after a wait where that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Final

from calm.core.reasons import Kind, because, name, reason_of
from calm.engine.calls import Calls
from calm.engine.charges import Charges
from calm.engine.servers import Server, Servers
from calm.errors import JudgeError
from calm.models.pacing import Beginnings, Health, Pace
from calm.models.wire import Endpoint, Reply, Sent

MOST_BACKOFF_S: Final = 8.0
MOST_WAIT_S: Final = 120.0
"""A server that asks for a longer wait than this is not waited for."""


@dataclass(frozen=True, slots=True)
class Call:
    """
    A call that may take several attempts: `make` makes one.

    `size` counts the characters of its body (0: a greeting), `tokens` is about how many it will use, and `retries` is
    how often it may be tried again. `sent` is its body, where that may be changed. `beginning` names what its prompt
    and many others begin with (b"": nothing).
    """

    endpoint: Endpoint
    make: Callable[[], Awaitable[Reply]]
    size: int
    tokens: int
    retries: int
    sent: Sent | None = None
    beginning: bytes = b""


class Taken(JudgeError):
    """A call that another process may make by now; so many `failures` it had."""

    failures = 0


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
        charges: Charges,
        *,
        first_wait_s: float,
        idling: Callable[[], AbstractContextManager[None]],
        kept: bool,
        jitter: Random,
    ) -> None:
        self._servers, self._calls, self._charges = servers, calls, charges
        self._first_wait_s, self._idling, self._random = first_wait_s, idling, jitter
        self._beginnings = Beginnings()
        self._lost = Kind.SERVER_LOST_KEPT if kept else Kind.SERVER_LOST

    async def reply(self, call: Call, holds: Callable[[], bool] = lambda: True) -> Reply:
        """
        Return the reply to a call. Before each attempt it is asked whether this process still `holds` the lease on it.

        Raises:
            Taken: it does not.
            JudgeError: the last attempt failed, a cap would be passed, the server was given up, or the run is stopped.
        """
        server = self._servers.of(call.endpoint)
        pace, health = server.pace, server.health
        failures: list[JudgeError] = []
        loop = asyncio.get_running_loop()
        first = await self._beginnings.turn(call.beginning, health) if call.beginning else None
        try:
            while True:
                if failures or not (health.sound and pace.grab()):
                    async with health.waiting():
                        await _place(pace, health, call.tokens, again=bool(failures))
                began_s = loop.time()
                try:
                    found = await self._attempt(call, server, holds, again=bool(failures))
                except Taken as taken:
                    taken.failures = len(failures)
                    raise
                finally:
                    pace.give()
                    if first is not None:  # whatever came of it: nobody waits for its retries
                        first.set()
                if isinstance(found, Reply):
                    pace.answered()
                    health.answered()
                    return replace(found, retries=len(failures)) if failures else found
                failures.append(found)
                if len(failures) == 1:
                    health.begin_retries()
                if found.limited:
                    pace.limited(began_s, loop.time())
                self._weigh(server, call.endpoint, failures)
                await self._wait(server, failures, call)
        finally:
            if first is not None:
                first.set()
            if failures:
                health.end_retries()

    async def _attempt(
        self, call: Call, server: Server, holds: Callable[[], bool], *, again: bool
    ) -> Reply | JudgeError:
        """Make one attempt within the caps; return its reply, or why there is none."""
        charges = self._charges
        charge = await charges.begin(server, call.endpoint, call.size, batch=False, again=again, sent=call.sent)
        if not holds():
            taken = Taken(pending=True, again=True)  # whoever makes it counts it
            charges.failed(charge, taken)
            raise taken
        make = call.make if charge.short is None else partial(call.endpoint.call, charge.short)
        try:
            longest_s = self._calls.longest_s
            if longest_s is None:
                reply = await make()
            else:
                async with asyncio.timeout(longest_s):
                    reply = await make()
        except TimeoutError:
            error = JudgeError(self._calls.budget.out_of_time, billed=True)
            charges.failed(charge, error)
            return error
        except JudgeError as error:
            charges.failed(charge, error)
            return error
        except BaseException:  # it is under way, and may be billed
            charges.failed(charge, JudgeError(billed=True))
            raise
        charges.answered(charge, reply)
        if charge.cuts(reply):
            raise JudgeError(charge.cap)
        return reply

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
        if not last.again or len(failures) > call.retries or (last.after_s is not None and last.after_s > MOST_WAIT_S):
            raise no_reply(last, len(failures))
        if last.after_s:
            wait_s = last.after_s * self._random.uniform(1.0, 1.1)  # not all at the same moment
        else:
            backoff_s = min(self._first_wait_s * 2.0 ** (len(failures) - 1), MOST_BACKOFF_S)
            wait_s = backoff_s * self._random.uniform(0.75, 1.0)
        with self._idling():
            async with server.health.waiting():
                await asyncio.sleep(wait_s)


def no_reply(last: JudgeError, failures: int) -> JudgeError:
    """Return the error for a call without a reply: why the `last` of so many attempts failed."""
    why = reason_of(last)
    return JudgeError(
        because(Kind.TRIED, why, failures) if failures > 1 else why,
        again=last.again,
        unknown=last.unknown,
        too_long=last.too_long,
        silent=last.silent,
    )


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
