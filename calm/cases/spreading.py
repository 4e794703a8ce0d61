"""
A case with the answers of several authors, as cases for one judge: an answer each, or a pair each.

Judges see no authors: these cases have no bylines, and their ids do not name the authors. The author stays in
`Answer.author`, which no prompt shows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from calm.core.annotations import Annotation, gold_of, renamed, restricted
from calm.core.case import TIE, Case
from calm.core.names import one_name
from calm.core.order import ITEM

ANSWER = "answer"
"""The id of the answer of a case that holds one."""


def one_answer_each(case: Case) -> list[Case]:
    """
    Return a case for each answer of a case with several, for score and rubric judges.

    Ids end with the place of the answer and name no author; all of them carry the tag `item`. Gold scores and criteria
    of the answer go along. An answer without an author is left out.
    """
    tags = {**case.tags, ITEM: case.tags.get(ITEM, case.id)}
    return [
        replace(
            case,
            id=f"{case.id}~{place}",
            answers=(replace(answer, id=ANSWER),),
            better=None,
            label=None,
            met={ANSWER: case.met[answer.id]} if answer.id in case.met else {},
            scores={ANSWER: case.scores[answer.id]} if answer.id in case.scores else {},
            annotations=_alone(case, answer.id),
            variants={},
            tags=tags,
        ).present(order=(), bylines={})
        for place, answer in enumerate(case.answers, start=1)
        if answer.author is not None
    ]


def all_pairs(case: Case) -> list[Case]:
    """
    Return a pairwise case for each pair of answers by two authors, in the order of the case.

    Ids name no author. All cases carry the tag `item`, and `better` where scores or the truth of criteria give it.
    """
    written = [answer for answer in case.answers if answer.author is not None]
    tags = {**case.tags, ITEM: case.tags.get(ITEM, case.id)}
    names = one_name(answer.author or "" for answer in written)
    pairs = [(a, b) for a, b in combinations(written, 2) if names[a.author or ""] != names[b.author or ""]]
    return [
        replace(
            case,
            id=f"{case.id}~{place}",
            answers=pair,
            better=_better(case, pair[0].id, pair[1].id),
            met={a.id: case.met[a.id] for a in pair if a.id in case.met},
            scores={a.id: case.scores[a.id] for a in pair if a.id in case.scores},
            annotations=_chosen(case, pair[0].id, pair[1].id),
            variants={},
            tags=tags,
        ).present(order=(), bylines={})
        for place, pair in enumerate(pairs, start=1)
    ]


def _alone(case: Case, answer: str) -> dict[str, Annotation]:
    about = restricted(case.annotations, (answer,))
    kept = {person: replace(one, better=None, order=()) for person, one in about.items()}
    return renamed({person: one for person, one in kept.items() if one}, {answer: ANSWER})


def _chosen(case: Case, first: str, second: str) -> dict[str, Annotation]:
    """Return which of two answers each person prefers: the one said, or by the scores or the order of all answers."""
    said = {
        person: (one.preferred(first, second) if one.better in (None, first, second, TIE) else None)
        for person, one in case.annotations.items()
    }
    return {person: Annotation(better=better) for person, better in said.items() if better is not None}


def _better(case: Case, first: str, second: str) -> str | None:
    """Return the better answer: what the case says of two, or its scores, or what most people prefer."""
    if len(case.answers) == 2 and case.better:
        return case.better
    a, b = case.worth(first), case.worth(second)
    if a is None or b is None:
        return gold_of(_chosen(case, first, second).values()).better
    return TIE if a == b else first if a > b else second
