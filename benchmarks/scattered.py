"""
The order of questions before decision 31: every question by itself, wherever its case is. Benchmarks compare with it.

    pytest -p benchmarks.scattered ...
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from unittest.mock import patch

import pytest

from calm.engine import engine
from calm.engine.asks import LOT_BYTES
from calm.engine.queue import Place, Queue, Scheduler, Work


class Scattered(Scheduler):
    """Takes questions in an order that knows nothing of cases: a lot begins with the bytes of the case."""

    def put(self, queue: Queue, work: Work, number: int, lot: int = 0) -> Place:
        """Add work to a queue, by the lot of its question alone."""
        return super().put(queue, work, number, lot % 256**LOT_BYTES)


def scattered() -> AbstractContextManager[object]:
    """Let the engines that begin in this block ask in that order."""
    return patch.object(engine, "Scheduler", Scattered)


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Let the engines of this process ask in that order: calm makes one when it is configured."""
    scattered().__enter__()
