"""What all probes of a run share: the judge, the cases, the engine, and how often to ask."""

from __future__ import annotations

from dataclasses import dataclass

from calm.core.case import Case
from calm.core.verdict import FAMILY, Family
from calm.engine.engine import Engine
from calm.experiment.stopping import Stopping
from calm.models.wire import Judge


@dataclass(frozen=True, slots=True)
class Design:
    """Asks an arm: clean and perturbed; undecided claims are topped up to as many perturbed asks as clean ones."""

    clean: int = 4
    perturbed: int = 2

    def __str__(self) -> str:
        return f"{self.clean}+{self.perturbed}"


@dataclass(frozen=True, slots=True)
class Setup:
    """
    What all probes of a run share.

    `looks_ahead`: while a look is decided, the questions of so many later ones are under way already. That saves time
    and no money: they are paid even if the look decides.
    """

    judge: Judge
    cases: tuple[Case, ...]
    engine: Engine
    seed: int = 0
    design: Design = Design()
    stopping: Stopping = Stopping.FIXED
    looks_ahead: int = 0

    @property
    def family(self) -> Family:
        """What the judge's task measures."""
        return FAMILY[self.judge.task]
