"""Asks: how often a case is asked in each arm, at first and after a top-up."""

from __future__ import annotations

from dataclasses import dataclass


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

    A claim that is undecided on all cases is decided on twice as many clean and perturbed asks, and as many inert asks
    as clean ones: they are shared by all probes.
    """

    clean: int = 2
    perturbed: int = 1

    def __str__(self) -> str:
        return f"{self.clean}+{self.perturbed}"

    def asks(self, *, topped: bool = False, variants: int = 1) -> Asks:
        """Return the asks of a case before and after the top-up, where each is shown so many variants at first."""
        perturbed = max(self.perturbed, variants)
        if topped:
            return Asks(2 * self.clean, 2 * self.clean, 2 * perturbed)
        return Asks(self.clean, self.perturbed, perturbed)
