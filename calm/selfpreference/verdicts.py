"""
From cases and verdicts to the tables of this package, for a user's judges and recorded ones.

An answer's `author` is its generator. Cases about the same question (`calm.core.items`) are one item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from calm.core.case import Case, Framing
from calm.core.items import item_of
from calm.core.verdict import Criteria, Scale, Score, Verdict, readable
from calm.errors import EstimateError
from calm.selfpreference.framing_scores import ScoreTable, score_table
from calm.selfpreference.rubric import Row, RubricTable, axis_of, rubric_table


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
        gone = _unread_share(one)
        found[one.judge] = Unread(
            so_far.asked + 1, so_far.unread + gone, so_far.own_asked + own, so_far.own_unread + gone * own
        )
    return found


def _unread_share(one: Judgment) -> float:
    if not isinstance(one.verdict, Criteria) or not one.case.criteria:
        return float(not readable(one.verdict))
    return sum(one.verdict.met.get(c.id) is None for c in one.case.criteria) / len(one.case.criteria)


def rubric_table_of(judged: Iterable[Judgment], families: Mapping[str, str]) -> RubricTable:
    """
    Return the table of verdicts on criteria; a criterion that could not be read, or that has no truth, is unknown.

    Raises `EstimateError` for an answer without an author, or a judge that judged an answer twice.
    """

    def rows() -> Iterator[Row]:
        for one in judged:
            author, item = _author(one.case), item_of(one.case)
            met = one.verdict.met if isinstance(one.verdict, Criteria) else {}
            truth = one.case.met.get(one.case.answers[0].id, {})
            for criterion in one.case.criteria:
                name = criterion.id
                about = criterion.points, len(criterion.text), axis_of(name)
                yield Row(one.judge, author, item, name, met.get(name), truth.get(name), *about)

    return rubric_table(rows(), families)


def score_table_of(
    judged: Sequence[Judgment],
    families: Mapping[str, str],
    scale: Scale,
    *,
    names: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> ScoreTable:
    """
    Return the table of scores; a verdict that is no score is missing. Verdicts have the high end good already.

    A judge of which no score could be read keeps its row, and an author without a score the column; so do the `names`
    of judges and authors.

    The true worth of a text is its gold score, or the points that it earns by the truth of its criteria.

    Raises `EstimateError` for an answer without an author, or a judge that scored an answer twice.
    """
    scored = [(one, one.verdict.value) for one in judged if isinstance(one.verdict, Score)]
    rows = ((one.judge, _author(one.case), item_of(one.case), value) for one, value in scored)
    truth = {
        (_author(case), item_of(case)): worth
        for case in {id(one.case): one.case for one, _ in scored}.values()
        if (worth := case.worth(case.answers[0].id)) is not None
    }
    known = [*names[0], *(one.judge for one in judged)], [*names[1], *(_author(one.case) for one in judged)]
    return score_table(rows, families, low=scale.low, high=scale.high, truth=truth, names=known)


def score_tables_of(judged: Sequence[Judgment], families: Mapping[str, str], scale: Scale) -> dict[Wording, ScoreTable]:
    """
    Return the table of scores of each wording (see `score_table_of`), all with the same judges and authors.

    A wording in which no score could be read has none.
    """
    names = [one.judge for one in judged], [_author(one.case) for one in judged]
    by_wording: dict[Wording, list[Judgment]] = {}
    for one in judged:
        by_wording.setdefault(one.wording, []).append(one)
    return {
        wording: score_table_of(some, families, scale, names=names)
        for wording, some in by_wording.items()
        if any(isinstance(one.verdict, Score) for one in some)
    }


def _author(case: Case) -> str:
    if len(case.answers) != 1 or case.answers[0].author is None:
        raise EstimateError(f"case {case.id}: expected one answer with an author, got {len(case.answers)} answers")
    return case.answers[0].author
