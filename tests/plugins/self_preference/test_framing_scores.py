"""Graded self-evaluation: what is in which mean, and what is refused."""

from random import Random

import numpy as np
import pytest

from calm.errors import EstimateError
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.scores import (
    ScoreTable,
    averaged,
    mapped_back,
    score_excess,
    score_table,
    self_evaluation,
)

FAMILIES = {"a": "A", "b": "B", "c": "C", "human": "people"}


def table(seed=1, items=40, **changes):
    """Return scores of three judges for texts of themselves and of people."""
    rng = Random(seed)
    scores = np.array([[[rng.choice([3, 4, 5]) for _ in range(items)] for _ in range(4)] for _ in range(3)], float)
    for (judge, generator), shift in changes.get("shifts", {}).items():
        scores[judge, generator] += shift
    grid = Grid(("a", "b", "c"), ("a", "b", "c", "human"), FAMILIES)
    return ScoreTable(grid, tuple(str(i) for i in range(items)), scores, 1.0, 10.0)


def test_an_absent_row_is_a_missing_score():
    """N counts the items whose own text was scored; a missing peer shrinks the divisor and drops no item."""
    rows = [
        *[("a", "a", str(i), 4.0 + i % 2) for i in range(4)],
        *[("a", "b", str(i), 3.0) for i in range(5)],
        *[("b", "a", str(i), 2.0 + i % 3) for i in range(5)],
        *[("c", "a", str(i), 4.0) for i in range(2)],
        ("c", "c", "0", 5.0),
        ("a", "c", "0", 5.0),
    ]

    found = self_evaluation(score_table(rows, FAMILIES, low=1, high=5), "a")

    assert found.n == 4
    assert found.received.mean == ((2 + 4) / 2 + (3 + 4) / 2 + 4 + 2) / 4
    assert found.given.mean == ((3 + 5) / 2 + 3 + 3 + 3) / 4


def test_negative_framing_is_mapped_back_and_gaps_stay():
    """low + high - score."""
    found = mapped_back(score_table([("a", "a", "1", 2.0), ("a", "a", "2", 5.0)], FAMILIES, low=1, high=5))

    assert found.scores.tolist() == [[[4.0, 1.0]]]


def test_people_are_no_peers():
    """Scores of texts by people change neither R nor G."""
    assert self_evaluation(table(), "a") == self_evaluation(table(shifts={(0, 3): 5.0}), "a")


def test_leniency_and_worth_are_no_excess(subtests):
    """A whole row or a whole column may be moved: the excess does not."""
    for judge in ["a", "b", "c"]:
        with subtests.test(judge=judge):
            moved = table(shifts={(0, g): 2.0 for g in range(4)} | {(1, 0): 1.0, (2, 0): 1.0})
            moved.scores[0, 0] += 1.0  # the column of a's own texts is now one point better for all judges

            before, after = score_excess(table(), judge, Random(1)), score_excess(moved, judge, Random(1))

            assert after.value == pytest.approx(before.value, abs=1e-12)


def test_an_own_cell_is_in_nobody_elses_margin():
    """One judge that loves itself moves its own excess alone."""
    before, after = table(), table(shifts={(0, 0): 3.0})

    moved = [score_excess(after, j, Random(1)).value - score_excess(before, j, Random(1)).value for j in "abc"]

    assert moved == pytest.approx([3.0, 0.0, 0.0])


def test_family_cells_are_out_of_every_margin():
    """What a judge gives its family moves neither its own excess nor that of its kin."""
    rng = Random(3)
    names = ("a1", "a2", "b", "c", "d")
    grid = Grid(names, names, {"a1": "A", "a2": "A", "b": "B", "c": "C", "d": "D"})
    scores = np.array([[[rng.choice([3.0, 4.0, 5.0]) for _ in range(30)] for _ in names] for _ in names])
    before = ScoreTable(grid, tuple(map(str, range(30))), scores, 1.0, 9.0)
    after = ScoreTable(grid, before.items, scores.copy(), 1.0, 9.0)
    after.scores[0, 1] += 3.0

    def excesses(one):
        return [score_excess(one, judge, Random(1)).value for judge in names]

    assert excesses(after) == pytest.approx(excesses(before))
    assert score_excess(after, "a1", Random(1), target="family").value == pytest.approx(
        score_excess(before, "a1", Random(1), target="family").value + 3.0
    )


def test_the_excess_can_be_over_one_neutral_outsider():
    """Only the named judge is compared with."""
    one = table(shifts={(1, 0): 2.0})

    found = score_excess(one, "a", Random(1), outsiders=["c"])

    assert found.value == pytest.approx(score_excess(table(), "a", Random(1), outsiders=["c"]).value)


def test_a_judge_that_wrote_nothing_is_refused(subtests):
    """Neither S nor R exists without own texts."""
    for judge, message in [("d", "expected one of the judges, got 'd'"), ("c", "expected answers of 'c', got none")]:
        with subtests.test(judge=judge, message=message):
            rows = [(j, g, str(i), 3.0 + i % 2) for j in "abc" for g in "ab" for i in range(4)]

            with pytest.raises(EstimateError, match=message):
                self_evaluation(score_table(rows, FAMILIES, low=1, high=5), judge)


def test_two_judges_of_one_family_have_no_outsider():
    """Without a judge of another family there is nothing to hold the excess against."""
    grid = Grid(("a1", "a2"), ("a1", "a2"), {"a1": "A", "a2": "A"})
    one = ScoreTable(grid, ("1", "2"), np.array([[[1.0, 2], [3, 4]], [[1, 2], [3, 4]]]), 1, 5)

    with pytest.raises(EstimateError, match="add judges or generators of other families"):
        score_excess(one, "a1", Random(1))


def test_scores_off_the_scale_are_refused():
    """A scale that does not hold the scores is a mistake, in negative framing an ugly one."""
    with pytest.raises(EstimateError, match="expected scores from 1 to 5, got 3 to 7"):
        score_table([("a", "a", "1", 3.0), ("a", "a", "2", 7.0)], FAMILIES, low=1, high=5)


def test_a_second_score_of_a_text_is_refused():
    """Repeats are averaged by whoever makes the table, not silently overwritten."""
    with pytest.raises(EstimateError, match="got two by 'a' of 'a' on '1'"):
        score_table([("a", "a", "1", 3.0), ("a", "a", "1", 4.0)], FAMILIES, low=1, high=5)


def test_a_mean_over_tables_needs_a_score_in_each():
    """A text that one dimension lacks has no mean, and one that all others score keeps its place."""
    first = score_table([("a", "a", "1", 2.0), ("a", "a", "2", 5.0)], FAMILIES, low=1, high=5)
    second = score_table([("a", "a", "2", 4.0), ("a", "a", "3", 1.0)], FAMILIES, low=1, high=5)

    found = averaged([first, second])

    assert found.items == ("1", "2", "3")
    assert np.isnan(found.scores[0, 0]).tolist() == [True, False, True]
    assert found.scores[0, 0, 1] == 4.5
