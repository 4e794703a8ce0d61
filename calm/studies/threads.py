"""Work on many cases at once: each waits for the judge by itself, so the server stays busy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from calm.engine.engine import Engine

A = TypeVar("A")
B = TypeVar("B")

MOST_THREADS: Final = 32
"""The most items that are worked on at once: as many as a server takes calls by default."""


def side_by_side(engine: Engine, work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """
    Return what work makes of each item, many at a time and in their order.

    Ctrl-C begins no further item and stops the engine, so that those under way end with what they have.

    Args:
        engine: what the work asks by.
        work: asks and computes; it touches nothing that another item's work does.
        items: what is worked on.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(max_workers=min(len(items), MOST_THREADS), thread_name_prefix="calm-study") as threads:
        try:
            return list(threads.map(work, items))
        except KeyboardInterrupt:
            threads.shutdown(wait=False, cancel_futures=True)
            engine.stop()
            raise
