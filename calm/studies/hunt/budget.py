"""The asks of a hunt: how many are left, for whom, and why there are no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.reasons import NONE, Reason, counted
from calm.experiment.stopping import LOST
from calm.studies.hunt.bounds import FEW, FRESH_LEAST, Bounds
from calm.studies.hunt.choosing import Choice
from calm.studies.hunt.quarry import Quarry

KEPT_BACK: Final = 6
"""So many fresh asks of each side are kept back for a finding, at least."""


@dataclass(frozen=True)
class Budget:
    """What a hunt may ask, and what it asked about the cases in hand and to choose them."""

    bounds: Bounds
    chosen: Choice

    @property
    def quarries(self) -> list[Quarry]:
        """The cases in hand."""
        return self.chosen.quarries

    @property
    def asks(self) -> int:
        """How many asks were made."""
        return self.chosen.asks + sum(quarry.asks for quarry in self.quarries)

    @property
    def left(self) -> int:
        """How many asks are left of the whole."""
        return self.bounds.asks - self.asks

    @property
    def free(self) -> int:
        """How many asks are left beside those that a finding needs to be confirmed; its forms share those without."""
        each = FRESH_LEAST if self.bounds.asks >= FEW else KEPT_BACK
        return max(0, self.left - (1 + self.bounds.forms) * each)

    @property
    def stopped(self) -> Reason:
        """Why nothing more can be asked, or `NONE`."""
        return self.chosen.capped or next((q.stopped for q in self.quarries if q.stopped), NONE)

    @property
    def incomplete(self) -> Reason:
        """Why the hunt is not what it was to be: it was stopped, or too many asks were not answered; or `NONE`."""
        lost = sum((quarry.lost for quarry in self.quarries), self.chosen.lost)
        return self.stopped or (counted(lost) if lost.total() > LOST * self.asks else NONE)

    def allow(self, quarries: Sequence[Quarry], asks: int) -> None:
        """Let some quarries take so many asks together, each as many, and all others none."""
        for one in self.quarries:
            one.left = 0
        for number, one in enumerate(quarries):
            one.left = (max(0, asks) + len(quarries) - 1 - number) // len(quarries)
