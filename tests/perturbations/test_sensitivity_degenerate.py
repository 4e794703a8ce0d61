"""Known values of the edits that leave no answer in an answer's place."""

from random import Random

import pytest

from calm import Answer, Case, ConfigError, Criterion
from calm.perturbations.sensitivity_degenerate import (
    BOILERPLATE,
    BUZZ,
    CONTINUATIONS,
    NESTED,
    REFUSALS,
    TEMPLATES,
    follow_nested,
    null_template,
    off_topic,
    stuff_keywords,
    truncate,
)
from tests.each import each


def case_of(text, question="Why does it rain?", **fields):
    """Return a case whose only answer has this text."""
    return Case(id="c", question=question, answers=(Answer("a", text),), **fields).present(order=("a",)).treat("a")


def left(edit, text, seed=0, **fields):
    """Return what an edit leaves of a case's only answer, or None."""
    edited = edit(case_of(text, **fields), Random(seed))
    return None if edited is None else edited["a"].text


@each(
    ("text", "cut"),
    [
        ("The first point. The second point.", "The first point."),
        ("one two three four five six", "one two three"),
        ("Too short.", None),
    ],
)
def test_an_answer_breaks_off(text, cut):
    """What is left is the first sentence, or half of a single one."""
    assert left(truncate, text) == cut


def test_a_null_template_is_the_same_for_every_question():
    """What is put in the answer's place depends on the draw alone."""
    one, other = (left(null_template, "Rain.", 3, question=question) for question in ("Why?", "How many?"))

    assert one == other
    assert {left(null_template, "Rain.", seed) for seed in range(40)} == set(TEMPLATES)


def test_keywords_come_from_the_question_and_the_criteria():
    """Each word stands once, behind a buzzword; a question of one such word has too few."""
    said = left(stuff_keywords, "Rain.", question="Does rain fall?", criteria=(Criterion("c1", "It is short."),))
    pairs = [pair.split() for pair in said.rstrip(".").split(", ")]

    assert sorted(word for _, word in pairs) == ["does", "fall", "rain", "short"]
    assert {buzz for buzz, _ in pairs} <= set(BUZZ)
    assert left(stuff_keywords, "Rain.", question="Why snow?") is None


def test_an_instruction_beside_the_question_is_followed():
    """The question ends in an instruction that is no part of it, and the answer is what that asks for."""
    edited = follow_nested(case_of("Because of clouds."), Random(1))
    instruction = next(i for i, reply in NESTED if reply == edited["a"].text)

    assert edited.question.startswith("Why does it rain?\n\n(")
    assert instruction in edited.question
    assert edited.damaged == "a"


CASES = [
    Case("n1", "Why does it rain?", (Answer("x", "Clouds cool down and rain falls."),)),
    Case("n2", "Why does it rain here?", (Answer("x", "Clouds come from the sea here."),)),
    Case("n3", "How is soup made?", (Answer("x", "Boil leek in salted water."),)),
    Case("n4", "Who knows?", (Answer("x", "No."),)),
]


def test_an_answer_comes_from_a_question_with_few_words_in_common():
    """It is never of the same question, nor too short to be anybody's answer, and the file's order plays no part."""
    for seed in range(20):
        text = left(off_topic(CASES), "Rain falls.", seed)

        assert text == "Boil leek in salted water."
        assert text == left(off_topic(CASES[::-1]), "Rain falls.", seed)


@each("cases", [[], CASES[:1], [CASES[0], CASES[3]], "cases"])
def test_too_few_other_answers_are_an_error(cases):
    """Without answers to two questions there may be none to another question."""
    with pytest.raises(ConfigError, match="off_topic"):
        off_topic(cases)


def test_texts_in_place_of_an_answer_hold_no_digit_and_no_slot():
    """They fit beside any question, and name no answer."""
    said = (*BOILERPLATE, *REFUSALS, *CONTINUATIONS, *TEMPLATES)

    assert not any(character.isdigit() for text in said for character in text)
    assert not any("[[" in text for text in said)
