"""
From cases and verdicts to the tables of this package: the way that a user's judges and the recorded ones take.

An answer's `author` is its generator. Cases with one question are of one item: the tag `item` names it, or else the
text of the question does. Judges are to see no authors: the cases of `one_answer_each` and `all_pairs` have no bylines
and ids that name nobody, and who wrote what stays in `Answer.author`, which no prompt shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from calm.case import TIE, Case
from calm.errors import EstimateError
from calm.selfpreference.framing_scores import ScoreTable, score_table
from calm.selfpreference.rubric import Row, RubricTable, rubric_table
from calm.verdict import Criteria, Scale, Score, Verdict

ANSWER = "answer"
"""The id of the answer of a case that holds one."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge, by name, said of a case."""

    judge: str
    case: Case
    verdict: Verdict


def item_of(case: Case) -> str:
    """Return what cases about one question share: the tag `item`, or the question."""
    return case.tags.get("item", case.question)


def one_answer_each(case: Case) -> list[Case]:
    """
    Return a case for each answer of a case with several, for score and rubric judges.

    Ids end with the place of the answer and name no author; all of them carry the tag `item`. Gold scores and criteria
    of the answer go along. An answer without an author is left out.
    """
    tags = {**case.tags, "item": case.tags.get("item", case.id)}
    return [
        replace(
            case,
            id=f"{case.id}~{place}",
            answers=(replace(answer, id=ANSWER),),
            better=None,
            met={ANSWER: case.met[answer.id]} if answer.id in case.met else {},
            scores={ANSWER: case.scores[answer.id]} if answer.id in case.scores else {},
            order=(),
            bylines={},
            variants={},
            tags=tags,
        )
        for place, answer in enumerate(case.answers, start=1)
        if answer.author is not None
    ]


def all_pairs(case: Case) -> list[Case]:
    """
    Return a pairwise case for each pair of answers by two authors, in the order of the case.

    Ids name no author and all carry the tag `item`; `better` is known where scores or the truth of criteria tell.
    """
    written = [answer for answer in case.answers if answer.author is not None]
    tags = {**case.tags, "item": case.tags.get("item", case.id)}
    pairs = [(a, b) for a, b in combinations(written, 2) if a.author != b.author]
    return [
        replace(
            case,
            id=f"{case.id}~{place}",
            answers=pair,
            better=case.better if len(case.answers) == 2 and case.better else _better(case, pair[0].id, pair[1].id),
            met={a.id: case.met[a.id] for a in pair if a.id in case.met},
            scores={a.id: case.scores[a.id] for a in pair if a.id in case.scores},
            order=(),
            bylines={},
            variants={},
            tags=tags,
        )
        for place, pair in enumerate(pairs, start=1)
    ]


def rubric_table_of(judged: Iterable[Judged], families: Mapping[str, str]) -> RubricTable:
    """
    Return the table of verdicts on criteria; a criterion that could not be read, or without a truth, is unknown.

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


def score_table_of(judged: Iterable[Judged], families: Mapping[str, str], scale: Scale) -> ScoreTable:
    """
    Return the table of scores; a verdict that is no score is missing. Verdicts have the high end good already.

    Raises `EstimateError` for an answer without an author, or a judge that scored an answer twice.
    """
    rows = (
        (one.judge, _author(one.case), item_of(one.case), one.verdict.value)
        for one in judged
        if isinstance(one.verdict, Score)
    )
    return score_table(rows, families, low=scale.low, high=scale.high)


def _better(case: Case, first: str, second: str) -> str | None:
    worth = [case.scores.get(answer, _earned(case, answer)) for answer in (first, second)]
    a, b = worth
    if a is None or b is None:
        return None
    return TIE if a == b else first if a > b else second


def _earned(case: Case, answer: str) -> float | None:
    """Return the points that an answer earns by the truth of its criteria; None where that is not known of all."""
    truth = case.met.get(answer, {})
    if not case.criteria or any(criterion.id not in truth for criterion in case.criteria):
        return None
    return sum(criterion.points for criterion in case.criteria if truth[criterion.id])


def _author(case: Case) -> str:
    if len(case.answers) != 1 or case.answers[0].author is None:
        raise EstimateError(f"case {case.id}: expected one answer with an author, got {len(case.answers)} answers")
    return case.answers[0].author
