"""
Verdicts of several judges about the answers of several authors: what the tables of this package are made of.

An answer's `author` is its generator. Cases about the same question (`calm.core.items`) are one item.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from calm.core.case import Case, Framing
from calm.core.verdict import Criteria, Verdict, readable
from calm.errors import EstimateError


@dataclass(frozen=True, slots=True)
class Wording:
    """In which words a judge was asked: about which dimension ("" for the whole), and which way round."""

    dimension: str = ""
    framing: Framing = Framing.STANDARD


AS_EVER = Wording()


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdict of a judge, by name, on a case; the high end of a score is the good one in every framing."""

    judge: str
    case: Case
    verdict: Verdict
    wording: Wording = AS_EVER


@dataclass(frozen=True, slots=True)
class Unread:
    """How many verdicts of a judge could not be read, refusals included: of all, and of those on its own answers."""

    asked: int = 0
    unread: float = 0
    own_asked: int = 0
    own_unread: float = 0

    def shares(self) -> dict[str, float | None]:
        """Return the shares that could not be read: of all its verdicts, and of those on its own answers."""
        own = self.own_unread / self.own_asked if self.own_asked else None
        return {"unread": self.unread / self.asked if self.asked else None, "unread_own": own}


def unread_of(judged: Iterable[Judgment]) -> dict[str, Unread]:
    """Return how many verdicts of each judge could not be read; of a rubric the share of its criteria counts."""
    found: dict[str, Unread] = {}
    for one in judged:
        so_far, own = found.get(one.judge, Unread()), one.case.answers[0].author == one.judge
        gone = float(not readable(one.verdict))
        if isinstance(one.verdict, Criteria) and one.case.criteria:
            gone = sum(one.verdict.met.get(c.id) is None for c in one.case.criteria) / len(one.case.criteria)
        found[one.judge] = Unread(
            so_far.asked + 1, so_far.unread + gone, so_far.own_asked + own, so_far.own_unread + gone * own
        )
    return found


def author_of(case: Case) -> str:
    """Return the author of the one answer; raises `EstimateError` for none, or more answers than one."""
    if len(case.answers) != 1 or case.answers[0].author is None:
        raise EstimateError(f"case {case.id}: expected one answer with an author, got {len(case.answers)} answers")
    return case.answers[0].author
