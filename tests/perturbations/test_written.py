"""Edits that need a writer: the ready-made text where it passes, the rule where there is none, and a writer's own."""

from random import Random

import pytest

from calm import Answer, Case, Expects
from calm.core.ready_made import text_kind
from calm.errors import ConfigError
from calm.perturbations import written as module
from calm.perturbations.written import (
    ASKED_AS,
    KINDS,
    break_reasoning,
    kind_of,
    lengthen,
    lengthened,
    names_of,
    neutral_rewrite,
    paraphrase,
    plant_error,
    polish,
    polished,
    polished_from_draft,
    restyle,
    translate,
    written,
)
from tests.each import each

TEXT = "You don't need to wait, but it takes about 20 minutes to cook. It is usually done because of the heat."
PLAIN = "Cook it for 20 minutes."
LONGER = (
    "You don't need to wait, that is to say you need not wait, but it takes about 20 minutes to cook, so it cooks for "
    "20 minutes or about that. It is usually done because of the heat, and the heat is the cause of it being done."
)
NAMES = [*KINDS, "translate_de"]


def case_of(text=TEXT, target="bad", **variants):
    """Return a pair of which one answer is treated, with ready-made texts for it."""
    answers = (Answer("good", text if target == "good" else PLAIN), Answer("bad", text if target == "bad" else PLAIN))
    ready = {name: {target: value} for name, value in variants.items()}
    return Case("c1", "How long?", answers, better="good", variants=ready).present(order=("good", "bad")).treat(target)


def treated(name):
    """Return a case in which the answer is treated that the edit aims at."""
    return case_of(target="good" if kind_of(name).expects is Expects.WORSE else "bad")


def scripted(*replies):
    """Return a writer that gives these replies in turn and remembers what it was told."""
    left, told = list(replies), []

    def write(instruction, text):
        told.append((instruction, text))
        return left.pop(0)

    write.told = told
    return write


@each("name", NAMES)
def test_every_kind_has_a_rule_that_works_without_a_writer(name):
    """The rule changes the treated answer, is pure, and says what it is."""
    case, edit = treated(name), written(name)

    first, again = edit.apply(case, 0), edit.apply(case, 0)

    assert first == again
    assert first[first.target].text != case[case.target].text
    assert (edit.name, edit.bias, edit.expects) == (name, kind_of(name).bias, kind_of(name).expects)
    assert edit.summary.endswith(".")
    assert text_kind(name) is not None


@each("name", NAMES)
def test_without_its_rule_an_edit_applies_to_cases_with_a_text_only(name):
    """So that a rotation can hold the ready-made texts beside the rules."""
    assert written(name, rule=False).apply(treated(name), 0) is None


def test_a_ready_made_text_goes_before_the_rule():
    """What somebody wrote is used as it is, whatever it changed; where it is the original, the rule stands in."""
    good, bad = case_of(lengthen=LONGER.replace("20", "30")), case_of(lengthen=TEXT)

    assert lengthened.apply(good, 0)["bad"].text == LONGER.replace("20", "30")
    assert lengthened.apply(bad, 0)["bad"].text == lengthened.apply(case_of(), 0)["bad"].text
    assert written("lengthen", rule=False).apply(bad, 0) is None


def test_a_planted_error_harms_the_better_answer():
    """The original stands against its copy with the error, and the gold says so."""
    wrong = TEXT.replace("20", "50")

    edited = written("plant_error").apply(case_of(target="good", plant_error=wrong), 0)

    assert (edited.better, edited.damaged) == ("good", "good~damaged")
    assert (edited["good"].text, edited["good~damaged"].text) == (TEXT, wrong)


def test_rules_of_wording_leave_code_numbers_and_formulas_alone():
    """Words in code stay, and a text with formulas is not touched at all."""
    code = "It is big:\n\n```\nbig = 20\n```\n\nThis `big` one is the end of it."
    formula = "It is big, as $big = 20$ says."

    assert polished.apply(case_of(code), 0)["bad"].text == code.replace("It is big", "It is large")
    assert polished.apply(case_of(formula), 0) is None


def test_a_polished_answer_is_shown_with_its_draft():
    """Against `polished` the only difference is the history."""
    case = case_of()

    edited, control = polished_from_draft.apply(case, 0), polished.apply(case, 0)

    assert edited == control.drafted("bad", TEXT)


FACTORIES = {
    "lengthen": lengthen,
    "cheerful": lambda writer: restyle(writer, "cheerful"),
    "fallacy": break_reasoning,
    "polish": polish,
    "paraphrase": paraphrase,
    "translate_fr": lambda writer: translate(writer, "fr"),
    "plant_error": plant_error,
    "neutral": neutral_rewrite,
}
FRENCH = "Il ne faut pas attendre, mais la cuisson dure environ 20 minutes. Cela se fait par la chaleur."
REPLIES = {
    "lengthen": LONGER,
    "cheerful": f"What a joy! {TEXT}",
    "fallacy": TEXT.replace("because of the heat", "as it has ever been done"),
    "polish": TEXT.replace("don't", "do not"),
    "paraphrase": "Waiting isn't needed, yet cooking lasts about 20 minutes. As a rule the heat does it.",
    "translate_fr": FRENCH,
    "plant_error": TEXT.replace("20", "50"),
    "neutral": TEXT.replace("usually", "mostly"),
}


@each("name", list(FACTORIES))
def test_a_writer_is_told_what_to_do_and_its_text_is_used(name):
    """It gets an instruction and the text, is asked once for a text, and the edit is that of the ready-made kind."""
    writer, case = scripted(REPLIES[name]), treated(name)
    edit = FACTORIES[name](writer)

    first, again = edit(case, Random(1)), edit(case, Random(2))

    assert first == again
    assert first[first.target].text == REPLIES[name]
    assert [text for _, text in writer.told] == [TEXT]
    assert "the answer" in writer.told[0][0]
    assert "{{" not in writer.told[0][0]
    assert (edit.name, edit.bias, edit.expects) == (name, kind_of(name).bias, kind_of(name).expects)


@each("reply", ["", TEXT, "I'm sorry, but I can't help with that.", LONGER.replace("20", "21")])
def test_a_writer_whose_text_fails_is_not_used(reply):
    """Nothing, the same, a refusal, another number: the edit does not apply, and no rule hides it."""
    assert lengthen(scripted(reply))(case_of(), Random(1)) is None


def test_a_text_that_is_ready_is_not_asked_for():
    """A case that was rewritten beforehand costs nothing."""
    writer = scripted()

    assert lengthen(writer)(case_of(lengthen=LONGER), Random(1))["bad"].text == LONGER
    assert writer.told == []


def test_the_words_of_the_command_line_name_kinds():
    """Each word names edits that are there; others are refused with the nearest."""
    named = {name for asked in ASKED_AS for name in names_of(asked)}

    assert named == set(KINDS)
    assert names_of("translate:de") == ("translate_de",)
    with pytest.raises(ConfigError, match="did you mean 'verbosity'"):
        names_of("verbostiy")
    with pytest.raises(ConfigError, match="unknown language 'xx'"):
        names_of("translate:xx")
    with pytest.raises(ConfigError, match="unknown tone"):
        restyle(scripted(), "bored")


def test_no_edit_of_another_module_is_listed_here():
    """The catalogue lists what a module holds: only the edits of this one."""
    held = {value.name for value in vars(module).values() if isinstance(value, module.edits.Edit)}

    assert held == {"lengthen", "polish", "paraphrase", "plant_error", "neutral", "polished_from_draft"}
