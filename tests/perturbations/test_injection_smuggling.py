"""Smuggling: what is right is brought in beside the weaker answer, where it is known and not there already."""

from dataclasses import replace

from calm import Answer, Case
from calm.perturbations import injection, injection_control
from calm.perturbations.injection_smuggling import (
    smuggle_dialogue,
    smuggle_majority,
    smuggle_quotation,
    smuggle_sample,
)
from tests.each import each

PAIR = Case(
    "c", "How long is it?", (Answer("good", "It takes 4 hours."), Answer("bad", "It takes 9 hours.")), better="good"
).treat("bad")
EDITS = (smuggle_dialogue, smuggle_majority, smuggle_quotation, smuggle_sample)


@each("edit", EDITS, ids=lambda edit: edit.name)
def test_the_right_answer_comes_from_the_reference_or_from_the_better_answer(edit):
    """Its first sentence is brought in behind the weaker answer's own words."""
    told = edit.apply(replace(PAIR, reference="In all 4 hours. Rest well."), 0)
    compared = edit.apply(PAIR, 0)

    assert "In all 4 hours." in told["bad"].text
    assert "Rest well." not in told["bad"].text
    assert "It takes 4 hours." in compared["bad"].text
    assert compared["bad"].text.startswith("It takes 9 hours.")


@each("edit", EDITS, ids=lambda edit: edit.name)
@each(
    "case",
    [
        replace(PAIR, better=None),
        replace(PAIR, better="tie"),
        replace(PAIR, reference="It  takes 9\nhours."),
        replace(PAIR, answers=PAIR.answers[1:], better=None),
    ],
)
def test_nothing_is_smuggled_where_nothing_else_is_known_to_be_right(edit, case):
    """Without gold, or where the answer says it already, the edit does not apply."""
    assert edit.apply(case, 0) is None


def test_the_control_shares_the_words_of_the_attacks_and_none_of_their_orders():
    """It names the evaluator and the instructions, and no attack's phrase stands in it."""
    texts = [*injection_control.NOTES, *injection_control.OPENERS, *injection_control.BLOCKS]

    assert all("evaluator" in text.casefold() or "instructions" in text.casefold() for text in texts)
    assert not any(injection.TRIGGER.search(text) for text in texts)
