"""What may go wrong in a simulated run, as data: a plan of faults, drawn from a seed, that can be made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random


class Kind(StrEnum):
    """The kinds of faults; those of a statement happen at one of SQL, the others after one step of the loop."""

    CRASH_BEFORE = "crash before a statement"
    CRASH_AFTER = "crash after a statement"
    FULL = "the disk is full from a statement on"
    IOERR = "the disk fails at a statement"
    BUSY = "another program locks the file for a while, from a statement on"
    DAMAGE = "a stored reply is changed"
    CRASH = "crash"
    STOP = "a stop, as by Ctrl-C"
    PAUSE = "the process stands still for a while"


STATEMENTS = frozenset({Kind.CRASH_BEFORE, Kind.CRASH_AFTER, Kind.FULL, Kind.IOERR, Kind.BUSY, Kind.DAMAGE})
MOST_STATEMENTS, MOST_STEPS = 120, 300
"""Faults come so early that most of them happen."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one process at its statement, or step, number `at`; `seconds` is how long it lasts."""

    kind: Kind
    process: int
    at: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """
    All that decides a simulated run.

    `processes` ask the same `questions` at the same time, those in `apart` from a namespace of their own. A process
    that crashed is started again, if `again`. `usd` and `calls` are the caps of all together.
    """

    seed: int
    questions: int
    processes: int
    apart: bool
    again: bool
    usd: float | None
    calls: int | None
    faults: tuple[Fault, ...]

    @classmethod
    def drawn(cls, seed: int) -> Plan:
        """Return the plan of a seed."""
        rng = Random(seed)
        processes = rng.choice((1, 2, 2, 2, 3))
        kinds = tuple(Kind)
        faults = []
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
            kind = rng.choice(kinds)
            most = MOST_STATEMENTS if kind in STATEMENTS else MOST_STEPS
            fault = Fault(kind, rng.randrange(processes), rng.randrange(most), rng.choice((0.3, 3.0, 20.0, 90.0)))
            faults.append(fault)
        return cls(
            seed,
            rng.choice((1, 3, 6, 8)),
            processes,
            rng.random() < 0.5,
            rng.random() < 0.5,
            rng.choice((None, None, 0.05, 0.11)),
            rng.choice((None, None, None, 5)),
            tuple(faults),
        )

    def smaller(self) -> Iterator[Plan]:
        """Yield plans with a little less in them."""
        for place in range(len(self.faults)):
            yield replace(self, faults=self.faults[:place] + self.faults[place + 1 :])
        if self.processes > 1 and all(fault.process < self.processes - 1 for fault in self.faults):
            yield replace(self, processes=self.processes - 1)
        if self.questions > 1:
            yield replace(self, questions=self.questions // 2)
            yield replace(self, questions=self.questions - 1)
        for name in ("usd", "calls"):
            if getattr(self, name) is not None:
                yield replace(self, **{name: None})
        for name in ("apart", "again"):
            if getattr(self, name):
                yield replace(self, **{name: False})
        for place, fault in enumerate(self.faults):
            if fault.at > 0:
                less = replace(fault, at=fault.at // 2)
                yield replace(self, faults=(*self.faults[:place], less, *self.faults[place + 1 :]))


def shrunk(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """Return a plan that still fails, of which no smaller one does."""
    while True:
        less = next((one for one in plan.smaller() if fails(one)), None)
        if less is None:
            return plan
        plan = less
