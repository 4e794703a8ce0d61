"""Whether a judge can be read: where most of its first replies cannot, the run ends before all are paid for."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from calm.core.case import Case
from calm.core.reasons import Kind, Reason, Said, because, name, reason_of
from calm.core.recipes import Recipe
from calm.core.verdict import NoReply, Refused, Unreadable, Verdict, readable
from calm.models.wire import Judge

LOOKS: Final = ((12, 12), (20, 17))
"""
The run ends if of so many replies so many cannot be read.

Each reply is about a case of its own, as it is. With the chance r that a reply can be read, the run ends with a chance
of 0.0014 at r = .5, of 1e-6 at r = .7, and of 1e-12 at r = .9.
"""


class Legibility:
    """
    Counts which of the first replies of each judge can be read. A refusal can be; a call that failed is no reply.

    Code that raised, or returned what is no verdict, can be read as little.
    """

    def __init__(self) -> None:
        self._unread: dict[str, dict[str, bool]] = defaultdict(dict)
        self._failed: set[str] = set()
        self._faults: dict[str, Reason] = {}

    def fault(self, whose: str) -> Reason | None:
        """Return why a judge is asked no more, by the name of its asks; None: it is."""
        return self._faults.get(whose)

    def note(self, whose: str, judge: Judge, case: Case | Recipe[Case], verdict: Verdict) -> None:
        """Note the verdict on a case as it is; of each case the first reply counts. What is replayed costs nothing."""
        if judge.traits.recorded is not None:
            return
        seen, failed = self._unread[whose], isinstance(verdict, NoReply)
        if whose in self._faults or len(seen) >= LOOKS[-1][0] or case.id in seen:
            return
        if isinstance(verdict, NoReply):
            if not any(map(reason_of(verdict.reason).has, _BY_CODE)):
                return
            self._failed.add(whose)
        seen[case.id] = failed or (not readable(verdict) and not isinstance(verdict, Refused))
        if (len(seen), sum(seen.values())) in _ENDING:
            unread, why = sum(seen.values()), judge.remarks.unread
            if not why and isinstance(verdict, Unreadable):  # a judge around others may keep no replies
                why = (because(Kind.SAID, Said(verdict.reason)),)
            kind = Kind.JUDGE_FAILS if whose in self._failed else Kind.JUDGE_UNREAD
            self._faults[whose] = because(kind, name(judge.name), unread, len(seen), *why)


_BY_CODE: Final = (Kind.CODE_RAISED, Kind.VALUE_WRONG)
"""Why code that is a judge gave no verdict."""
_ENDING: Final = frozenset((asked, unread) for asked, least in LOOKS for unread in range(least, asked + 1))
