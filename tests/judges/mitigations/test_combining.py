"""Several verdicts of one judge to one."""

import pytest

from calm.core.verdict import Criteria, Preferred, Ranking, Refused, Score, Tie, Unreadable
from calm.judges.mitigations.combining import combined
from tests.judges.mitigations.judging import PAIR, RUBRIC, SINGLE, TRIPLE

MUTE = Unreadable("hm")


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([Preferred("a"), Preferred("a"), Preferred("b")], Preferred),
        ([Preferred("a"), Preferred("b")], Tie),
        ([Preferred("a"), Tie()], Preferred),
        ([Preferred("a"), Tie(), Tie()], Tie),
        ([Preferred("a"), MUTE], Unreadable),
        ([Preferred("a"), Preferred("a"), MUTE], Preferred),
        ([Refused("no"), Refused("no")], Refused),
        ([Preferred("a"), Score(3.0)], Unreadable),
    ],
)
def test_the_mean_of_preferences(verdicts, expected):
    """More than half must be readable; what no answer has more of is a tie."""
    assert isinstance(combined(verdicts, PAIR), expected)


def test_probabilities_count_and_are_told():
    """A verdict that is nearly certain outweighs one that is not."""
    one = Preferred("b", {"a": 0.45, "b": 0.55, "tie": 0.0})

    found = combined([one, Preferred("a", {"a": 0.9, "b": 0.1, "tie": 0.0})], PAIR)

    assert isinstance(found, Preferred)
    assert found.probabilities == pytest.approx({"a": 0.675, "b": 0.325, "tie": 0.0})


def test_scores_criteria_and_rankings():
    """The mean, the majority, and the mean rank; what is even is not known."""
    assert combined([Score(4.0), Score(8.0)], SINGLE) == Score(6.0)
    found = combined([Criteria({"k1": True, "k2": True}), Criteria({"k1": True, "k2": False})], RUBRIC)
    ranks = [Ranking((("a",), ("b",), ("c",))), Ranking((("b",), ("a",), ("c",)))]

    assert isinstance(found, Criteria)
    assert found.met == {"k1": True, "k2": None}
    assert combined(ranks, TRIPLE) == Ranking((("a", "b"), ("c",)))


def test_all_must_be_readable_where_that_is_asked():
    """Where one missing verdict would bring the bias back."""
    assert combined([Score(4.0), Score(4.0), MUTE], SINGLE, all_=True) == MUTE
