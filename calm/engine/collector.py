"""Python's collector of cycles while anybody waits for answers, or makes questions of them ahead of its test."""

from __future__ import annotations

import gc
import threading
from typing import Final

RARELY: Final = (50_000, 20, 100)
"""How many objects may be made before the collector looks at the young ones, the older ones, and all."""


class RareCollections:
    """
    Have the collector look less often while anybody waits or works ahead, and set it back with the last one.

    Thousands of questions are made and under way then. To go through them all again and again takes a third of the
    time, though none of them is garbage. A collector that is switched off stays off.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._waiting += 1
            if self._waiting == 1:
                self._before = gc.get_threshold()
                if self._before[0] > 0:
                    gc.set_threshold(*(max(own, least) for own, least in zip(self._before, RARELY, strict=True)))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._waiting -= 1
            if self._waiting == 0:
                gc.set_threshold(*self._before)
