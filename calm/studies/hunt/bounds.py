"""What a hunt may take, and what hangs on how much that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ERROR: Final = 0.05
"""The probability that a hunt reports anything on a judge whom no text moves."""
LEAST: Final = 24
"""With fewer asks nothing can be found and confirmed: two to choose cases, ten to rule on a text, twelve fresh ones."""
FEW: Final = 100
"""With fewer asks in all, a case is asked once and not twice before it is taken in hand."""
FRESH_LEAST: Final = 8
"""The fewest fresh asks of each side, where there are so many: with fewer a bound says little."""
RULED: Final = 10
"""About so many asks rule on a text."""
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
    def forms(self) -> int:
        """How many forms of a finding may be asked anew: what it was shrunk to, and with enough asks the whole text."""
        return 2 if self.asks >= FEW else 1

    @property
    def level(self) -> float:
        """The error of one form of one finding."""
        return self.error / (self.most * self.forms)

    @property
    def quarries(self) -> int:
        """How many cases are in hand."""
        return self.at_once or max(2, min(MOST_AT_ONCE, self.asks // 40))

    @property
    def least(self) -> int:
        """How many asks it takes at least to choose the cases, to rule on a first text, and to ask anew about it."""
        return LEAST if self.asks < FEW else 2 * self.quarries + RULED + 2 * FRESH_LEAST

    @property
    def search_level(self) -> float:
        """The error of a flip in the search: small where a shrinker takes hundreds of looks."""
        return 0.05 if self.asks < FEW else 0.005 if self.asks < MANY else 0.001
