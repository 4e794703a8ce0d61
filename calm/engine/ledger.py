"""What a process has used: calls, tokens, dollars, and which calls it found in the cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from calm.core.reasons import Reason
from calm.engine.batch_records import Bill
from calm.models.pricing import Cost

KEY_BYTES: Final = 12
"""So many bytes of a key tell it from all others of a run."""


@dataclass(frozen=True, slots=True)
class Keys:
    """
    Which calls a process found in the cache and which it made, by the first bytes of their keys.

    A process of a run with several of them also finds what another one has made. Only together they tell how many
    calls the cache saved.
    """

    found: set[bytes] = field(default_factory=set)
    answered: set[bytes] = field(default_factory=set)

    def packed(self) -> tuple[bytes, bytes]:
        """Return both, as bytes."""
        return b"".join(self.found), b"".join(self.answered)


def saved(packed: Iterable[tuple[bytes, bytes]]) -> int:
    """Return how many calls the processes of one run found in the cache that none of them had made."""

    def keys(data: bytes) -> set[bytes]:
        return {data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES)}

    found: set[bytes] = set()
    answered: set[bytes] = set()
    for one, other in packed:
        found |= keys(one)
        answered |= keys(other)
    return len(found - answered)


@dataclass
class Ledger:
    """
    What a process has used so far.

    `calls` counts by kind: `made` attempts, failed and repeated ones included; `retried` attempts; calls that were
    `cached`; asks and requests that `failed`, and those `unmade`, as a cap was reached or the run ended before; and
    verdicts that were `recorded` beforehand, for which nobody was asked. `answers` counts the asks and requests that
    were answered. `tokens` counts `input` and `output`. `usd` is the cost in US dollars, as far as prices are known;
    `unpriced` are the models that were called at a price that is not. `notes` are what a reader of the run should know.
    """

    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    usd: float = 0.0
    unpriced: list[str] = field(default_factory=list)
    keys: Keys | None = None
    notes: list[Reason] = field(default_factory=list)

    def found(self, key: bytes) -> None:
        """Count a call whose reply the cache holds."""
        self.calls["cached"] += 1
        if self.keys is not None:
            self.keys.found.add(key[:KEY_BYTES])

    def answered(self, key: bytes) -> None:
        """Note a call that this process made."""
        if self.keys is not None:
            self.keys.answered.add(key[:KEY_BYTES])

    def collected(self, bill: Bill) -> None:
        """Count replies that a batch brought and nobody here waits for."""
        self.calls["made"] += bill.answered
        self.tokens["input"] += bill.input
        self.tokens["output"] += bill.output
        self.usd += bill.usd

    @property
    def cost(self) -> Cost:
        """The cost so far."""
        return Cost(self.usd, tuple(self.unpriced))

    def no_price(self, model: str) -> None:
        """Note that a model was called whose price is not known, once."""
        if model not in self.unpriced:
            self.unpriced.append(model)

    def note(self, note: Reason) -> None:
        """Add a note, once."""
        if note not in self.notes:
            self.notes.append(note)
