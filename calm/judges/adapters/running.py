"""Where the code of other tools runs: beside the engine's loop, which it must not stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import cached_property
from inspect import isawaitable
from typing import Any

from calm.judges.python import in_thread


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
        value, error = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_guarded(call), self._loop))
        if error is not None:
            raise error
        return value

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="calm-adapter", daemon=True).start()
        return loop


async def _guarded(call: Callable[[], Any]) -> tuple[object, BaseException | None]:
    """Return what a call gives, and its error: `sys.exit()` would end the loop, and leave all who wait."""
    try:
        value = call()
        return await value if isawaitable(value) else value, None
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - it is raised again where it was asked for
        return None, error
