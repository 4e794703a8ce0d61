"""
From cases and verdicts to the tables of this package: the way that a user's judges and the recorded ones take.

An answer's `author` is its generator. Cases with one question are of one item: the tag `item` names it, or else the
text of the question does. Judges are to see no authors: the cases of `one_answer_each` and `own_pairs` have no bylines
and ids that name nobody, and who wrote what stays in `Answer.author`, which no prompt shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum

import numpy as np

from calm.case import TIE, Case
from calm.claims import Estimate
from calm.errors import EstimateError
from calm.selfpreference.framing_scores import ScoreTable, score_table
from calm.selfpreference.opportunity import NONE, OTHER, SELF, Outcomes
from calm.selfpreference.rubric import Row, RubricTable, rubric_table
from calm.statistics.intervals import padded_t
from calm.verdict import Criteria, Preferred, Scale, Score, Verdict

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


def own_pairs(case: Case, author: str) -> list[Case]:
    """
    Return a pairwise case for each pair of one author's answer and one of another's, in both orders.

    Ids of cases name no author; both orders carry the tag `item`, and are to be asked in their own order. `better` is
    known where both have gold scores, or where the case holds only these two answers. A case without an answer of the
    author gives none.
    """
    own = [answer for answer in case.answers if answer.author == author]
    others = [answer for answer in case.answers if answer.author not in (None, author)]
    tags = {**case.tags, "item": case.tags.get("item", case.id)}
    found: list[Case] = []
    for place, (mine, other) in enumerate(((m, o) for m in own for o in others), start=1):
        better = case.better if len(case.answers) == 2 else _better(case, mine.id, other.id)
        found += [
            replace(
                case,
                id=f"{case.id}~{place}{letter}",
                answers=order,
                better=better,
                met={a.id: case.met[a.id] for a in order if a.id in case.met},
                scores={a.id: case.scores[a.id] for a in order if a.id in case.scores},
                order=tuple(a.id for a in order),
                bylines={},
                variants={},
                tags=tags,
            )
            for letter, order in (("a", (mine, other)), ("b", (other, mine)))
        ]
    return found


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


def pair_outcomes(judged: Sequence[Judged], author: str) -> tuple[Outcomes, Outcomes, tuple[str, ...]]:
    """
    Return gold and judged outcome from one author's side, and the item, of each pair with one answer of the author.

    Whoever the judge is: outsiders are coded from the same side. Other pairs are left out; no gold label, a tie and a
    verdict that says nothing are `NONE`.
    """
    gold, said, items = [], [], []
    for one in judged:
        own = [answer.id for answer in one.case.answers if answer.author == author]
        if len(one.case.answers) != 2 or len(own) != 1:
            continue
        gold.append(_side(one.case.better, own[0]))
        said.append(_side(one.verdict.answer if isinstance(one.verdict, Preferred) else None, own[0]))
        items.append(item_of(one.case))
    return np.array(gold, dtype=np.int8), np.array(said, dtype=np.int8), tuple(items)


def pair_excess(judged: Sequence[Judged], judge: str, families: Mapping[str, str], *, level: float = 0.05) -> Estimate:
    """
    Return how much oftener a judge prefers its own answer than outsiders do on the same pairs, in [-1, 1].

    A preference counts 1 or 0, a tie and a verdict that says nothing a half. An outsider has a family that is neither
    the judge's nor the other author's. Both orders and all pairs of an item are averaged first: the item is the unit.
    Padded t, one-sided bounds at `level`. What the answers are worth cancels; 0 for a fair judge as skilled as they.

    Raises `EstimateError` where no pair with an own answer was judged by the judge and an outsider, or one item alone.
    """
    by_pair: dict[str, dict[str, tuple[float, str]]] = {}
    items: dict[str, str] = {}
    for one in judged:
        own = [answer for answer in one.case.answers if answer.author == judge]
        others = [answer for answer in one.case.answers if answer.author not in (None, judge)]
        if len(own) != 1 or len(others) != 1:
            continue
        author = others[0].author
        assert author is not None
        chosen = one.verdict.answer if isinstance(one.verdict, Preferred) else None
        favour = 0.5 if chosen is None else float(chosen == own[0].id)
        by_pair.setdefault(one.case.id, {})[one.judge] = favour, author
        items[one.case.id] = item_of(one.case)
    values: dict[str, list[float]] = {}
    for pair, said in by_pair.items():
        if judge not in said:
            continue
        mine, author = said[judge]
        if families[author] == families[judge]:
            continue
        outside = [x for j, (x, _) in said.items() if families[j] not in (families[judge], families[author])]
        if outside:
            values.setdefault(items[pair], []).append(mine - fsum(outside) / len(outside))
    means = [fsum(found) / len(found) for found in values.values()]
    if len(means) < 2:
        raise EstimateError(
            f"expected pairs of an answer of {judge!r} and one of another family, judged by it and by a judge related "
            f"to neither, for at least 2 items, got {len(means)}; add judges or generators of other families"
        )
    low, high = padded_t(means, -1, 1, level)
    return Estimate(fsum(means) / len(means), low, high, len(means), level)


def _side(answer: str | None, own: str) -> int:
    if answer is None or answer == TIE:
        return NONE
    return SELF if answer == own else OTHER


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
