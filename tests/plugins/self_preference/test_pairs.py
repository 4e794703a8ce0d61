"""Verdicts on pairs from the side of one author: both orders, outsiders, and judges that say nothing."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from calm.core.case import Answer, Case
from calm.core.reasons import Kind, because
from calm.core.verdict import Preferred, Tie, Unreadable
from calm.errors import EstimateError
from calm.experiment.crossing import Judgment
from calm.plugins.self_preference import pairs
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.report import Tables
from calm.plugins.self_preference.scores import ScoreTable

AUTHORS = ("a", "b", "c")
FAMILIES = {"a": "A", "b": "B", "c": "C"}


def both(item, first, second, better=None):
    """Return the pair of two authors' answers to a question in both orders."""
    answers = tuple(Answer(author, f"{author} on {item}", author=author) for author in (first, second))
    return [
        Case(f"{item}-{first}{second}{n}", item, order, better=better).present(order=tuple(x.id for x in order))
        for n, order in enumerate((answers, answers[::-1]))
    ]


def judged(judge, cases, *chosen):
    """Return what a judge said of cases: an answer's id, "tie" or "?"."""
    words = {"tie": Tie(), "?": Unreadable("empty")}
    return [Judgment(judge, case, words.get(c) or Preferred(c)) for case, c in zip(cases, chosen, strict=True)]


def rows_of(judged, **more):
    """Return the rows of verdicts on pairs."""
    return Tables("pairwise", FAMILIES, pairs=tuple(judged)).figures(Random(1), **more).rows


def test_orders_that_differ_are_no_win_of_either():
    """A judge that always takes the first slot picks neither; by the mean of its orders it favours neither."""
    case = both("q", "a", "b", better="a")

    (found,) = pairs.faced([*judged("a", case, "a", "b"), *judged("b", case, "b", "b")], "a")

    assert (found.item, found.other, found.gold) == ("q", "b", 1)
    assert {name: (found.outcome(name), found.favour(name)) for name in "ab"} == {"a": (0, 0.5), "b": (-1, 0.0)}


def test_probabilities_of_both_orders_are_averaged():
    """.8 of .9 where the own answer is first, .1 of .5 where it is second: a mean above a half, whatever was picked."""
    case = both("q", "a", "b")
    first = Judgment("a", case[0], Preferred("a", {"a": 0.8, "b": 0.1, "tie": 0.1}))
    second = Judgment("a", case[1], Preferred("b", {"a": 0.1, "b": 0.4, "tie": 0.5}))

    (found,) = pairs.faced([first, second], "a")

    assert found.scores["a"] == pytest.approx((0.8 / 0.9 + 0.1 / 0.5) / 2)
    assert found.outcome("a") == 1


def test_a_verdict_that_says_nothing_in_one_order_leaves_the_pair_out():
    """What is left would hold the slot, not the worth; the other judge's verdicts stay."""
    case = both("q", "a", "b")

    (found,) = pairs.faced([*judged("a", case, "a", "?"), *judged("b", case, "tie", "b")], "a")

    assert dict(found.said) == {"b": (0, -1)}


def table(outsider="good", fond=0.0, worth=0.9, n=60, seed=1):
    """Return verdicts of three judges on all pairs; the answers of a are better in a share `worth` of the questions."""
    rng = Random(seed)
    found = []
    for q in range(n):
        good = rng.random() < worth
        for one, two in (("a", "b"), ("a", "c"), ("b", "c")):
            best = ("a" if good else two) if one == "a" else rng.choice("bc")
            case = both(f"q{q}", one, two, better=best)
            for judge in AUTHORS:
                own = judge == "a" and one == "a" and rng.random() < fond
                says = "?" if judge == "b" and outsider == "silent" else "a" if own else best
                found += judged(judge, case, says, says)
    return found


def test_a_silent_outsider_is_no_outsider():
    """It was counted as a half for both: a fair judge of the best answers then seemed to prefer its own by .4."""

    def excess(outsider, judge="a"):
        return pairs.pair_excess(pairs.faced(table(outsider, worth=0.6), judge), judge, FAMILIES)

    assert excess("good").estimate.value == 0.0
    with pytest.raises(EstimateError) as raised:
        excess("silent")
    assert raised.value.args[0] == because(Kind.ONE_OUTSIDER, "c")
    with pytest.raises(EstimateError, match="at least 2 items, got 0"):
        excess("silent", "b")


def test_the_report_has_the_gap_beside_that_of_outsiders():
    """A judge that takes its own in half of the pairs that it should lose; a fair one is as the outsiders are."""
    rows = {row.judge: row for row in rows_of(table(fond=0.5, worth=0.6))}
    fair = {row.judge: row for row in rows_of(table(worth=0.6))}

    assert 0.2 < rows["a"].corrected["gap_excess"].low < rows["a"].corrected["gap_excess"].value < 0.8
    assert fair["a"].corrected["gap_excess"].value == 0.0
    assert fair["a"].corrected["gap_excess"].low < 0 < fair["a"].corrected["gap_excess"].high
    assert rows["a"].published["own_twice"] > rows["a"].published["other_twice"]
    assert rows["a"].published["p_twice"] < 0.001
    assert rows["a"].published["unread"] == 0.0


def test_each_outsider_is_held_against_the_same_pairs():
    """Of the pairs with b the outsider is c and the other way round: b's own answers are no pairs of b's."""
    found = pairs.gap_excess(pairs.faced(table(worth=0.6), "a"), "a", FAMILIES, Random(1), draws=200)
    alone = [one for one in table(worth=0.6) if one.judge == "a"]

    assert found.n == 60
    with pytest.raises(EstimateError, match="expected a judge outside the family of 'a'"):
        pairs.gap_excess(pairs.faced(alone, "a"), "a", FAMILIES, Random(1))


def test_a_judge_that_says_nothing_has_no_figure_and_the_reason_is_told():
    """Nothing is said of people, who did decide."""
    row = next(r for r in rows_of(table("silent"), draws=100) if r.judge == "b")

    assert dict(row.corrected) == {}
    assert dict(row.published) == {"unread": 1.0}
    assert row.reasons["own"] == "b gave no verdict that could be read on both orders of a pair of its own"


def test_the_matrix_leaves_out_what_could_not_be_read():
    """A row of a judge that says nothing is empty, and no row of halves."""
    said = table("silent", n=4)
    rates = pairs.win_rates(said, pairs.grid_of(said, FAMILIES))

    assert np.isnan(rates[1]).all()
    assert not np.isnan(rates[[0, 2]]).any()


def test_one_order_alone_is_a_pair_too():
    """A table of a user's own may have asked once; then there is no sign test over both orders."""
    said = [one for one in table(n=5) if one.case.id.endswith("0")]
    found = pairs.faced(said, "a")

    assert len(found) == 10
    with pytest.raises(EstimateError, match="at least one pair"):
        pairs.orders_of(found, "a")


def test_answers_of_one_author_are_no_pair():
    """Nor is an answer of nobody."""
    case = both("q", "a", "b")[0]
    nobody = replace(case, answers=(case.answers[0], replace(case.answers[1], author=None)))

    assert pairs.faced(judged("a", [nobody], "a"), "a") == []
    assert pairs.faced(judged("a", [case], "a"), "c") == []


def test_scored_texts_are_pairs_by_their_scores():
    """The higher score wins, equal ones tie, a missing one is no verdict; the truth is read in the same way."""
    nan = float("nan")
    scores = np.array([[[8.0, 5.0], [5.0, 5.0]], [[5.0, nan], [7.0, 5.0]]])
    truth = np.array([[9.0, 3.0], [4.0, nan]])
    one = ScoreTable(Grid(("a", "b"), ("a", "b"), FAMILIES), ("1", "2"), scores, 1, 10, truth)

    found = pairs.faced_by_scores(one, "a")

    assert [(p.item, p.other, p.gold, dict(p.said)) for p in found] == [
        ("1", "b", 1, {"a": (1,), "b": (-1,)}),
        ("2", "b", None, {"a": (0,)}),
    ]


def test_an_outsider_on_three_pairs_does_not_take_the_gap_of_the_others():
    """It judged three questions: it is in no gap of the others, and its own is not estimated, for a reason."""
    few = {f"q{q}" for q in range(3)}
    found = [one for one in table(worth=0.6) if one.judge != "c" or one.case.question in few]
    rows = {row.judge: row for row in rows_of(found)}

    assert rows["a"].corrected["gap_excess"].excluded == {because(Kind.FEW_DECIDED_BY, "c"): 3}
    assert "gap_excess" in rows["b"].corrected or "b" in rows["b"].reasons["gap_excess"]
    assert "gap_excess" not in rows["c"].corrected
    assert "gap_excess" in rows["c"].reasons
