"""Orders: what a slot decides is taken back, at a call for each order."""

from calm.core.verdict import Preferred, Ranking, Tie, Unreadable
from calm.plugins.mitigate.mitigations import mitigated
from tests.judges.judging import PAIR, TRIPLE, verdict
from tests.planted import Planted
from tests.plugins.mitigate.judging import asked


def first_slot(case, ask):
    """Prefer whatever comes first."""
    ids = [a.id for a in case.shown]
    return Preferred(ids[0]) if len(ids) == 2 else Ranking(tuple((i,) for i in ids))


def test_a_slot_that_decides_gives_a_tie_at_two_calls(subtests):
    """Both orders are asked, and differ."""
    for name in ["swap", "average", "rotations"]:
        with subtests.test(name=name):
            judge = Planted(first_slot)

            found = verdict(mitigated(judge, [name]), PAIR)

            assert isinstance(found, Tie)
            assert len(judge.asked) == 2


def test_a_preference_that_both_orders_share_stands(subtests):
    """Content decides."""
    for name in ["swap", "average"]:
        with subtests.test(name=name):
            found, seen = asked(
                lambda m, _: "[[A]]" if m[-1][1].index("blue") < m[-1][1].index("green") else "[[B]]", PAIR, name
            )

            assert isinstance(found, Preferred)
            assert found.answer == "a"
            assert len(seen) == 2


def test_rotations_balance_any_number_of_answers():
    """Three answers are asked in three orders, in which each comes first once."""
    judge = Planted(first_slot, task="listwise")

    found = verdict(mitigated(judge, ["rotations"]), TRIPLE)

    assert found == Ranking((("a", "b", "c"),))
    firsts = [c.shown[0].text for c, _ in judge.asked]
    assert firsts == [a.text for a in TRIPLE.answers]


def test_an_order_without_a_verdict_leaves_none():
    """Without one of the orders a slot could win again."""
    judge = Planted(lambda case, ask: Unreadable("hm") if case.shown[0].text == PAIR["b"].text else Preferred("A"))

    assert verdict(mitigated(judge, ["average"]), PAIR) == Unreadable("hm")


def test_one_mitigation_around_another_multiplies_the_calls():
    """Three evaluations in two orders are six calls."""
    found, seen = asked(lambda *_: "[[A]]", PAIR, "evidence:3", "swap")

    assert isinstance(found, Tie)
    assert len(seen) == 6
