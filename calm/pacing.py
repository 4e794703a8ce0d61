"""How fast an endpoint may be asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter

from calm.wire import Limits

MINUTE = 60.0


class Pace:
    """Keeps the calls to one endpoint within its limits: calls in flight, requests and tokens a minute."""

    def __init__(self, limits: Limits) -> None:
        self._flights = asyncio.Semaphore(limits.concurrency)
        self._requests = AsyncLimiter(limits.rpm, MINUTE) if limits.rpm else None
        self._tokens = AsyncLimiter(limits.tpm, MINUTE) if limits.tpm else None

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[None]:
        """Wait until a call of about so many tokens may be made; hold its place while it is made."""
        async with self._flights:
            if self._requests:
                await self._requests.acquire()
            if self._tokens:
                await self._tokens.acquire(min(tokens, self._tokens.max_rate))
            yield
