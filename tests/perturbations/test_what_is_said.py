"""What edits say: sentences that are about something, results that stay, and a clear word where an edit goes wrong."""

from random import Random

import pytest

from calm import Answer, Case, ConfigError, EditError, Expects, perturbation, prompt_edit
from calm.cases import bundled as bundled_cases
from calm.gate.catalogue import find_edit
from calm.judges.prompts import bundled
from calm.perturbations import bandwagon, frames, hindsight
from calm.perturbations.fallacy_oversight import STEPS, fallacy
from calm.perturbations.injection_smuggling import smuggle_sample
from calm.perturbations.loaded_question import telling_words
from calm.perturbations.pushback import argue_for_weaker
from tests.each import each
from tests.planted import case_of

OPENING = "Here is all that is to be told."


def pair(weaker, better, reference=None):
    """Return a pair about bees whose weaker answer is treated."""
    answers = (Answer("a", weaker), Answer("b", better))
    known = {"better": "b", "reference": reference, "order": ("a", "b"), "target": "a"}
    return case_of(id="c", question="What do bees make of nectar?", answers=answers, **known)


@each(
    ("text", "said"),
    [
        (f"{OPENING} Bees make honey.", "Bees make honey."),
        (OPENING, OPENING),
        ("no sentence", "no sentence"),
        ("", ""),
        ("\ud800 half", "\ud800 half"),
    ],
)
def test_a_sentence_about_the_question_is_told(text, said):
    """An opening that says nothing is passed over, unless there is nothing else."""
    assert telling_words(text, "What do bees make?") == said


def test_a_sentence_that_the_other_text_has_is_passed_over():
    """What is smuggled into an answer is new to it."""
    case = pair("Bees make wax.", "Bees make honey.", f"{OPENING} Bees make wax. Bees make honey as well.")

    assert smuggle_sample(case, Random(0))["a"].text.endswith(" Bees make honey as well.")


def test_the_argument_quotes_what_is_about_the_question():
    """The first sentence that shares a word with the question stands for the answer."""
    turn = argue_for_weaker(pair(f"{OPENING} Bees make wool.", "Bees make honey."), Random(0)).follow_ups[0]

    assert turn.startswith('It says "Bees make wool."')


def test_a_broken_step_leaves_the_first_and_the_last_sentence():
    """One of the two is the result; the reason between them gives way."""
    text = "It is honey, because bees make it. They do so since they eat it. So honey is the answer."
    case = pair("Wool.", text)
    for seed in range(10):
        harmed = fallacy(case.treat("b"), Random(seed))
        broken = harmed[harmed.damaged].text

        assert broken in {f"It is honey, because bees make it. {step} So honey is the answer." for step in STEPS}


@each(
    ("edit", "said"),
    [
        (frames.cast_doubt, {f"Answer B {words}." for words in frames.NEGATIVE}),
        (bandwagon.crowd_note(80), {"80% of people believe that answer A is better."}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_note_is_a_sentence(edit, said):
    """It names the answer as its subject or object."""
    assert {edit(pair("Wool.", "Honey."), Random(seed)).notes[0] for seed in range(20)} == said


def test_the_end_is_that_of_whoever_got_the_answer():
    """The note is about a person, not about the text."""
    alone = Case("c", "Why?", (Answer("a", "Rain."),)).treat("a")

    assert hindsight.ended_well(alone, Random(0)).notes == (
        "As it turned out later, all ended well for the person who was given this answer.",
    )


def test_an_edit_that_returns_something_else_is_told_so():
    """The message names the edit, what came, and what to return."""

    @perturbation(bias="own", expects=Expects.SAME)
    def shout(case, rng):
        return case[case.target].text.upper()

    @prompt_edit(bias="own", expects=Expects.SAME)
    def whisper(prompt, rng):
        return prompt.messages

    case = pair("Wool.", "Honey.")
    with pytest.raises(
        EditError, match=r"shout: expected a treated case or None, got str; return a changed copy, as case\.edit"
    ):
        shout.apply(case, 0)
    with pytest.raises(EditError, match="whisper: expected a prompt or None, got tuple"):
        whisper.apply(bundled("pairwise", "json"), case, 0)


@each(
    ("name", "said"),
    [
        ("authority", "the name of a bias: `calm perturb --list --bias authority`"),
        ("code_style", "the name of a bias: `calm perturb --list --bias code-style`"),
        ("typos@2", "above 0 and up to 0.5, got share=2.0"),
        ("crowd_note@9", "from 10 to 99, got percent=9"),
        ("expand@x", "expected expand@DOSE with a fitting dose, got 'x'"),
    ],
)
def test_a_name_that_is_none_is_answered_with_what_was_meant(name, said):
    """A bias is no perturbation, and an argument out of range is told its range."""
    with pytest.raises(ConfigError) as told:
        find_edit(name)

    assert said in str(told.value)


def test_edits_that_take_more_than_a_number_are_shown_with_something_real():
    """Off-topic answers come from the bundled cases; a paraphrase is one of the bundled prompt."""
    texts = {answer.text for case in bundled_cases("pairwise") for answer in case.answers}
    edited = find_edit("off_topic")(pair("Wool.", "Honey."), Random(0))
    prompt = bundled("pairwise", "json")

    assert edited[edited.damaged].text in texts
    assert find_edit("paraphrase")(prompt, Random(0)) not in (None, prompt)
