"""The first call with a beginning of a prompt goes before the others, so that a cache of prompts takes it once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager

from calm.models.pacing import Health


class Beginnings:
    """
    Lets one call with each beginning go first. A provider gives what its cache holds once the first reply has begun.

    `idling` is entered while a call only waits: others may begin.
    """

    def __init__(self, idling: Callable[[], AbstractContextManager[None]]) -> None:
        self._first: dict[bytes, asyncio.Event] = {}
        self._idling = idling

    @asynccontextmanager
    async def turn(self, beginnings: Sequence[bytes], health: Health) -> AsyncIterator[None]:
        """
        Make an attempt in this block: the first one with a beginning at once, the others when that one has ended.

        Raises:
            JudgeError: the server was given up meanwhile.
        """
        for one in beginnings:
            if (first := self._first.get(one)) is not None and not first.is_set():
                with self._idling():
                    async with health.waiting():
                        await first.wait()
        mine = [self._first.setdefault(one, asyncio.Event()) for one in beginnings if one not in self._first]
        try:
            yield
        finally:
            for event in mine:
                event.set()
