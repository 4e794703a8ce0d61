"""Several verdicts to one: one law for each kind, whoever combines."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calm.core.verdict import Criteria, NoReply, Preferred, Ranking, Refused, Score, Tie, Unreadable, code, readable
from calm.judges.combining import combined, unanimous
from calm.judges.panel import panel
from tests.judges.judging import PAIR, RUBRIC, SINGLE, TRIPLE, verdict
from tests.planted import Planted

A, B, MUTE = Preferred("a"), Preferred("b"), Unreadable("hm")
CASES = {"pairwise": PAIR, "score": SINGLE, "rubric": RUBRIC, "listwise": TRIPLE}
SAID = {
    "pairwise": st.sampled_from([A, B, Tie(), Preferred("a", {"a": 0.6, "b": 0.3, "tie": 0.1})]),
    "score": st.sampled_from([1.0, 2.5, 6.1, 7.3, 10.0]).map(Score),
    "rubric": st.fixed_dictionaries({"k1": st.booleans(), "k2": st.booleans()}).map(Criteria),
    "listwise": st.sampled_from([Ranking(tuple((i,) for i in ids)) for ids in permutations("abc")]),
}
KINDS = {"pairwise": Preferred | Tie, "score": Score, "rubric": Criteria, "listwise": Ranking}
SEVERAL = st.sampled_from(sorted(SAID)).flatmap(
    lambda task: st.tuples(st.just(task), st.lists(SAID[task], min_size=2, max_size=5))
)
RULES = st.sampled_from(["majority", "mean"])


def test_the_table_of_the_law(subtests):
    """Each kind of verdict under each rule: who wins, even splits, and what some could not read."""
    for verdicts, majority, mean in [
        ([A, A, B], A, A),
        ([A, B], Tie(), Tie()),
        ([A, B, Tie()], Tie(), Tie()),
        ([A, Tie(), Tie()], A, A),
        ([Tie(), Tie(), Tie()], Tie(), Tie()),
        ([B, B, A, Tie()], B, B),
        ([A, A, Preferred("b", {"b": 1.0})], A, A),
        ([Preferred("a", {"a": 0.51, "b": 0.49})] * 2 + [B], A, B),
        ([Preferred("b", {"a": 0.45, "b": 0.55}), Preferred("a", {"a": 0.9, "b": 0.1})], Tie(), A),
        ([Score(6.0), Score(7.0), Score(2.0)], Score(6.0), Score(5.0)),
        ([Score(6.0), Score(7.0), Score(2.0), Score(1.0)], Score(4.0), Score(4.0)),
        ([Criteria({"k1": True, "k2": True}), Criteria({"k1": True, "k2": False})], {"k1": True, "k2": False}, None),
        (
            [Criteria({"k1": t, "k2": u}) for t, u in ((True, True), (False, True), (True, False))],
            {"k1": True, "k2": True},
            None,
        ),
        ([Criteria({"k1": True, "k2": None}), Criteria({"k1": True, "k2": True})], {"k1": True, "k2": None}, None),
        (
            [Criteria({"k1": True, "k2": True}, {"k1": 0.6})] * 2 + [Criteria({"k1": False, "k2": True}, {"k1": 0.1})],
            {"k1": True, "k2": True},
            {"k1": False, "k2": True},
        ),
        ([Ranking((("a",), ("b",), ("c",))), Ranking((("b",), ("a",), ("c",)))], [["a", "b"], ["c"]], None),
    ]:
        with subtests.test(verdicts=verdicts, majority=majority, mean=mean):
            case = next(CASES[task] for task, kind in KINDS.items() if isinstance(verdicts[0], kind))
            expected = {"majority": majority, "mean": majority if mean is None else mean}

            for rule, one in expected.items():
                found = code(combined(verdicts, case, rule))
                assert found == (one if isinstance(one, dict | list) else code(one)), rule


def test_who_is_silent_is_left_out_until_too_few_are_left(subtests):
    """Half is too few, and one is too many where every verdict is needed; what never came is no data."""
    for verdicts, expected, needed in [
        ([A, A, MUTE], A, MUTE),
        ([A, MUTE], MUTE, MUTE),
        ([A, Refused("no"), MUTE], MUTE, MUTE),
        ([A, Refused("no"), Refused("never")], Refused("no"), Refused("no")),
        ([Refused("no"), MUTE], MUTE, MUTE),
        ([A, A, NoReply("cut")], NoReply("cut"), NoReply("cut")),
        ([MUTE, MUTE, NoReply("cut")], NoReply("cut"), NoReply("cut")),
        ([A, Score(3.0)], Unreadable("the verdicts are of different kinds"), None),
        ([Criteria({"k1": None, "k2": None})] * 2, Unreadable("no criterion could be read"), None),
    ]:
        with subtests.test(verdicts=verdicts, expected=expected, needed=needed):
            case = RUBRIC if isinstance(verdicts[0], Criteria) else PAIR

            assert code(combined(verdicts, case)) == code(expected)
            assert combined(verdicts, case, "majority") == expected
            assert combined(verdicts, case, every=True) == (expected if needed is None else needed)


def test_weights_decide():
    """Of votes, medians, means and places."""
    first, second = Ranking((("a",), ("b",), ("c",))), Ranking((("b",), ("a",), ("c",)))
    hardly, sure = Preferred("a", {"a": 0.51, "b": 0.49}), Preferred("b", {"a": 0.0, "b": 1.0})
    scores = [Score(6.0), Score(7.0), Score(2.0)]

    assert combined([A, B, B], PAIR, "majority", weights=[3, 1, 1]) == A
    assert code(combined([hardly, hardly, sure], PAIR, weights=[30, 30, 0.1])) == "a"
    assert combined(scores, SINGLE, weights=[1, 1, 2]) == Score(4.25)
    assert combined(scores, SINGLE, "majority", weights=[1, 1, 3]) == Score(2.0)
    assert combined([first, second], TRIPLE, weights=[2, 1]) == first


def test_probabilities_are_joined_by_the_mean_and_by_nothing_else():
    """A verdict without them is certain; a vote says nothing of how sure it is."""
    one = Preferred("b", {"a": 0.45, "b": 0.55, "tie": 0.0})

    found = combined([one, Preferred("a", {"a": 0.9, "b": 0.1, "tie": 0.0})], PAIR)

    assert found.probabilities == pytest.approx({"a": 0.675, "b": 0.325, "tie": 0.0})
    assert combined([one, A], PAIR).probabilities == pytest.approx({"a": 0.725, "b": 0.275, "tie": 0.0})
    assert combined([one, A], PAIR, "majority").probabilities is None
    assert combined([Criteria({"k1": True, "k2": False})] * 2, RUBRIC).probabilities == {"k1": 1.0, "k2": 0.0}


def test_unanimous_is_what_all_say(subtests):
    """Else it is a tie; without one of them there is nothing."""
    for verdicts, expected in [
        ([A, A], A),
        ([A, B], Tie()),
        ([A, Tie()], Tie()),
        ([Tie(), A], Tie()),
        ([A, MUTE], MUTE),
        ([Refused("no"), Refused("never")], Refused("no")),
        ([A, NoReply("cut")], NoReply("cut")),
        ([Preferred("a", {"a": 0.8, "b": 0.2}), Preferred("a", {"a": 0.6, "b": 0.4})], A),
    ]:
        with subtests.test(verdicts=verdicts, expected=expected):
            found = unanimous(verdicts, PAIR)

            assert (type(found), code(found)) == (type(expected), code(expected))
            if readable(found):
                given = verdicts[0].probabilities and pytest.approx({"a": 0.7, "b": 0.3, "tie": 0.0})
                assert found.probabilities == given


@given(several=SEVERAL, rule=RULES, data=st.data())
def test_a_weight_of_two_is_two_equal_verdicts(several, rule, data):
    """In votes, means, medians and places alike, and whatever the weights sum to."""
    task, verdicts = several
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(verdicts), max_size=len(verdicts)))
    repeated = [verdict for verdict, weight in zip(verdicts, weights, strict=True) for _ in range(weight)]

    plain = combined(repeated, CASES[task], rule)

    for factor in (1.0, 0.125):
        weighted = combined(verdicts, CASES[task], rule, weights=[factor * w for w in weights])
        assert code(weighted) == (pytest.approx(code(plain)) if isinstance(plain, Score) else code(plain))


@given(several=SEVERAL, rule=RULES, data=st.data())
def test_the_order_of_verdicts_decides_nothing(several, rule, data):
    """Nor do verdicts that all agree come to anything else than what they say."""
    task, verdicts = several
    shuffled = data.draw(st.permutations(verdicts))

    assert code(combined(shuffled, CASES[task], rule)) == code(combined(verdicts, CASES[task], rule))
    assert code(combined([verdicts[0]] * 3, CASES[task], rule)) == code(verdicts[0])


@given(several=SEVERAL, rule=RULES)
def test_a_panel_follows_the_law(several, rule):
    """Its members say what they say; it says what the law makes of it."""
    task, verdicts = several
    members = [
        Planted(lambda case, ask, one=one: one, task, name=f"m{place}", fingerprint=f"m{place}")
        for place, one in enumerate(verdicts)
    ]

    assert verdict(panel(members, rule), CASES[task]) == combined(verdicts, CASES[task], rule)
