"""From verdicts of judges to tables: the recorded judges take the way that a user's judges take."""

import asyncio
from dataclasses import dataclass, replace

import numpy as np
import pytest

from calm.cases.shapes import one_answer_each
from calm.core.case import Answer, Case, Criterion, Framing
from calm.core.verdict import Criteria, Scale, Unreadable
from calm.errors import EstimateError
from calm.experiment.crossing import Judgment
from calm.gate.from_spec import cases_from, judge_from
from calm.plugins.self_preference import recorded
from calm.plugins.self_preference.rubric import rubric_table_of
from calm.plugins.self_preference.scores import score_table_of
from tests.lanes import slow

CASE = Case(
    id="q1",
    question="Why is the sky blue?",
    answers=tuple(Answer(f"x{i}", f"text {i}", author=author) for i, author in enumerate(["a", "b", "c"])),
    criteria=(Criterion("short", "It is short."),),
    met={"x0": {"short": True}, "x1": {"short": False}},
    scores={"x0": 3, "x1": 3, "x2": 1},
)


@dataclass(frozen=True)
class Ask:
    """A send that is not used."""

    ask: int = 1


def verdicts(spec, framing=Framing.STANDARD):
    """Return what a recorded judge says of all its cases, through the protocol of judges."""
    judge = judge_from(spec)

    async def all_of_them():
        cases = [case.present(framing=framing) for case in cases_from([], judge)]
        return [Judgment(judge.model, case, await judge.judge(case, Ask())) for case in cases]

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("places", [(0, 5), slow(range(12))])
def test_the_recorded_judges_make_the_table_of_the_paper(places):
    """Asked case by case, the twelve give the very table that the papers' tests recompute from."""
    stated = recorded.rubric_table()
    judges = [stated.grid.judges[place] for place in places]

    judged = [one for judge in judges for one in verdicts(f"recorded:ifeval/{judge}")]
    found = rubric_table_of(judged, stated.grid.families)

    assert found.grid == replace(stated.grid, judges=tuple(judges))
    assert np.array_equal(found.instance, stated.instance)
    assert np.array_equal(found.verdicts, stated.verdicts[list(places)])
    assert np.array_equal(found.truth, stated.truth)


def test_the_recorded_scores_make_the_table_of_the_thesis(subtests):
    """In both framings; negative verdicts come back with the high end good."""
    for framing in [Framing.STANDARD, Framing.NEGATIVE]:
        with subtests.test(framing=framing):
            stated = recorded.score_table(framing, people=True)
            specs = [f"recorded:headlines/{judge}" for judge in stated.grid.judges]

            found = score_table_of([v for s in specs for v in verdicts(s, framing)], stated.grid.families, Scale(1, 5))

            columns = [found.grid.generators.index(g) for g in stated.grid.generators]
            items = [found.items.index(item) for item in stated.items]
            assert np.array_equal(found.scores[:, columns][:, :, items], stated.scores, equal_nan=True)


def test_answers_are_judged_one_by_one_and_blind():
    """Three cases of one item, none of which says who wrote it where a judge could read it."""
    found = one_answer_each(CASE)

    assert [case.id for case in found] == ["q1~1", "q1~2", "q1~3"]
    assert {case.tags["item"] for case in found} == {"q1"}
    assert [case.answers[0].author for case in found] == ["a", "b", "c"]
    assert found[1].met == {"answer": {"short": False}}
    assert found[2].scores == {"answer": 1}


def test_a_criterion_that_was_not_read_is_unknown():
    """Neither met nor not met; so is a truth that nobody knows."""
    cases = one_answer_each(CASE)
    judged = [
        Judgment("a", case, verdict)
        for case, verdict in zip(
            cases, [Criteria({"short": None}), Unreadable("?"), Criteria({"short": True})], strict=True
        )
    ]

    found = rubric_table_of(judged, {"a": "A", "b": "B", "c": "C"})

    assert found.verdicts.ravel().tolist() == [-1, -1, 1]
    assert found.truth.ravel().tolist() == [1, 0, -1]


def test_an_answer_without_an_author_is_refused():
    """Nobody's answer belongs to no column."""
    case = Case("q", "?", (Answer("x", "text"),), criteria=(Criterion("c", "text"),))

    with pytest.raises(EstimateError, match="case q: expected one answer with an author"):
        rubric_table_of([Judgment("a", case, Criteria({"c": True}))], {})
