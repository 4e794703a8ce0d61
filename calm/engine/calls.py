"""The calls under way: each begins within the budget and is counted, and none begins after a stop."""

from __future__ import annotations

from typing import Final

from calm.core.reasons import Kind, because
from calm.engine.budget import Amount, Budget
from calm.engine.ledger import Ledger
from calm.errors import JudgeError

STOPPED: Final = because(Kind.STOPPED)
ONE: Final = Amount(1)


class Calls:
    """Begins and ends the calls of a process. `grace_s` is how many seconds calls may go on after the end of a run."""

    def __init__(self, budget: Budget, ledger: Ledger, grace_s: float) -> None:
        self.budget, self.ledger, self.grace_s = budget, ledger, grace_s
        self.stopping = False
        self.under_way = 0

    def begin(self, worst: Amount) -> None:
        """
        Count a call and reserve the most that it can use.

        Raises:
            JudgeError: a cap would be passed, or the run is stopped.
        """
        self.check()
        self.budget.reserve(worst)
        self.ledger.calls["made"] += 1
        self.under_way += 1

    def end(self, worst: Amount, used: Amount) -> None:
        """Note what a call used; the rest of what was reserved is free again."""
        self.under_way -= 1
        self.budget.settle(worst, used)

    def check(self) -> None:
        """Raise a `JudgeError` if the run is stopped."""
        if self.stopping:
            raise JudgeError(STOPPED, fatal=True)

    @property
    def longest_s(self) -> float | None:
        """For how many seconds a call may last, so that the cap in minutes holds; None: there is no such cap."""
        left_s = self.budget.seconds_left
        return None if left_s is None else max(0.0, left_s) + self.grace_s
