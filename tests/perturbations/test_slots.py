"""Known values of the edits of slots: orders, equal answers, labels, added answers, examples, names beside labels."""

from itertools import permutations
from random import Random

import pytest

from calm import Answer, ConfigError, Criterion
from calm.core.case import Example
from calm.perturbations import added_answers, compassion_fade, few_shot, labels
from calm.perturbations.position import permute, reverse_order, same_text
from tests.each import each
from tests.planted import case_of as build


def case_of(size, **fields):
    """Return a case of so many answers a, b, c, ..., shown in this order, with the second one treated."""
    ids = "abcdef"[:size]
    answers = tuple(Answer(i, f"Text {i}.") for i in ids)
    target = ids[min(1, size - 1)]
    return build(id="c", question="Why?", answers=answers, order=tuple(ids), target=target, **fields)


def test_all_orders_of_three_answers_can_be_made():
    """Ranks 1 to 5 are the five other orders, each with its first answer as the treated one; there is no sixth."""
    orders = [permute(rank)(case_of(3), Random(0)) for rank in range(1, 6)]

    assert {case.order for case in orders} == set(permutations("abc")) - {("a", "b", "c")}
    assert all(case.target == case.order[0] for case in orders)
    assert permute(6)(case_of(3), Random(0)) is None
    assert permute(0)(case_of(3), Random(0)) is None


def test_the_reverse_order_begins_with_the_last_answer():
    """Two answers are left to the swap."""
    assert reverse_order(case_of(3), Random(0)).order == ("c", "b", "a")
    assert reverse_order(case_of(2), Random(0)) is None


def test_equal_answers_tie_in_the_gold():
    """Both slots hold one of the two texts, under their own ids; what is equal already is left out."""
    texts = set()
    for seed in range(10):
        twins = same_text(case_of(2, better="a"), Random(seed))
        texts |= {answer.text for answer in twins.answers}

        assert len({answer.text for answer in twins.answers}) == 1
        assert ([answer.id for answer in twins.answers], twins.better) == (["a", "b"], "tie")
    assert texts == {"Text a.", "Text b."}
    assert same_text(case_of(1), Random(0)) is None


@each(
    ("edit", "expected"),
    [
        (labels.number_labels, ("1", "2", "3")),
        (labels.late_labels, ("X", "Y", "Z")),
        (labels.worded_labels, ("TEXT_A", "TEXT_B", "TEXT_C")),
        (labels.reverse_labels, ("C", "B", "A")),
    ],
)
def test_labels_are_given_by_slot(edit, expected):
    """The same labels again are no edit, and a single answer has none."""
    edited = edit(case_of(3), Random(0))

    assert edited.slot_labels == expected
    assert (edited.answers, edited.order) == (case_of(3).answers, ("a", "b", "c"))
    assert edit(case_of(1), Random(0)) is None
    assert edit is labels.reverse_labels or edit(edited, Random(0)) is None


@each("edit", [labels.symbol_labels, labels.random_labels])
def test_drawn_labels_differ_from_each_other(edit):
    """For every draw, and none of them is a label that stands for a tie."""
    for seed in range(50):
        drawn = edit(case_of(6), Random(seed)).slot_labels

        assert len(set(drawn)) == 6
        assert not {"C", "TIE"} & set(drawn)


def test_an_added_answer_leaves_the_order_of_the_others():
    """It may stand in any slot; a single answer, and labels that are fixed, get none."""
    places = set()
    for seed in range(30):
        grown = added_answers.add_fillers(2)(case_of(2), Random(seed))
        places.add(grown.order.index("a"))

        assert [i for i in grown.order if i in "ab"] == ["a", "b"]
        assert len(grown.answers) == len(grown.slot_labels) == 4
    assert places == {0, 1, 2}
    assert added_answers.add_stray_answer(case_of(1), Random(0)) is None
    assert added_answers.add_stray_answer(case_of(2, labels=("1", "2")), Random(0)) is None
    with pytest.raises(ConfigError, match="expected a count"):
        added_answers.add_fillers(9)


@each(
    ("case", "last", "other"),
    [
        (case_of(2), "B", "A"),
        (case_of(2, labels=("1", "2")), "2", "1"),
        (case_of(3), "B > A > C", "C > A > B"),
        (case_of(1), "the highest mark", "the lowest mark"),
        (case_of(1, criteria=(Criterion("k", "Is kind."),)), "every criterion is met", "no criterion is met"),
    ],
)
def test_the_last_example_is_for_the_treated_answer_and_in_the_control_against_it(case, last, other):
    """Both arms show the same two examples, and the answer that wins one is the good one."""
    for_it, against = few_shot.end_in_favour(case, Random(0)), few_shot.end_against(case, Random(0))

    assert [e.verdict for e in for_it.examples] == [other, last]
    assert against.examples == for_it.examples[::-1]
    good = for_it.examples[-1].answers[0 if len(case.answers) == 1 else 1]
    assert good in few_shot.GOOD


def test_the_examples_of_a_case_are_shown_in_reverse():
    """Fewer than two different ones have no order."""
    first, second = (Example("Why?", ("x",), verdict) for verdict in "12")

    assert few_shot.reverse_examples(case_of(1, examples=(first, second)), Random(0)).examples == (second, first)
    assert few_shot.reverse_examples(case_of(1, examples=(first,)), Random(0)) is None


@each("edit", [compassion_fade.hint_at_price, compassion_fade.hint_at_release])
def test_a_hint_favours_the_weaker_answer(edit):
    """What stands beside the treated answer is known as favoured, and what stands beside the other is not."""
    bylines = edit(case_of(2), Random(0)).bylines

    assert bylines["b"] in compassion_fade.FAVOURED
    assert bylines["a"] in set(compassion_fade.BYLINES) - set(compassion_fade.FAVOURED)
