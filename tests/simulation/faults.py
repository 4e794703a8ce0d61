"""What may go wrong in a simulated run, as data: a plan of faults, drawn from a seed, that can be made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random


class Kind(StrEnum):
    """The kinds of faults."""

    CRASH_BEFORE = "crash before a statement"
    CRASH_AFTER = "crash after a statement"
    FULL = "the disk is full from a statement on"
    IOERR = "the disk fails at a statement"
    BUSY = "another program locks the file for a while, from a statement on"
    DAMAGE = "a stored reply is changed"
    TORN_SPILL = "the disk is full from a statement on, and a crash cuts what is written beside the cache"
    FULL_BESIDE = "the disk is full from a statement on, and beside the cache too, for a moment"
    CRASH = "crash"
    STOP = "a stop, as by Ctrl-C"
    PAUSE = "the process stands still for a while"
    SLEEP = "the machine sleeps again and again: all processes stand still at once"
    CLOCK = "the calendar of the process jumps"
    TORN = "the machine fails, and the end of the log never reached its disk"
    LIMITED = "the server asks for fewer calls for a while"
    RETRY_AFTER = "the server asks for fewer calls, and says for how long"
    TIMEOUT = "the server answers later than the call waits, and bills it"
    LOST_LEASE = "the process stands still while it calls, until others may take its leases"


OF_STATEMENTS = frozenset(
    {
        Kind.CRASH_BEFORE,
        Kind.CRASH_AFTER,
        Kind.FULL,
        Kind.IOERR,
        Kind.BUSY,
        Kind.DAMAGE,
        Kind.TORN_SPILL,
        Kind.FULL_BESIDE,
    }
)
"""They happen at a statement of SQL."""
FILLS = frozenset({Kind.FULL, Kind.TORN_SPILL, Kind.FULL_BESIDE})
OF_CALLS = frozenset({Kind.LIMITED, Kind.RETRY_AFTER, Kind.TIMEOUT, Kind.LOST_LEASE})
"""They happen at a call to the server."""
OF_STEPS = frozenset(Kind) - OF_STATEMENTS - OF_CALLS
"""They happen after one step of the loop."""
HARMLESS = (Kind.SLEEP, Kind.CLOCK, Kind.LIMITED, Kind.RETRY_AFTER, Kind.TIMEOUT)
"""They excuse nobody: all that must hold without a fault holds with them."""
MOST_STATEMENTS, MOST_CALLS, MOST_STEPS = 120, 6, 300
"""Faults come so early that most of them happen."""
SECONDS = {
    Kind.CLOCK: (-7200.0, -3600.0, 3600.0, 7200.0),
    Kind.LIMITED: (0.3, 3.0, 20.0, 40.0),
    Kind.RETRY_AFTER: (1.0, 5.0, 20.0, 300.0),
    Kind.LOST_LEASE: (20.0, 30.0),
}
USUAL_SECONDS = (0.3, 3.0, 20.0, 90.0)


@dataclass(frozen=True, slots=True)
class Fault:
    """
    A fault of one process at its statement, call or step number `at`.

    `seconds` is how long it lasts, or how far a calendar jumps. `part` is the share that is left of what was torn.
    """

    kind: Kind
    process: int
    at: int
    seconds: float = 0.0
    part: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """
    All that decides a simulated run.

    `processes` ask the same `questions` at the same time, those in `apart` from a namespace of their own. A process
    that crashed is started again, if `again`. `usd` and `calls` are the caps of all together. The calendar of each
    process is `skew_s` seconds before that of the next one. With `hasty`, a second judge asks the same of the same
    server, and does not always wait. `coded` is how often a judge that is code is asked about each question.
    """

    seed: int
    questions: int
    processes: int
    apart: bool
    again: bool
    usd: float | None
    calls: int | None
    faults: tuple[Fault, ...]
    skew_s: float = 0.0
    hasty: bool = False
    coded: int = 0

    @classmethod
    def drawn(cls, seed: int) -> Plan:
        """Return the plan of a seed."""
        rng = Random(seed)
        processes = rng.choice((1, 2, 2, 2, 3))
        harmful = tuple(kind for kind in Kind if kind not in HARMLESS)
        kinds = rng.choices(harmful, k=rng.choice((0, 0, 1, 1, 2, 3)))
        kinds += rng.choices(HARMLESS, k=rng.choice((0, 0, 1, 1, 2)))
        faults = []
        for kind in kinds:
            most = MOST_STATEMENTS if kind in OF_STATEMENTS else MOST_CALLS if kind in OF_CALLS else MOST_STEPS
            seconds = rng.choice(SECONDS.get(kind, USUAL_SECONDS))
            faults.append(Fault(kind, rng.randrange(processes), rng.randrange(most), seconds, rng.random()))
        return cls(
            seed,
            rng.choice((1, 3, 6, 8)),
            processes,
            rng.random() < 0.5,
            rng.random() < 0.5,
            rng.choice((None, None, 0.05, 0.11)),
            rng.choice((None, None, None, 5)),
            tuple(faults),
            rng.choice((0.0, 0.0, 0.0, 5400.0)),
            rng.random() < 0.25,
            rng.choice((0, 0, 0, 0, 0, 4)),
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
        for name, nothing in (("apart", False), ("again", False), ("skew_s", 0.0), ("hasty", False), ("coded", 0)):
            if getattr(self, name):
                yield replace(self, **{name: nothing})
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
