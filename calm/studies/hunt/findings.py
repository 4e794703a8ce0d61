"""What a hunt finds, and what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from calm.core.reasons import NONE, Reason
from calm.experiment.referee import Flip, Ruling
from calm.strategies.tokens import Piece
from calm.studies.hunt.arms import Layer
from calm.studies.hunt.proposers import Try
from calm.studies.hunt.quarry import FRESH, Quarry


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hunt is: asks made, asks allowed, findings so far, and the simplest text that flipped so far."""

    asks: int
    of: int
    findings: int = 0
    best: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """
    The simplest text found that flips the judge.

    `pieces` are what was put into the original, `layers` the edits that it comes from. `ruling` rests on fresh asks
    alone; `low` is a bound for how much more often the answer wins with the text than without, at the shared level.
    `also` are the other cases that the same words flipped in one ask, of `tried`; `second` is the first of them in
    which fresh asks confirm it, too, "" if it was confirmed in its own case alone. `after` is the number of asks of the
    hunt when it was confirmed, `fresh_from` that of the first fresh ask.
    """

    quarry: Quarry
    pieces: tuple[Piece, ...]
    text: str
    layers: tuple[Layer, ...]
    first: str
    found_by: str
    ruling: Ruling
    low: float
    also: tuple[str, ...] = ()
    tried: int = 0
    second: str = ""
    after: int = 0
    fresh_from: int = FRESH

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens that were added."""
        return tuple(token for piece in self.pieces for token in piece.tokens)

    @property
    def wins(self) -> tuple[int, int]:
        """How many fresh asks the answer won without the text, and with it."""
        blocks = self.ruling.blocks
        return sum(b.first for b in blocks), sum(b.second for b in blocks)

    @property
    def confirmed(self) -> bool:
        """Whether fresh asks prove that the answer wins more often with the text than without."""
        return self.ruling.flip is Flip.YES


@dataclass(frozen=True)
class Hunted:
    """The result of a hunt; `excluded` counts cases that were looked at and not taken in hand, by reason."""

    findings: tuple[Finding, ...]
    quarries: tuple[Quarry, ...]
    asks: int
    noise: float
    excluded: Counter[Reason]
    incomplete: Reason = NONE

    @property
    def confirmed(self) -> tuple[Finding, ...]:
        """The findings that fresh asks confirmed, the simplest first."""
        return tuple(one for one in self.findings if one.confirmed)


@dataclass(frozen=True)
class Draft:
    """The simplest form of a flip, before fresh asks."""

    first: Try
    layers: tuple[Layer, ...]
    pieces: tuple[Piece, ...]
    text: str


def weight(pieces: Sequence[Piece], common: Counter[str]) -> tuple[int, int, int]:
    """Return how much a person has to read in some pieces: how many, how many tokens, how rare these are."""
    tokens = [token.strip().lower() for piece in pieces for token in piece.tokens]
    cuts = sum(piece.removes for piece in pieces)
    return len(tokens) + cuts, len(pieces), sum(-common[token] for token in tokens)
