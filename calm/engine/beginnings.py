"""The first call with a beginning of a prompt goes before the others, so that a provider's cache takes it once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from calm.models.pacing import Health


class Beginnings:
    """Lets one call with each beginning go first: a cache gives what it holds once the first reply has begun."""

    def __init__(self) -> None:
        self._first: dict[bytes, asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, beginning: bytes, health: Health) -> AsyncIterator[None]:
        """
        Make a call in this block: the first one with a beginning at once, the others when that one has ended.

        Raises:
            JudgeError: the server was given up meanwhile.
        """
        first = self._first.get(beginning)
        if first is not None:
            if not first.is_set():
                async with health.waiting():
                    await first.wait()
            yield
            return
        first = self._first[beginning] = asyncio.Event()
        try:
            yield
        finally:
            first.set()
