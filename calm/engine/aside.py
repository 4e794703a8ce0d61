"""Asks that are set aside while their calls go by batch: each keeps its place in a queue, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from calm.errors import JudgeError

Work: TypeAlias = Callable[[], Awaitable[None]]


class SetAside(BaseException):
    """Ends an ask that waits for batches alone. It is begun again, from its start, once its calls came to something."""


class Tried(NamedTuple):
    """Why a call by batch has no reply, and how many attempts have failed so far."""

    failures: int
    last: JudgeError


@dataclass(eq=False, slots=True)
class Aside:
    """
    What is kept of an ask that was set aside.

    `open` counts the calls that it still waits for. `known` are the keys of calls that were counted, and are not
    counted again; `tried` tells of those without a reply. `work` begins the ask again (None: it goes on).
    """

    open: int = 0
    known: tuple[bytes, ...] = ()
    tried: dict[bytes, Tried] | None = None
    work: Work | None = None

    def knows(self, keys: Iterable[bytes]) -> None:
        """Note calls that were counted."""
        self.known = tuple(dict.fromkeys((*self.known, *keys)))
