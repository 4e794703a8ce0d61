"""Asks: how often a case is asked in each arm, at first and after a top-up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

TOP_UPS: Final = 2
"""How often an undecided claim is topped up at most."""


@dataclass(frozen=True, slots=True)
class Asks:
    """How often a case is asked in each arm; `perturbed` counts variants first, then repeats."""

    clean: int
    inert: int
    perturbed: int

    def __str__(self) -> str:
        return f"{self.clean}+{self.perturbed}"


@dataclass(frozen=True, slots=True)
class Design:
    """
    Asks an arm: clean and perturbed. The inert arm is asked as often as the perturbed one.

    A claim that is undecided on all cases is decided on more asks: first twice as many inert and perturbed ones, then
    twice as many clean ones and as many inert ones as these, which all probes share.
    """

    clean: int = 2
    perturbed: int = 1

    def __str__(self) -> str:
        return f"{self.clean}+{self.perturbed}"

    def asks(self, top_ups: int = 0) -> Asks:
        """Return the asks of a case after 0 to 2 top-ups."""
        if top_ups == 0:
            return Asks(self.clean, self.perturbed, self.perturbed)
        clean = self.clean * top_ups
        return Asks(clean, max(clean, 2 * self.perturbed), 2 * self.perturbed)

    def stages(self, *, edited: bool = True) -> tuple[Asks, ...]:
        """Return the asks of a case before any top-up and after each; without an edit only the clean arm grows."""
        stages = tuple(self.asks(number) for number in range(TOP_UPS + 1))
        if edited:
            return stages
        return tuple(replace(stages[0], clean=self.clean * 2**number) for number in range(TOP_UPS + 1))
