"""
From cases and verdicts to the tables of this package, for a user's judges and recorded ones.

An answer's `author` is its generator. Cases about the same question (`calm.core.items`) are one item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from calm.core.case import Case
from calm.core.items import item_of
from calm.core.verdict import Criteria, Scale, Score, Verdict
from calm.errors import EstimateError
from calm.selfpreference.framing_scores import ScoreTable, score_table
from calm.selfpreference.rubric import Row, RubricTable, rubric_table


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdict of a judge, by name, on a case."""

    judge: str
    case: Case
    verdict: Verdict


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
                yield Row(one.judge, author, item, name, met.get(name), truth.get(name), criterion.points)

    return rubric_table(rows(), families)


def score_table_of(judged: Iterable[Judgment], families: Mapping[str, str], scale: Scale) -> ScoreTable:
    """
    Return the table of scores; a verdict that is no score is missing. Verdicts have the high end good already.

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
    return score_table(rows, families, low=scale.low, high=scale.high, truth=truth)


def _author(case: Case) -> str:
    if len(case.answers) != 1 or case.answers[0].author is None:
        raise EstimateError(f"case {case.id}: expected one answer with an author, got {len(case.answers)} answers")
    return case.answers[0].author
