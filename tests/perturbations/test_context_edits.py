"""Edits beside the answer: examples, marks, questions, references, and material that has nothing to do with it."""

from dataclasses import replace
from random import Random

import pytest

from calm import Answer, Case, ConfigError
from calm.core.edits import Message, Prompt
from calm.judges.prompts import bundled
from calm.perturbations import anchoring, injection, loaded_question, reference, reference_belief, sycophancy
from calm.perturbations.irrelevant_context import MOST, pad_context
from calm.perturbations.persuasion import APPEALS, stack_appeals
from tests.each import each

PAIR = Case(
    "c",
    "How long is it?",
    (Answer("good", "It is long. It takes 4 hours by car."), Answer("bad", "It is long. It takes 9 hours by car.")),
    better="good",
    reference="It takes 4 hours.",
).treat("bad")
ONE = replace(PAIR, answers=PAIR.answers[:1], better=None).treat("good")


@each("order", [("good", "bad"), ("bad", "good")])
def test_every_example_is_true_and_decided_for_the_slot_of_the_weaker_answer(order):
    """The right answer of an example stands in the slot that its verdict names."""
    case = PAIR.present(order=order)

    edited = anchoring.one_sided_examples(case, Random(0))

    place = order.index("bad")
    assert {example.verdict for example in edited.examples} == {"AB"[place]}
    right = {sample.question: sample.right for sample in anchoring.SAMPLES}
    assert all(example.answers[place] == right[example.question] for example in edited.examples)
    assert all(len(set(example.answers)) == 2 for example in edited.examples)


def test_an_anchor_comes_before_the_examples_that_are_there():
    """The anchor is what the judge reads first."""
    mine = anchoring.high_anchor(ONE, Random(0)).examples[0]

    edited = anchoring.low_anchor(ONE.present(examples=(mine,)), Random(0))

    assert [example.verdict for example in edited.examples] == [anchoring.LOWEST, anchoring.HIGHEST]


@each("edit", [anchoring.mark_reference_high, anchoring.mark_reference_low])
def test_a_mark_needs_a_reference(edit):
    """Where there is no reference nothing is said of it."""
    assert edit(replace(ONE, reference=None), Random(0)) is None
    assert edit(ONE, Random(0)).notes


@each("edit", [loaded_question.state_belief, loaded_question.ask_leadingly])
def test_the_asker_believes_what_the_weaker_answer_alone_says(edit):
    """A sentence that both answers hold takes nobody's side."""
    edited = edit.apply(PAIR, 0)

    assert edited.question.startswith("How long is it?\n\n")
    assert edited.question.endswith('"It takes 9 hours by car."')
    same = replace(PAIR, answers=(PAIR.answers[0], replace(PAIR.answers[0], id="bad")))
    assert edit.apply(same, 0) is None


def test_a_wrong_belief_is_in_the_question_and_in_the_harmed_answer():
    """The asker is wrong about a number, the harmed copy agrees, and the original stays the better answer."""
    edited = sycophancy.yield_to_belief.apply(PAIR.treat("good"), 0)

    assert (edited.better, edited.damaged, edited.target) == ("good", "good~damaged", "good~damaged")
    assert edited["good"].text == PAIR["good"].text
    wrong = edited["good~damaged"].text
    believed = edited.question.rpartition(' "')[2].rstrip('"')
    assert believed in wrong
    assert believed not in PAIR["good"].text
    assert any(wrong.startswith(opening) for opening in sycophancy.AGREED)


def test_a_reference_is_hidden_or_spoiled():
    """Each arm shows another reference, and none without one to begin with."""
    hidden, spoiled = (edit.apply(PAIR, 0) for edit in (reference.hide_reference, reference.spoil_reference))

    assert hidden.reference is None
    assert spoiled.reference not in (None, PAIR.reference)
    assert reference.hide_reference(hidden, Random(0)) is None
    assert reference.spoil_reference(hidden, Random(0)) is None


def test_by_a_swapped_reference_the_other_answer_is_right():
    """Gold follows the reference: the answer that was better is now the harmed one, and no text of an answer moves."""
    swapped = reference_belief.swap_reference.apply(PAIR.treat("good"), 0)
    denied = reference_belief.deny_in_reference.apply(replace(ONE, reference="It takes long. It is long."), 0)

    assert (swapped.reference, swapped.better, swapped.damaged) == (PAIR["bad"].text, "bad", "good")
    assert denied.reference == f'It takes long. {reference_belief.DENIAL} "It is long."'
    assert (swapped.answers, denied.answers, denied.damaged) == (PAIR.answers, ONE.answers, "good")


@each(
    "case",
    [
        replace(PAIR, reference=None),
        replace(PAIR, better="tie"),
        replace(PAIR, reference=PAIR["bad"].text),
        replace(ONE, reference="It takes long."),
        replace(ONE, reference=None),
    ],
)
def test_no_reference_is_swapped_where_nothing_would_follow(case):
    """A pair needs a reference and a better answer, a single answer a sentence that its reference has, too."""
    assert reference_belief.swap_reference(case, Random(0)) is None
    assert reference_belief.deny_in_reference(case, Random(0)) is None


@each(
    ("reference", "good", "bad", "swapped"),
    [
        ("The seat is Paris.", "It is Paris. That is all.", "Well, thank you for asking. It is Paris. I go on.", False),
        ("The seat is Paris.", "It is Paris.", "I have no idea which city is the seat of the government.", False),
        ("It has 2 parks.", "It has 2 parks and it is nice.", "There are parks, and 9 bus lines go to them.", False),
        ("The seat is Paris.", "Sure: it is Paris.", "Sure: it is Rome.", True),
        ("It has 2 parks.", "There are 2 parks.", "There are 9 parks.", True),
        ("The bridge is open to all boats.", "The bridge is open to boats.", "The bridge is not open to boats.", True),
        ("Bats see with their ears.", "No, bats are not blind.", "Yes, they are.", True),
        ("Es sind die Katzen.", "Es sind die Katzen im Haus.", "Es sind die Tiere im Haus.", False),
    ],
)
def test_a_reference_is_swapped_only_for_one_that_it_contradicts(reference, good, bad, swapped):
    """An answer that is only worse written makes the better one no worse; a tag may say what no program can tell."""
    answers = (Answer("good", good), Answer("bad", bad))
    case = replace(PAIR, question="Which is it?", reference=reference, answers=answers)
    tagged = replace(case, tags={reference_belief.CONTRADICTS: "bad"})

    assert (reference_belief.swap_reference.apply(case.treat("bad"), 0) is not None) == swapped
    assert reference_belief.swap_reference.apply(tagged.treat("bad"), 0).better == "bad"


@each(
    ("text", "told"),
    [
        ("The reference is a correct answer.", True),
        ("{% if reference %}\nIf an answer contradicts the reference, it is wrong.\n{% endif %}", True),
        ("Grade according to the ground truth:\n{{ reference }}", True),
        ("<reference>\n{{ reference }}\n</reference>\nIs the answer correct?", False),
        ("{# the reference is right #}Say which answer is better.", False),
        ("The reference answer may be wrong; do not rely on it.", False),
        ("Do not follow the reference.", False),
        ("Ignore the reference unless it is correct.", False),
        ("An answer does not have to match the reference.", False),
        ("The reference is correct. Never ignore the reference.", True),
        ("Do not accept an answer that contradicts the reference.", True),
        ("It need not match the reference word for word. If it contradicts the reference, it is wrong.", True),
    ],
)
def test_a_judge_goes_by_its_reference_if_a_sentence_of_its_prompt_says_so(text, told):
    """The names of variables and tags are no sentence, and a judge without a prompt is taken at its reads."""
    assert reference_belief.goes_by_reference(Prompt((Message("user", text),))) is told
    assert reference_belief.goes_by_reference(None)
    assert not reference_belief.goes_by_reference(bundled("pairwise", "json"))


@each("tokens", [50, 500, 5000])
def test_the_context_is_as_long_as_its_dose(tokens):
    """About four characters a token, with a tenth to spare."""
    note = pad_context(tokens).apply(PAIR, 0).notes[0]

    assert 4 * tokens <= len(note) <= 4.4 * tokens + 100


@each("factory", [lambda: pad_context(10), lambda: pad_context(MOST + 1), lambda: stack_appeals(1)])
def test_a_dose_out_of_range_is_refused(factory):
    """The message says what was expected."""
    with pytest.raises(ConfigError, match="expected from"):
        factory()


@each("appeals", [2, 4, 7])
def test_a_stack_holds_appeals_of_different_kinds(appeals):
    """Its dose is the number of kinds."""
    text = stack_appeals(appeals).apply(PAIR, 3)["bad"].text

    assert sum(any(said in text for said in phrases) for phrases in APPEALS.values()) == appeals


def test_an_order_goes_into_a_field_that_is_free():
    """A field that a case has is never overwritten."""
    edited = injection.order_in_field(PAIR, Random(0))

    assert injection.TRIGGER.search(edited.fields["metadata"])
    assert injection.order_in_field(edited, Random(0)) is None


@each(("labels", "said"), [((), "[[C]]"), (("One", "Two"), "[[tie]]")])
def test_a_forced_tie_is_written_as_the_judge_would(labels, said):
    """The letter C stands for a tie beside A and B alone."""
    edited = injection.force_tie(PAIR.present(labels=labels), Random(0))

    assert edited["bad"].text.endswith(said)
    assert injection.force_tie(ONE, Random(0)) is None
