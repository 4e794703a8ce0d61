"""What is drawn from: the cases of the run under way, or the bundled pairs where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

from calm.core.case import Case
from calm.core.verdict import FAMILY, Family, Task

UNNAMED: Final = "judge-model"
"""What a judge without the name of a model is called in edits that name it."""


@dataclass(frozen=True, slots=True)
class Running:
    """The cases of a run in their order, the task of its judge, and the name of its model."""

    cases: tuple[Case, ...]
    task: Task
    model: str = UNNAMED

    @property
    def family(self) -> Family:
        """What the task measures."""
        return FAMILY[self.task]


_RUNS: list[Running] = []


def running() -> Running:
    """Return the run under way; without one, a run of a pairwise judge on the bundled cases."""
    return _RUNS[-1] if _RUNS else _bundled()


@contextmanager
def during(cases: Sequence[Case], task: Task, model: str) -> Iterator[None]:
    """Let strategies draw from a run until the end of the block."""
    one = Running(tuple(cases), task, model or UNNAMED)
    _RUNS.append(one)
    try:
        yield
    finally:
        _RUNS[:] = [other for other in _RUNS if other is not one]


@cache
def _bundled() -> Running:
    from calm.cases import bundled

    return Running(tuple(bundled("pairwise")), "pairwise")
