"""Takes the steps of an event loop to the store: at once where it is a file, in a thread where a server answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

T = TypeVar("T")


class Clerk:
    """
    Runs steps, one after the other. With `remote`, the loop goes on meanwhile: a server may be far, or away for long.

    Every method is to be called in the loop.
    """

    def __init__(self, *, remote: bool) -> None:
        self.remote = remote
        self._thread = ThreadPoolExecutor(1, "calm-record") if remote else None

    def do(self, step: Callable[[], T], then: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        """Run a step; call `then` with what it returns, or `failed` with what it raises."""
        if self._thread is None:
            try:
                found = step()
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                failed(error)
            else:
                then(found)
            return
        asyncio.wrap_future(self._thread.submit(step)).add_done_callback(partial(_hand_on, then, failed))

    async def wait(self, step: Callable[[], T]) -> T:
        """Return what a step returns. It is run to its end, also where nobody waits any more."""
        if self._thread is None:
            return step()
        future = asyncio.wrap_future(self._thread.submit(step))
        future.add_done_callback(_looked_at)
        return await asyncio.shield(future)

    async def rest(self) -> None:
        """Wait until all steps that were given so far are done."""
        if self._thread is not None:
            await asyncio.wrap_future(self._thread.submit(_nothing))
            await asyncio.sleep(0)  # what the steps found is handed on

    def close(self) -> None:
        """End the thread, when its last step is done."""
        if self._thread is not None:
            self._thread.shutdown(wait=False)


def _hand_on(then: Callable[[T], None], failed: Callable[[Exception], None], done: asyncio.Future[T]) -> None:
    error = done.exception()
    if error is None:
        then(done.result())
    elif isinstance(error, Exception):
        failed(error)
    else:
        raise error


def _looked_at(done: asyncio.Future[T]) -> None:
    """Look at an error that nobody waits for any more: asyncio would complain of it."""
    if not done.cancelled():
        done.exception()


def _nothing() -> None:
    """Do nothing: it only takes its turn."""
