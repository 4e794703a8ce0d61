"""Known values of the edits that harm an answer."""

from dataclasses import replace
from random import Random

import pytest

from calm import Answer, Case, Criterion
from calm.cases import bundled
from calm.core.case import Turn
from calm.core.checks import verify
from calm.errors import ConfigError
from calm.perturbations.prose import sentences
from calm.perturbations.sensitivity import (
    CERTAIN,
    FALSEHOODS,
    STRANGERS,
    break_criterion,
    change_number,
    degrade,
    delete_point,
    err_boldly,
    fault_in_step,
    negate,
    reverse_relation,
    shuffle_sentences,
    state_falsehood,
    substitute_fact,
    swap_entity,
)
from tests.each import each


def damaged(edit, text, seed=0, **fields):
    """Return the text of a case's only answer after an edit, or None."""
    case = Case(id="c", question="Why?", answers=(Answer("a", text),), **fields).present(order=("a",)).treat("a")
    edited = edit(case, Random(seed))
    return None if edited is None else edited["a"].text


@each(
    ("text", "pattern"),
    [
        ("First 10, then 50 km.", ("First 10, then ", " km.", 40, 60)),
        ("It has 1,000 seats.", ("It has ", " seats.", 800, 1200)),
        ("It costs 3.50 now.", ("It costs ", " now.", 2.8, 4.2)),
        ("There are 0 left. Step 2: stop.", ("There are ", " left. Step 2: stop.", 1, 1)),
        ("He has 7.\n\n```\nx = 99\n```\n2. `y3 = 4`", ("He has ", ".\n\n```\nx = 99\n```\n2. `y3 = 4`", 6, 8)),
        ("Use utf8 and v1.2.3 at 10:30, or 20 times.", ("Use utf8 and v1.2.3 at 10:30, or ", " times.", 16, 24)),
    ],
)
def test_the_last_number_of_the_prose_changes(text, pattern):
    """The last number is another one within a fifth; numbers of code, steps, items, versions and times stay."""
    head, tail, low, high = pattern
    for seed in range(30):
        changed = damaged(change_number, text, seed)

        assert changed != text
        assert changed.startswith(head)
        assert changed.endswith(tail)
        assert low <= float(changed[len(head) : -len(tail)].replace(",", "")) <= high


def test_a_text_without_a_number_has_none_to_change():
    """Numbers that are part of names or code are none."""
    assert damaged(change_number, "Use `x = 3` in utf8.") is None


@each(
    ("text", "denied"),
    [
        ("The sky is blue.", "The sky is not blue."),
        ("The sky is not green.", "The sky is green."),
        ("It can fly.", "It cannot fly."),
        ("It cannot fly.", "It can fly."),
        ("It isn't far.", "It is far."),
        ("You should wait. `x is y`", "You should not wait. `x is y`"),
        ("Is it far?", None),
    ],
)
def test_one_statement_is_denied(text, denied):
    """A "not" is put in or taken out; questions and code are no statements."""
    assert damaged(negate, text) == denied


WRONG_AND_RIGHT = (
    "The Moon is a cheese of 500 kilograms from June and lies before Paris. "
    "It is far from Rome at 384 thousand kilometres in May, before the Sun. "
    "The Moon is made of the finest and longest threads of blue wool that 900 sheep of Kent will give in July."
)
REFERENCE = "The Moon has no air. It is far from Rome at 384 thousand kilometres in May, before the Sun."
SUBTLE = (change_number, negate, delete_point, reverse_relation, substitute_fact, swap_entity, err_boldly, degrade(1))


@each("edit", SUBTLE, ids=lambda edit: edit.label)
def test_what_is_wrong_already_is_not_what_is_harmed(edit):
    """Of an answer that stands alone, what its reference says, too, is harmed: an error denied would be a repair."""
    right = "It is far from Rome at 384 thousand kilometres in May, before the Sun."
    alone = Case("c", "What is the Moon?", (Answer("a", WRONG_AND_RIGHT),), reference=REFERENCE).treat("a")
    for seed in range(20):
        harmed = edit(alone, Random(seed))["a"].text

        assert right not in harmed
        assert all(said in harmed for said in WRONG_AND_RIGHT.split(right))
    assert edit(replace(alone, reference="Nothing of it."), Random(0)) is not None


TALK = (
    "This message is kept for you under 0060-03, in case that you are looking for it. "
    "The refund is a gift card. It was good to hear from you again and again and again."
)
TURNS = (Turn("user", "Please pay it back as a gift card."), Turn("assistant", "Gladly."))


@each("edit", [delete_point, negate], ids=lambda edit: edit.label)
def test_what_the_conversation_is_about_is_harmed(edit):
    """And not a longer sentence on which no fact rests."""
    for seed in range(20):
        harmed = damaged(edit, TALK, seed, turns=TURNS)

        assert "refund is a gift card" not in harmed
        assert harmed.startswith("This message is kept for you under 0060-03, in case that you are looking for it.")
        assert harmed.endswith("It was good to hear from you again and again and again.")


def test_a_sentence_that_a_criterion_needs_is_harmed_before_one_that_says_more():
    """Only of a criterion that is met and that a program verifies."""
    text = "The refund is a gift card. The form is open and names a dent."
    turns = (Turn("user", "A gift card as refund, please; it has a dent."),)
    criteria = (Criterion("c", "It names the fault.", check={"kind": "contains", "value": "dent"}),)
    about = {"turns": turns, "criteria": criteria}

    assert damaged(delete_point, text, met={"a": {"c": True}}, **about) == "The refund is a gift card."
    assert damaged(delete_point, text, turns=turns) == "The form is open and names a dent."


def class_of(text, reference):
    """Return the class of an answer by how many sentences of its reference it says: 0 wrong, 1 mixed, 2 right."""
    right = [reference[start:end] in text for start, end in sentences(reference)]
    return (sum(right) / len(right) >= 0.5) + all(right)


@each("edit", [change_number, negate, delete_point], ids=lambda edit: edit.label)
def test_a_defect_changes_the_class_of_an_answer(edit):
    """Also of one that is right in part, which one error more could leave in its class."""
    counted = [0, 0, 0]
    for case in bundled("label"):
        harmed = edit.apply(case.treat("only"), 1)
        before = class_of(case["only"].text, case.reference)
        if harmed is not None and case.tags["category"] != "instructions" and before:
            counted[before] += 1
            assert class_of(harmed["only"].text, case.reference) < before, case.id
    assert counted[1] >= 10
    assert counted[2] >= 40


def test_an_answer_right_in_part_is_left_out_where_its_reference_says_less_than_all():
    """Nobody can tell then which part of it its class stands for; without a class one error is worse."""
    case = Case("c", "Why?", (Answer("a", "It rains. It is 20 degrees. It snows."),), reference="It is 20 degrees.")

    assert change_number(replace(case, label="mixed").treat("a"), Random(1)) is None
    assert change_number(case.treat("a"), Random(1)) is not None


@each(
    ("text", "shorter"),
    [
        (
            "A short point here. A much longer point stands here. The end comes now.",
            "A short point here. The end comes now.",
        ),
        ("A much longer point stands here. A short point here.", "A short point here."),
        ("A short point here. A much longer point stands here.", "A short point here."),
        ("- one short point\n- another point that is longer\n- a third point", "- one short point\n- a third point"),
        (
            "A short point here.\n\nA much longer point stands here.\n\nThe last one.",
            "A short point here.\n\n\nThe last one.",
        ),
        ("Only one point that counts. Yes.", None),
    ],
)
def test_the_longest_point_is_deleted(text, shorter):
    """The longest sentence or item goes, where another one with content stays."""
    assert damaged(delete_point, text) == shorter


def test_one_verifiable_criterion_is_broken():
    """The criterion that is hit was met and is not met any more; one that was never met is not drawn."""
    criteria = (
        Criterion("c1", "No commas.", check={"kind": "no_commas"}),
        Criterion("c2", "Mentions salt.", check={"kind": "contains", "value": "salt"}),
        Criterion("c3", "Is kind."),
    )
    case = (
        Case(
            id="c",
            question="Why?",
            answers=(Answer("a", "Rain falls on the plain."),),
            criteria=criteria,
            met={"a": {"c1": True, "c2": False, "c3": True}},
        )
        .present(order=("a",))
        .treat("a")
    )

    edited = break_criterion(case, Random(0))

    assert edited.hit == "c1"
    assert edited.met == {"a": {"c1": False, "c2": False, "c3": True}}
    assert not verify({"kind": "no_commas"}, edited["a"].text)


@each(
    ("text", "changed"),
    [
        ("It is Warmer here.", "It is Colder here."),
        ("Always wait.", "Never wait."),
        ("It rains more or less there.", None),
        ("`more` or moreover.", None),
    ],
)
def test_one_relation_is_reversed(text, changed):
    """A word gives way to its opposite, in its letter case; code, other words and set phrases stay."""
    assert damaged(reverse_relation, text) == changed


def test_a_fact_gives_way_to_another_of_its_kind():
    """A month stays a month, and nothing else of the text changes."""
    changed = {damaged(substitute_fact, "It was in June.", seed) for seed in range(40)}

    assert "It was in July." in changed
    assert "It was in June." not in changed
    assert all(text.startswith("It was in ") and text[10].isupper() for text in changed)
    assert damaged(substitute_fact, "Call `june` or a Junes.") is None


def test_a_name_gives_way_to_another_one_of_the_answer():
    """With two names one stands in the other's place; with one name a stranger's does; the first word is no name."""
    pairs = {damaged(swap_entity, "We saw Uma before Zeno came.", seed) for seed in range(20)}
    single = {damaged(swap_entity, "Today we saw Uma.", seed) for seed in range(20)}

    assert pairs == {"We saw Zeno before Zeno came.", "We saw Uma before Uma came."}
    assert single == {f"Today we saw {name}." for name in STRANGERS}
    assert damaged(swap_entity, "Today we saw nobody.") is None


def test_a_blatant_error_stands_before_the_last_sentence():
    """All that the answer says stays, in small letters where it has no capital ones."""
    for seed in range(10):
        text = damaged(state_falsehood, "It rains. It pours.", seed)
        small = damaged(state_falsehood, "it rains. it pours.", seed)

        assert text in {f"It rains. {said} It pours." for said in FALSEHOODS}
        assert small == small.lower()


def test_a_wrong_answer_is_sure_of_itself():
    """A number changes, and the answer opens by calling itself certain; without anything to change it is left out."""
    text = damaged(err_boldly, "It takes 50 minutes.")

    assert text.startswith(CERTAIN)
    assert "50" not in text
    assert damaged(err_boldly, "Wait there.") is None


def test_a_fault_in_the_working_leaves_the_result():
    """The last number before the last sentence changes, and never one in it."""
    for seed in range(20):
        changed = damaged(fault_in_step, "First 10 and 20 make 30. So the sum is 30.", seed)

        assert changed.startswith("First 10 and 20 make ")
        assert changed.endswith(". So the sum is 30.")
        assert " 30. So" not in changed
    assert damaged(fault_in_step, "The sum is 30.") is None


def test_a_shuffled_answer_begins_with_a_reference_to_nothing():
    """A sentence that refers to an earlier one comes first, and no sentence is lost."""
    text = "A cook salts the soup. Then he waits. The bowl is warm."
    for seed in range(20):
        shuffled = damaged(shuffle_sentences, text, seed)

        assert shuffled.startswith("Then he waits.")
        assert sorted(shuffled.split()) == sorted(text.split())
    assert damaged(shuffle_sentences, "A cook salts. He waits.") is None
    assert damaged(shuffle_sentences, "Ice floats. Rain falls. Snow lies.") is None


@each("times", [1, 2, 3, 4])
def test_a_degraded_copy_is_harmed_in_so_many_ways(times):
    """Each way leaves its own mark: fewer sentences, another number, a denial, another fact."""
    text = "The sea was calm. The train left on Monday. It had 200 seats. All the many people in it slept until noon."
    for seed in range(30):
        copy = damaged(degrade(times), text, seed)
        marks = ["slept" not in copy, "200" not in copy, " not " in copy, "Monday" not in copy]

        assert sum(marks) == times


def test_a_copy_is_degraded_as_often_as_stated_or_not_at_all():
    """A text that offers fewer ways is left out, and more ways than there are is an error."""
    assert damaged(degrade(2), "Wait for 20 minutes.") is not None
    assert damaged(degrade(3), "Wait for 20 minutes.") is None
    with pytest.raises(ConfigError, match="times=5"):
        degrade(5)


@each("edit", [reverse_relation, state_falsehood, substitute_fact, err_boldly, degrade(1)])
def test_on_a_rubric_an_error_counts_where_a_program_sees_it(edit):
    """Where no criterion can be verified nobody knows which one broke, and the case is left out."""
    text = "It is warmer in June. It takes 20 minutes more."
    kind = Criterion("c1", "Is kind.")
    checked = Criterion("c2", "Is short.", check={"kind": "max_words", "value": 10})

    unknown = damaged(edit, text, criteria=(kind,), met={"a": {"c1": True}})
    kept = damaged(edit, text, criteria=(kind, checked), met={"a": {"c1": True, "c2": True}})

    assert unknown is None
    assert kept is None or verify(checked.check, kept) is False
