"""A judge that stands for another one and is never asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from calm.core.case import Case
from calm.core.verdict import Unreadable, Verdict
from calm.judges.wrapper import JudgeWrapper
from calm.models.wire import Endpoint, Send


@dataclass(frozen=True, slots=True, eq=False)
class StandIn(JudgeWrapper):
    """A judge that stands for another one: it sees what that one sees, has no model, and is never asked."""

    pilots: Mapping[str, Verdict] = field(default_factory=dict)
    piloted: list[Case] = field(default_factory=list)

    @property
    def fingerprint(self) -> str | None:
        """None: it says nothing that could be kept."""
        return None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """None: nothing is called."""
        return ()

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict that is assumed of a pilot, and note that there is one."""
        self.piloted.append(case)
        return self.pilots.get(case.id, Unreadable("planned, not asked"))
