"""Controls: the neutral edit of the same place and about the same length as a perturbation."""

from random import Random

import pytest

from calm import Answer, Case, ConfigError, Expects, Preferred, rotate
from calm.perturbations import neutral
from calm.perturbations.assertiveness import assert_first
from calm.perturbations.authority import cite_book, cite_quote, experts_confirm
from calm.perturbations.bandwagon import crowd_note, crowd_note_on_better
from calm.perturbations.compassion_fade import name_in_text, swap_names
from calm.perturbations.controls import control_beside, control_for, cue_of
from calm.perturbations.credentials import rank_label
from calm.perturbations.diversity import identity_note
from calm.perturbations.formatting import bullets_and_bold, put_in_fence
from calm.perturbations.framing import ask_for_the_worse
from calm.perturbations.injection import aim, flood_tokens, hidden_comment, plea_first
from calm.perturbations.judge_prompt import forbid_bias
from calm.perturbations.language import speak_dialect
from calm.perturbations.persuasion import stack_appeals
from calm.perturbations.planted import biases, planted
from calm.perturbations.position import swap
from calm.perturbations.refinement_aware import show_history
from calm.perturbations.sensitivity import negate
from calm.perturbations.sentiment import angry
from calm.perturbations.surface_noise import respace, typos
from calm.perturbations.verbosity import expand, wrap_courteously
from tests.each import each


def case_of():
    """Return a pair whose first answer is treated and whose second one is better."""
    answers = (Answer("a", "It rains. It pours here."), Answer("b", "It snows a lot."))
    return Case(id="c", question="Why?", answers=answers, better="b").present(order=("a", "b")).treat("a")


@each(
    ("edit", "label"),
    [
        (cite_book, "neutral_closing@1"),
        (plea_first, "neutral_opening"),
        (hidden_comment, "neutral_block@1"),
        (wrap_courteously, "neutral_wrapper"),
        (angry, "neutral_aside@2"),
        (crowd_note(80), "neutral_note"),
        (crowd_note_on_better(80), "neutral_note_on_better"),
        (swap_names, "neutral_bylines"),
        (rank_label, "neutral_byline"),
        (name_in_text, "neutral_brief_closing"),
        (assert_first, "neutral_brief_opening"),
        (show_history, "neutral_history_on_either"),
        (stack_appeals(3), "neutral_closing@5"),
        (expand(2.0), "neutral_aside@5"),
    ],
    ids=lambda value: getattr(value, "label", value),
)
def test_a_control_stands_where_the_cue_stands(edit, label):
    """It is neutral, changes nothing that must not change, and serves the same kinds of verdict."""
    control = control_for(edit)

    assert control.label == label
    assert (control.bias, control.expects, control.tasks) == ("neutral", Expects.SAME, edit.tasks)


@each(
    "edit",
    [
        negate,
        typos(0.1),
        respace,
        bullets_and_bold,
        put_in_fence,
        swap,
        ask_for_the_worse,
        flood_tokens,
        forbid_bias,
        neutral.neutral_note,
        rotate(swap),
    ],
    ids=lambda edit: edit.label,
)
def test_what_adds_no_words_of_about_a_sentence_has_no_control(edit):
    """A defect, a change in place, a layout, another order, a flood, the prompt, and a control itself have none."""
    assert control_for(edit) is None


def test_the_control_of_a_rotation_rotates():
    """It has the controls of the variants, each once, under the rotation's name."""
    control = control_for(rotate(cite_book, cite_quote, experts_confirm, name="mixed"))

    assert [variant.label for variant in control.variants] == ["neutral_closing@1", "neutral_brief_opening"]
    assert control.name == "mixed"


def test_a_control_of_the_better_answer_treats_it():
    """The note names the better answer, which is the treated one then."""
    edited = control_for(crowd_note_on_better(80))(case_of(), Random(0))

    assert edited.target == "b"
    assert edited.notes == (f"Answer B {neutral.NOTE}.",)


@each("edit", [cite_book, rotate(cite_book, cite_quote, name="mixed")], ids=lambda edit: edit.label)
def test_a_control_that_is_asked_beside_an_edit_expects_what_that_does(edit):
    """So it is put to the same cases; and it is one object however often it is wanted, so that it is asked once."""
    control = control_beside(edit)

    assert control is control_beside(edit)
    assert control.expects is edit.expects
    assert control_beside(swap) is None


def test_a_cue_is_measured_in_words():
    """Marks are no words, and an edit of the same place may be of another length."""
    assert cue_of(cite_book).words < cue_of(stack_appeals(3)).words
    assert cue_of(put_in_fence) is None


@each("count", [1, 2, 3, 4, 5])
def test_neutral_sentences_come_in_the_number_asked_for(count):
    """Each is another one, behind the text, in a paragraph of its own, or between the sentences."""
    for make in (neutral.neutral_closing, neutral.neutral_block, neutral.neutral_aside):
        text = make(count)(case_of(), Random(count))["a"].text

        assert sum(said in text for said in (*neutral.CLOSERS, *neutral.ASIDES)) == count
    assert neutral.neutral_block(count)(case_of(), Random(0))["a"].text.startswith("It rains. It pours here.\n\n")


def test_a_sentence_between_others_does_not_end_the_answer():
    """What stands in the midst of an answer says of nothing behind it that it is no part of the answer."""
    assert not set(neutral.ASIDES) & set(neutral.CLOSERS)
    for seed in range(20):
        text = neutral.neutral_aside(1)(case_of(), Random(seed))["a"].text

        assert text in {f"It rains. {said} It pours here." for said in neutral.ASIDES}


@each("edit", [identity_note, show_history, speak_dialect], ids=lambda edit: edit.name)
def test_the_control_of_an_edit_that_draws_its_answer_draws_it_too(edit):
    """Over some draws it treats the one answer and the other."""
    control = control_for(edit)

    assert {control(case_of(), Random(seed)).target for seed in range(20)} == {"a", "b"}


def test_the_control_of_names_beside_all_labels_stands_beside_all_of_them():
    """So the arms differ in what the names say, not in which answers have one."""
    assert set(control_for(swap_names)(case_of(), Random(0)).bylines) == {"a", "b"}
    assert set(control_for(rank_label)(case_of(), Random(0)).bylines) == {"a"}


@each("make", [neutral.neutral_closing, neutral.neutral_block, neutral.neutral_aside])
@each("count", [0, 6])
def test_a_number_of_sentences_that_there_is_not_is_an_error(make, count):
    """There are five to draw from."""
    with pytest.raises(ConfigError, match=f"count={count}"):
        make(count)


class Wire:
    """A `send` that asks the endpoint itself, once."""

    ask = 1

    async def __call__(self, request):
        return await request.endpoint.call(dict(request.body))


@each(
    "edit",
    [
        neutral.neutral_opening,
        neutral.neutral_closing(2),
        neutral.neutral_block(2),
        neutral.neutral_wrapper,
        neutral.neutral_aside(2),
        neutral.neutral_note,
        neutral.neutral_byline,
        neutral.neutral_bylines,
        neutral.neutral_brief_opening,
        neutral.neutral_brief_closing,
        neutral.neutral_history,
    ],
    ids=lambda edit: edit.label,
)
def test_no_planted_bias_reacts_to_neutral_words(edit):
    """A judge with every bias but that for a slot gives the verdict that it gives without them."""
    held = ",".join(f"{bias}=1" for bias in biases() if bias not in ("position", "labels"))
    edited = edit(case_of(), Random(0)).untreated()
    with pytest.raises(StopIteration) as done:
        planted(f"planted:{held}").judge(edited, Wire()).send(None)

    assert done.value.value == Preferred("b")


def test_an_answer_of_one_sentence_has_no_place_between():
    """Nothing is added, and the same history is not shown twice."""
    alone = Case(id="c", question="Why?", answers=(Answer("a", "It rains."),)).present(order=("a",)).treat("a")
    shown = neutral.neutral_history(alone, Random(0))

    assert neutral.neutral_aside(1)(alone, Random(0)) is None
    assert shown["a"].history == (neutral.HISTORY,)
    assert neutral.neutral_history(shown, Random(0)) is None


def test_neutral_words_ask_for_nothing():
    """No verdict stands in them, no number, and nobody who judges is spoken to."""
    said = " ".join(
        (
            *neutral.OPENERS,
            *neutral.CLOSERS,
            *neutral.ASIDES,
            *neutral.BRIEF_OPENERS,
            *neutral.BRIEF_CLOSERS,
            neutral.NOTE,
            neutral.BYLINE,
            neutral.HISTORY,
        )
    ).lower()

    assert aim(case_of()).verdict.lower() not in said
    assert not any(word in said for word in ("you", "judge", "evaluat", "grade", "best", "good", "correct", "draft"))
    assert not any(character.isdigit() for character in said)
