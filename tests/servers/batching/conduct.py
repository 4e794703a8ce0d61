"""How the batches of a server behave: how long they take, what of them fails, and what is lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeAlias

Fate: TypeAlias = Literal["answered", "garbled", "torn", "expired", "cancelled"] | int
"""What becomes of an item; a number is the status of its error."""


@dataclass
class Conduct:
    """May be changed while the server runs. Shares are between 0 and 1; each fault with a count wears off."""

    seed: int = 0
    """Draws the order of the results, and the fate of each item."""
    takes_s: float | None = 0.0
    """Seconds from a batch's acceptance to its end; None: until `server.finish`."""
    fails: Mapping[int, float] = field(default_factory=dict)
    """The share of items that get an error, by its status (500, 429, 400)."""
    expires: float = 0.0
    """The share of items that expire; with it, a batch ends as expired."""
    garbled: float = 0.0
    """The share of items whose reply is nothing that the provider's reply can be."""
    torn: float = 0.0
    """The share of items whose line ends in the middle."""
    most_failures: int | None = None
    """So often at most the same item fails, expires or cannot be read; None: as often as its lot says."""
    done_when_cancelled: float = 0.5
    """The share of items that were answered when a batch is cancelled."""
    fail_polls: int = 0
    poll_fault: Literal["500", "cut"] = "500"
    refuse_submits: int = 0
    """So many times a batch is refused with 429."""
    lose_submits: int = 0
    """So many times a batch is made and the connection cut before the response."""
    lose_uploads: int = 0
    """So many times a file is kept and the connection cut before the response."""
    cut_downloads: int = 0
    """So many times the results end in the middle."""
    repeated: int = 0
    """So many lines of each batch's results come twice."""
    unknown: int = 0
    """So many lines of each batch's results carry a custom_id that nobody sent."""
    lies: bool = False
    """Whether the counts of a batch are wrong."""
    most_requests: int | None = None
    """Requests of a batch; None: what the provider takes (50,000 and 100,000)."""
    most_bytes: int | None = None
    """Bytes of a batch; None: what the provider takes (200 MB and 256 MB)."""
    most_enqueued_tokens: int | None = None
    """Tokens of all batches of a model that have not ended (OpenAI), at four bytes a token."""

    def fate(self, custom_id: str, time: int, *, cancelled: bool) -> Fate:
        """Return what becomes of an item that is taken for the `time`-th time; the same for the same seed."""
        rng = Random(f"{self.seed}/{custom_id}/{time}")
        if cancelled and rng.random() >= self.done_when_cancelled:
            return "cancelled"
        if self.most_failures is not None and time > self.most_failures:
            return "answered"
        drawn = rng.random()
        shares: list[tuple[Fate, float]] = [*self.fails.items()]
        shares += [("expired", self.expires), ("garbled", self.garbled), ("torn", self.torn)]
        for fate, share in shares:
            if drawn < share:
                return fate
            drawn -= share
        return "answered"

    def uses(self, name: str) -> bool:
        """Return whether a fault with a count happens now, and count it down."""
        left = getattr(self, name)
        if left > 0:
            setattr(self, name, left - 1)
        return bool(left > 0)
