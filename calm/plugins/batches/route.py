"""The way of a call that goes by batch: looked up, claimed, written down, and waited for."""

from __future__ import annotations

import asyncio
from typing import Final

from calm.core.reasons import Kind, because
from calm.engine.calls import Calls, PreparedRequest, no_reply
from calm.engine.queue import Place, Tried
from calm.engine.servers import Server
from calm.errors import JudgeError
from calm.models.wire import Reply
from calm.plugins.batches.desk import BatchDesk
from calm.plugins.batches.waits import GoLive

BATCH_RETRIES: Final = 3
"""A call goes into so many more batches at most where one did not answer it: each may take a day."""


class BatchRoute:
    """
    Sends calls by batch.

    An ask that is set aside comes here again from its start, once its call came to something: then its reply is found
    in the record, or what is known of its attempts says whether there is another one.
    """

    def __init__(self, calls: Calls, desk: BatchDesk) -> None:
        self._calls, self._desk = calls, desk
        self._coming: dict[bytes, asyncio.Future[None]] = {}
        """The calls that are on their way to the desk."""

    @staticmethod
    def takes(server: Server) -> bool:
        """Return whether the calls to a server can go by batch."""
        return server.batchable

    async def send(self, prepared: PreparedRequest, key: bytes, place: Place | None) -> Reply:
        """
        Return the reply to a call; None for a `place` that cannot be begun again.

        Raises:
            SetAside: the ask at the `place` is to wait.
            JudgeError: there is no reply.
        """
        tried = None if place is None or place.aside is None else (place.aside.tried or {}).get(key)
        while True:
            if key in self._desk:
                outcome = await self._desk.outcome(key, place)
                if isinstance(outcome, Reply):
                    return outcome
                tried = outcome
            elif (coming := self._coming.get(key)) is not None:
                await asyncio.shield(coming)
            else:
                coming = self._coming[key] = asyncio.get_running_loop().create_future()
                try:
                    reply = await self._begun(prepared, key, tried)
                finally:
                    del self._coming[key]
                    coming.set_result(None)
                if reply is not None:
                    return reply

    async def _begun(self, prepared: PreparedRequest, key: bytes, tried: Tried | None) -> Reply | None:
        """Have a call wait at the desk, and return None; or return its reply, which came in another way."""
        while (found := await self._calls.look(key)) is False:
            if self._desk.leaves:
                raise JudgeError(because(Kind.IN_BATCH, 1), pending=True)
            if await self._desk.note(prepared, key, None, 0):
                return None
            reply = await self._calls.elsewhere(key)
            if reply is not None:
                return reply
        if isinstance(found, Reply):
            return found
        try:
            self._calls.may_call(key)
            server, endpoint = prepared.server, prepared.request.endpoint
            failures = 0
            if tried is not None:
                failures = tried.failures
                if isinstance(tried.last, GoLive):
                    return await self._calls.make(prepared, key, failures=failures)
                _go_on(tried, min(endpoint.retries, BATCH_RETRIES))
            server.health.check()
            self._desk.check()
            charge = await self._calls.money.begin(server, endpoint, prepared.size, batch=True, again=failures > 0)
            if not await self._desk.note(prepared, key, charge, failures):  # its reply came meanwhile
                self._calls.release(key)
        except BaseException:
            self._calls.release(key)
            raise
        return None


def _go_on(tried: Tried, retries: int) -> None:
    failures, last = tried
    if last.again and failures <= retries:
        return
    if last.pending:
        raise last
    raise no_reply(last, failures)
