"""Where the code of other tools runs: beside the engine's loop, which it must not stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

from calm.judges.code import awaited, in_thread, settled


class Runner:
    """
    Runs the code of one judge.

    An asynchronous one runs in a loop of its own: where it calls a model without `await`, that loop waits, and the
    engine's goes on. Any other one gets a thread for each ask.
    """

    async def run(self, call: Callable[[], Any], *, asynchronous: bool) -> object:
        """Return what a call returns, or raise what it raises."""
        if not asynchronous:
            return await in_thread(call)
        return await settled(asyncio.wrap_future(asyncio.run_coroutine_threadsafe(awaited(call), self._loop)))

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="calm-adapter", daemon=True).start()
        return loop
