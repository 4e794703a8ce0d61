"""
The order of questions before decision 31: every question by itself, wherever its case is. Benchmarks compare with it.

    pytest -p benchmarks.scattered ...
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from calm.core.case import Case
from calm.engine import engine
from calm.engine.asks import Asks


class Scattered(Asks):
    """Takes questions in an order that knows nothing of cases."""

    def _lot(self, case: Case, key: bytes) -> int:
        return int.from_bytes(self._drawn(key))


@contextmanager
def scattered() -> Iterator[None]:
    """Let the engines that begin in this block ask in that order."""
    engine.Asks = Scattered  # type: ignore[misc]  # the class is swapped for a benchmark alone
    try:
        yield
    finally:
        engine.Asks = Asks  # type: ignore[misc]  # and is put back


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Let the engines of this process ask in that order: calm makes one when it is configured."""
    engine.Asks = Scattered  # type: ignore[misc]  # the class is swapped for a benchmark alone
