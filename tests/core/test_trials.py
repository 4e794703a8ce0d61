"""Distance and favour of verdicts: each line of the kernel's table, and that the distances are metrics."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.core.trials import Trial, Trials, distance, favour, same
from calm.core.verdict import (
    Criteria,
    NoReply,
    Preferred,
    Ranking,
    Refused,
    Scale,
    Score,
    Tie,
    Unreadable,
    code,
    decode,
    readable,
)

TEN = Scale(1, 10)
ROW = Trial("c1", points={"a": 1.0, "b": 3.0, "c": -2.0})
SILENT = (Unreadable("empty reply"), Refused("will not"))
PAIRWISE = (Preferred("x"), Preferred("y"), Tie(), *SILENT)


def apart(u, v, row=ROW, scale=TEN):
    return distance(u, v, row, scale)


def test_pairwise_verdicts_are_equal_or_at_distance_one(subtests):
    """1[u != v] over each answer, tie and nothing said; a refusal and an unreadable reply are one category."""
    for u, v in list(product(PAIRWISE, PAIRWISE)):
        with subtests.test(u=u, v=v):
            category = {"x": "x", "y": "y", "tie": "tie"}
            expected = category.get(code(u), "nothing") != category.get(code(v), "nothing")

            assert apart(u, v) == expected
            assert same(u, v) == (not expected)


def test_pairwise_favour_is_one_for_the_treated_answer_and_a_half_for_a_tie(subtests):
    """1 treated, 1/2 tie, 0 other; a verdict without a value has none (the measures of pairs count it as a half)."""
    for verdict, x in [
        (Preferred("t"), 1.0),
        (Preferred("o"), 0.0),
        (Preferred("z"), 0.0),
        (Tie(), 0.5),
        (SILENT[0], None),
        (SILENT[1], None),
    ]:
        with subtests.test(verdict=verdict, x=x):
            assert favour(verdict, "t", ROW, TEN) == x


def test_scores_differ_by_their_share_of_the_scale(subtests):
    """abs(u-v)/(hi-lo); nothing said against a number 1, against nothing said 0."""
    for u, v, expected in [
        (Score(3), Score(7.5), 0.5),  # 4.5 of 9
        (Score(1), Score(10), 1.0),
        (Score(4), Score(4), 0.0),
        (Score(4), SILENT[0], 1.0),
        (SILENT[1], Score(4), 1.0),
        (SILENT[0], SILENT[1], 0.0),
    ]:
        with subtests.test(u=u, v=v, expected=expected):
            assert apart(u, v) == expected


def test_the_favour_of_a_score_is_its_place_on_the_scale(subtests):
    """(v-lo)/(hi-lo)."""
    for score, x in [(1, 0.0), (10, 1.0), (5.5, 0.5), (4, 1 / 3)]:
        with subtests.test(score=score, x=x):
            assert favour(Score(score), "t", ROW, TEN) == pytest.approx(x)


def test_rubrics_differ_by_the_points_judged_differently(subtests):
    """sum abs(w) 1[u != v] / sum abs(w), where an unread criterion is a value of its own."""
    for u, v, expected in [
        # weights 1, 3 and -2: the absolute sum is 6
        ({"a": True, "b": True, "c": True}, {"a": True, "b": True, "c": True}, 0.0),
        ({"a": True, "b": True, "c": True}, {"a": False, "b": True, "c": True}, 1 / 6),
        ({"a": True, "b": True, "c": True}, {"a": True, "b": False, "c": False}, 5 / 6),
        ({"a": True, "b": None, "c": True}, {"a": True, "b": False, "c": True}, 3 / 6),
        ({"a": True, "b": None, "c": True}, {"a": True, "b": None, "c": True}, 0.0),
    ]:
        with subtests.test(u=u, v=v, expected=expected):
            assert apart(Criteria(u), Criteria(v)) == pytest.approx(expected)


def test_a_rubric_against_nothing_said_is_apart_on_every_criterion_that_was_read():
    """An unreadable reply counts as unread on each criterion: all read 1, one of weight 3 of 6 unread 1/2."""
    full, part = Criteria({"a": True, "b": True, "c": False}), Criteria({"a": True, "b": None, "c": False})

    assert apart(full, SILENT[0]) == 1.0
    assert apart(SILENT[1], part) == pytest.approx(0.5)
    assert apart(Criteria(dict.fromkeys("abc")), SILENT[0]) == 0.0


def test_criteria_that_are_all_unread_equal_nothing_said():
    """What is at distance 0 is the same verdict: a reply without a verdict, however it was read."""
    unread = Criteria(dict.fromkeys("abc"))

    assert same(unread, SILENT[0])
    assert not readable(unread)
    assert readable(Criteria({"a": None, "b": True}))


def test_the_favour_of_a_rubric_is_the_share_of_points_earned(subtests):
    """A criterion with negative points earns them when it is not met; unread ones are left out."""
    for met, x in [
        # (w>0 met) + (|w|, w<0, not met), of 1 + 3 + 2 = 6
        ({"a": True, "b": True, "c": False}, 1.0),
        ({"a": False, "b": False, "c": True}, 0.0),
        ({"a": True, "b": False, "c": False}, 3 / 6),
        ({"a": True, "b": True, "c": True}, 4 / 6),
        ({"a": None, "b": True, "c": True}, 3 / 5),  # of the 5 points that were read
        ({"a": None, "b": None, "c": None}, None),
    ]:
        with subtests.test(met=met, x=x):
            assert favour(Criteria(met), "t", ROW, TEN) == (None if x is None else pytest.approx(x))


def ranking(text):
    """Read "a>b=c" as a ranking."""
    return Ranking(tuple(tuple(group.split("=")) for group in text.split(">")))


def test_rankings_differ_by_kendalls_distance(subtests):
    """Share of pairs in another order, where a tie against an order counts a half."""
    for u, v, expected in [
        ("a>b>c", "a>b>c", 0.0),
        ("a>b>c", "c>b>a", 1.0),
        ("a>b>c", "b>a>c", 1 / 3),  # one of three pairs turned
        ("a>b>c", "c>a>b", 2 / 3),
        ("a>b>c", "a=b>c", 1 / 6),  # one of three pairs tied: a half
        ("a=b=c", "a>b>c", 1 / 2),
        ("a=b>c", "c>a=b", 2 / 3),
        ("a=b", "b=a", 0.0),
    ]:
        with subtests.test(u=u, v=v, expected=expected):
            assert apart(ranking(u), ranking(v)) == pytest.approx(expected)
            assert apart(ranking(u), SILENT[0]) == 1.0


def test_the_favour_of_a_ranking_is_its_midrank(subtests):
    """(n - midrank)/(n-1) with n = 3."""
    for order, x in [("t>b>c", 1.0), ("b>t>c", 0.5), ("b>c>t", 0.0), ("t=b>c", 0.75), ("t=b=c", 0.5), ("b>t=c", 0.25)]:
        with subtests.test(order=order, x=x):
            assert favour(ranking(order), "t", ROW, TEN) == x


def test_the_favour_of_probabilities_is_the_mean_favour_of_a_draw(subtests):
    """Whatever was said, a tie counts a half for each answer; a criterion counts where it has points."""
    for verdict, x in [
        (Preferred("t", {"t": 0.5, "o": 0.25, "tie": 0.25}), 0.625),
        (Preferred("o", {"t": 0.125, "o": 0.5, "tie": 0.375}), 0.3125),
        (Tie({"t": 0.25, "o": 0.0, "tie": 0.75}), 0.625),
        (Preferred("o", {"o": 1.0}), 0.0),
        # weights 1, 3 and -2: the last are earned where the criterion is not met
        (Criteria({"a": True, "b": False, "c": True}, {"a": 0.75, "b": 0.25, "c": 0.75}), (0.75 + 0.75 + 0.5) / 6),
        (Criteria({"b": True, "c": False, "z": True}, {"b": 0.75, "c": 0.25, "z": 0.5}), (2.25 + 1.5) / 5),
        (Criteria({"z": True}, {"z": 0.5}), None),
    ]:
        with subtests.test(verdict=verdict, x=x):
            assert favour(verdict, "t", ROW, TEN) == (None if x is None else pytest.approx(x))


def test_the_distance_of_probabilities_is_the_mean_distance_of_two_draws(subtests):
    """Of criteria, those that both give one for; where one verdict has none, the verdicts themselves are compared."""
    tick, cross = Criteria({"a": True}, {"a": 1.0}), Criteria({"b": True}, {"b": 1.0})
    for u, v, expected in [
        (Preferred("x", {"x": 0.75, "tie": 0.25}), Tie({"x": 0.5, "tie": 0.5}), 1 - (0.375 + 0.125)),
        (Preferred("x", {"x": 1.0}), Tie({"tie": 1.0}), 1.0),
        (Preferred("x", {"x": 0.75, "y": 0.25}), Preferred("x"), 0.0),
        (Score(7.5, {"3": 0.25, "7.5": 0.75}), Score(3, {"3": 1.0}), 0.375),  # 4.5 of 9 in three of four draws
        (Score(3, {"3": 0.5, "7.5": 0.5}), Score(3, {"3": 0.5, "7.5": 0.5}), 0.25),
        (Score(3, {"3": 1.0}), Preferred("x", {"x": 1.0}), 1.0),
        (
            Criteria({"a": True, "b": True, "c": False}, {"a": 0.5, "b": 1.0, "c": 0.25}),
            Criteria({"a": True, "b": False, "c": False}, {"a": 0.5, "b": 0.25, "c": 0.0}),
            (0.5 + 3 * 0.75 + 2 * 0.25) / 6,
        ),
        (tick, Criteria({"a": True, "b": True}, {"a": 0.75, "b": 0.5}), 0.25),
        (tick, cross, 4 / 6),
    ]:
        with subtests.test(u=u, v=v, expected=expected):
            assert (apart(u, v), apart(v, u)) == pytest.approx((expected, expected))


def test_criteria_without_points_differ_or_not():
    """There is nothing to weigh them by."""
    blank = Trial("c1")

    assert apart(Criteria({"a": True}), Criteria({"a": False}), blank) == 1.0
    assert apart(Criteria({"a": True}), Criteria({"a": True}), blank) == 0.0
    assert favour(Criteria({"a": True}), "t", blank, TEN) is None


def test_points_below_one_are_points():
    """Their sign says whether a criterion is to be met, however little it weighs."""
    row = Trial("c1", points={"a": 0.5, "b": -0.25})

    assert favour(Criteria({"a": True, "b": False}), "t", row, TEN) == 1.0
    assert favour(Criteria({"a": True, "b": False}, {"a": 0.75, "b": 0.25}), "t", row, TEN) == 0.75


def test_rankings_that_differ_in_how_a_tie_is_listed_are_the_same():
    """Within a tie there is no order."""
    assert same(ranking("a=b>c"), ranking("b=a>c"))
    assert not same(ranking("a=b>c"), ranking("a>b>c"))


IDS = "abcd"
SCORES = st.one_of(st.sampled_from(SILENT), st.integers(1, 10).map(Score), st.floats(1, 10).map(Score))
CRITERIA = st.one_of(
    st.sampled_from(SILENT),
    st.fixed_dictionaries({c: st.sampled_from([True, False, None]) for c in "abc"}).map(Criteria),
)


def grouped(drawn):
    """Group the ids that drew the same rank."""
    groups = {}
    for name, rank in zip(IDS, drawn, strict=True):
        groups.setdefault(rank, []).append(name)
    return Ranking(tuple(tuple(groups[rank]) for rank in sorted(groups)))


RANKINGS = st.one_of(st.sampled_from(SILENT), st.tuples(*[st.integers(0, 3)] * 4).map(grouped))
KINDS = {"pairwise": st.sampled_from(PAIRWISE), "score": SCORES, "rubric": CRITERIA, "listwise": RANKINGS}


@pytest.mark.parametrize("family", KINDS)
def test_the_distance_is_a_metric(family):
    """For verdicts of each kind: in [0, 1], symmetric, 0 exactly for the same verdict, and the triangle holds."""

    @settings(derandomize=True, deadline=None, max_examples=300)
    @given(KINDS[family], KINDS[family], KINDS[family])
    def holds(u, v, w):
        assert 0 <= apart(u, v) <= 1
        assert apart(u, v) == apart(v, u)
        assert (apart(u, v) == 0) == same(u, v)
        assert apart(u, w) <= apart(u, v) + apart(v, w) + 1e-12

    holds()


@pytest.mark.parametrize("family", KINDS)
def test_the_favour_lies_between_nought_and_one(family):
    """Whatever was said; and verdicts that are the same give the same favour."""

    @settings(derandomize=True, deadline=None)
    @given(KINDS[family], KINDS[family])
    def holds(u, v):
        x, y = (favour(verdict, "a", ROW, TEN) for verdict in (u, v))
        assert x is None or 0 <= x <= 1
        assert not same(u, v) or x == y

    holds()


@pytest.mark.parametrize("family", KINDS)
def test_a_verdict_survives_its_code(family):
    """Decoding a code gives a verdict that is the same, and has the same code."""

    @settings(derandomize=True, deadline=None)
    @given(KINDS[family])
    def holds(verdict):
        again = decode(code(verdict))
        assert same(again, verdict)
        assert code(again) == code(verdict)

    holds()


def test_a_missing_reply_is_no_silence():
    """A transport failure is not data: it equals no verdict and no unreadable reply."""
    assert not same(NoReply("down"), SILENT[0])
    assert code(NoReply("down")) == "!no-reply"


def test_trials_are_weighed_where_every_clean_verdict_that_was_read_has_probabilities(subtests):
    """What says nothing has none to give; where nothing was read, nothing is known."""
    law = Preferred("x", {"x": 1.0})
    for clean, weighed in [((law, SILENT[0]), True), ((law, Preferred("x")), False), (SILENT, False), ((), False)]:
        with subtests.test(clean=clean):
            assert Trials((Trial("c1", clean=clean),), "pairwise", TEN).weighed is weighed


def test_the_lost_share_counts_the_asked_cases_only():
    """3 lost of 3 + 7 asked; excluded cases were never asked."""
    rows = tuple(Trial(f"c{i}") for i in range(7))

    assert Trials(rows, "pairwise", TEN, {"does not apply": 90}, {"down": 2, "slow": 1}).lost_share == pytest.approx(
        0.3
    )
    assert Trials(rows, "pairwise", TEN).lost_share == 0.0
