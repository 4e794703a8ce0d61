"""A batch, and what it takes to live: its items on disk, its times, and the lines of its results."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal[
    "validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"
]
OVER: tuple[Status, ...] = ("failed", "completed", "expired", "cancelled")
REPLIES: tuple[Status, ...] = OVER[1:]
"""Ends that leave results."""
DAY_S = 24 * 3600


@dataclass
class Bill:
    """What was answered under one custom_id."""

    times: int = 0
    put: int = 0
    got: int = 0
    """Tokens of the prompts and of the replies."""


@dataclass
class Batch:
    """One batch of either provider, in the words of OpenAI."""

    id: str
    provider: Literal["openai", "anthropic"]
    endpoint: str
    source: Path
    """One line for each request: {"custom_id": ..., "body": {...}}, beside what else OpenAI has in it."""
    headers: Mapping[str, str]
    metadata: dict[str, str] | None = None
    input_file_id: str | None = None
    status: Status = "validating"
    model: str | None = None
    times: dict[str, float] = field(default_factory=dict)
    """When it came to each status, in seconds of the epoch."""
    items: dict[str, str] = field(default_factory=dict)
    """What became of each custom_id: waiting, answered, an error's status, garbled, torn, expired or cancelled."""
    errors: list[dict[str, Any]] = field(default_factory=list)
    """Why the batch as a whole was refused."""
    output_id: str | None = None
    error_id: str | None = None
    put: int = 0
    got: int = 0
    tokens: int = 0
    """What it takes of the limit of enqueued tokens."""
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def turn(self, status: Status) -> None:
        """Come to a status."""
        self.status = status
        self.times[status] = time.time()
        if status in OVER:
            self.ended.set()

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status in OVER

    def count(self, *kinds: str) -> int:
        """Return how many items became one of these."""
        return sum(kind in kinds for kind in list(self.items.values()))  # a copy: its thread may be adding to it

    @property
    def counts(self) -> dict[str, int]:
        """How many items were answered, failed, expired, were cancelled, or wait."""
        succeeded = self.count("answered", "garbled", "torn")
        others = {kind: self.count(kind) for kind in ("expired", "cancelled", "waiting")}
        return {"succeeded": succeeded, **others, "errored": len(self.items) - succeeded - sum(others.values())}

    def lines(self) -> Iterator[str]:
        """Return the lines of the source in order, and remember where each begins."""
        self.offsets = array("Q")
        with self.source.open("rb") as file:
            at = 0
            for line in file:
                if line.strip():
                    self.offsets.append(at)
                    yield line.decode()
                at += len(line)

    def shuffled(self, seed: int) -> Iterator[tuple[str, Any]]:
        """Return the custom_id and the body of each request, in another order than they came."""
        order = list(range(len(self.offsets)))
        Random(f"{seed}/{len(order)}").shuffle(order)
        if order[:2] == [0, 1]:
            order.reverse()
        with self.source.open("rb") as file:
            for at in order:
                file.seek(self.offsets[at])
                line = json.loads(file.readline())
                yield line["custom_id"], line["body"]

    def told(self) -> dict[str, Any]:
        """Return what a test wants to know of it."""
        names = ("id", "provider", "endpoint", "metadata", "status", "times", "items", "errors")
        return {name: getattr(self, name) for name in names}
