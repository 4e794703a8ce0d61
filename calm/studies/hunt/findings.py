"""What a hunt may take, what it finds, and what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.reasons import NONE, Reason
from calm.experiment.referee import Flip, Ruling
from calm.strategies.tokens import Piece
from calm.studies.hunt.arms import Layer
from calm.studies.hunt.quarry import Quarry
from calm.studies.hunt.search import Try

ERROR: Final = 0.05
"""The probability that a hunt reports anything on a judge whom no text moves."""
FRESH: Final = 32
"""The number of the first fresh ask of each side: no search asks as often."""
FEW: Final = 100
"""With fewer asks in all, a case is asked once and not twice before it is taken in hand."""
MANY: Final = 1_200
"""With so many asks left, several flips are shrunk side by side."""
MOST_AT_ONCE: Final = 8
"""The most cases in hand at once."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """
    What a hunt may take: asks of the judge in all, findings, and cases in hand (0: as the asks allow).

    `error` is the probability that it reports anything on a judge whom no text moves.
    """

    asks: int = 600
    findings: int = 3
    at_once: int = 0
    error: float = ERROR

    @property
    def most(self) -> int:
        """How many findings there can be: with few asks one, which they may just prove."""
        return self.findings if self.asks >= FEW else 1

    @property
    def level(self) -> float:
        """The error of one finding."""
        return self.error / self.most

    @property
    def quarries(self) -> int:
        """How many cases are in hand."""
        return self.at_once or max(2, min(MOST_AT_ONCE, self.asks // 40))

    @property
    def search_level(self) -> float:
        """The error of a flip in the search: small where a shrinker takes hundreds of looks."""
        return 0.05 if self.asks < FEW else 0.005 if self.asks < MANY else 0.001


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
    `also` are the other cases that the same words flipped in one ask, of `tried`. `after` is the number of asks of the
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
        """Whether fresh asks prove that the text moves the verdict, and most of them were won."""
        return self.ruling.flip is Flip.YES and 2 * self.wins[1] > len(self.ruling.blocks)


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
