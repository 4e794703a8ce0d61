"""What a hunt shows of itself while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from calm.strategies.insertions import pieces_between
from calm.studies.hunt.budget import Budget
from calm.studies.hunt.findings import Finding, Progress
from calm.studies.hunt.quarry import Quarry


@dataclass
class Watch:
    """
    An observer, with the text of the fewest words that flipped so far.

    `progress` is called after each batch of a search and after each ask of a ruling; never twice at once.
    """

    budget: Budget
    progress: Callable[[Progress], None]
    findings: list[Finding]
    best: tuple[str, ...] = ()
    lock: Lock = field(default_factory=Lock)

    def show(self) -> None:
        """Say how far the hunt is."""
        with self.lock:
            found = sum(one.confirmed for one in self.findings)
            self.progress(Progress(self.budget.asks, self.budget.bounds.asks, found, self.best))

    def saw(self, quarry: Quarry, text: str) -> None:
        """Hear of a text that flips the judge; the one with the fewest words is kept."""
        words = tuple(t for piece in pieces_between(quarry.original, text) for t in piece.tokens)
        with self.lock:
            if not self.best or len(words) < len(self.best):
                self.best = words
