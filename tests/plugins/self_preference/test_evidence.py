"""The four shapes of verdicts on one small table that is counted by hand."""

import numpy as np
import pytest

from calm.core.case import TIE, Answer, Case
from calm.core.verdict import Preferred, Tie
from calm.errors import EstimateError
from calm.experiment.crossing import Judgment
from calm.plugins.self_preference import overestimation
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.harmful import held
from calm.plugins.self_preference.rubric import RubricTable
from calm.plugins.self_preference.scores import ScoreTable

FAMILIES = {"a": "A", "b": "B", "c": "C"}
GRID = Grid(("a",), ("a", "b", "c"), FAMILIES)
ITEMS = ("0", "1", "2", "3")
TRUTH = np.array([[0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]], np.int8)
SAID = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 0]], np.int8)
"""By author and question: the judge a credits its own two failures, and one of the two of b."""


def sign(values, first, second, item):
    return int(np.sign(int(values["abc".index(first), item]) - int(values["abc".index(second), item])))


def judgments():
    """Return verdicts in both orders; in the second of them the judge says tie, so a win and a tie are a win."""
    for item in range(4):
        for first, second in ("ab", "ac", "bc"):
            true, said = sign(TRUTH, first, second, item), sign(SAID, first, second, item)
            better = {1: first, 0: TIE, -1: second}[true]
            answers = (Answer(first, "", first), Answer(second, "", second))
            case = Case(f"{item}{first}{second}", "q", answers, better=better, tags={"item": str(item)})
            verdict = Tie() if said == 0 else Preferred(first if said > 0 else second)
            yield Judgment("a", case, verdict)
            yield Judgment("a", Case(f"{case.id}b", "q", answers, better=better, tags=case.tags), Tie())


def shape(name):
    """Return the table as judges of one shape give it."""
    if name == "rubric":
        table = RubricTable(GRID, ITEMS, ITEMS, np.arange(4), SAID[None], TRUTH, np.ones(4))
        return overestimation.of_criteria(table)
    if name == "points":
        table = ScoreTable(GRID, ITEMS, SAID[None].astype(float), 0.0, 1.0, TRUTH.astype(float))
        return overestimation.of_shares(table)
    return overestimation.of_comparisons(list(judgments()), FAMILIES)


@pytest.mark.parametrize("name", ["rubric", "points", "pairwise"])
def test_a_small_table_has_the_same_ratio_in_every_shape(name):
    """It over-estimates 3 of its 3 lost comparisons, 1 of 2 of b, 0 of 3 of c: 1 over .25; of 12 signs 6 are right."""
    one = shape(name)

    found = held(one, "a", one.said.of(0), one.truth)

    assert found.instance.ratio_self == pytest.approx(4.0)
    assert found.mipa == pytest.approx(0.5)
    assert (found.shares["l2t_self"], found.shares["l2w_others"]) == (1.0, 0.0)
    # mean scores: +.50, +.25, 0 beyond the truth for criteria; wins of pairs: +.1875, 0, -.1875
    assert found.self_minus_others == pytest.approx(0.375 if name == "rubric" else 0.28125)
    if name == "rubric":
        assert (found.mra, found.rubric.ratio_self) == (0.75, 4.0)  # 9 of 12; 2 of 2 over the mean of 1/2 and 0


def test_a_win_and_a_loss_are_a_tie_and_half_a_pair_is_nothing():
    """The sign is that of the sum over both orders; a judge without one of them has none."""
    answers = (Answer("x", "", "a"), Answer("y", "", "b"))
    first, second = (Case(i, "q", answers, tags={"item": "0"}) for i in ("one", "two"))
    both = [Judgment("a", first, Preferred("x")), Judgment("a", second, Preferred("y"))]

    found = overestimation.of_comparisons([*both, Judgment("b", first, Preferred("x"))], FAMILIES)

    assert found.said.signs[:, 0, 1, 0].tolist() == [0, 2]
    assert found.truth is None


def test_too_many_comparisons_are_refused_with_a_way_out(monkeypatch):
    """The message names the option that makes them fewer."""
    monkeypatch.setattr(overestimation, "MOST_SIGNS", 35)

    with pytest.raises(EstimateError, match="--sample N"):
        shape("rubric")
