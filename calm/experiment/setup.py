"""What all probes of a run share: the judge, the cases, the engine, and how often to ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from calm.core.case import Case
from calm.core.memo import Memo
from calm.core.verdict import FAMILY, Family
from calm.engine.engine import Engine
from calm.experiment.stopping import Design, Stopping
from calm.models.wire import Judge

SHARED: Final = frozenset(
    {"aim", "aimed", "clusters", "drawn", "each", "equal", "note", "order", "pilot", "sample", "within", "worded"}
)
"""What the probes of a run make of their cases and share, as `Memo` names it: all of it is the same for many edits."""
AT_A_TIME: Final = 2000
"""Rows whose cases and questions take some megabytes: far more than a gate has, far less than fill the memory."""
TOGETHER: Final = 10**9


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
    design: Design = field(default_factory=Design)
    stopping: Stopping = Stopping.SEQUENTIAL
    looks_ahead: int = 0
    at_a_time: int = AT_A_TIME
    """So many rows of a probe are asked about at a time; `TOGETHER` by batch, where each time would be a wave."""
    memo: Memo | None = field(default=None, compare=False)
    """What was made once of the same cases and edits."""
    equals: tuple[Case, ...] = ()
    """The cases of which equal pairs are made; none: those of the run."""
    counting: bool = False
    """Only what is asked is wanted, as by a plan: rows have no details."""

    @property
    def family(self) -> Family:
        """What the judge's task measures."""
        return FAMILY[self.judge.task]

    @property
    def repeatable(self) -> bool:
        """Whether the judge can be asked anything anew: not where its verdicts were given once, beforehand."""
        return self.judge.traits.repeats is None
