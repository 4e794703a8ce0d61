"""Known values of the verbosity edits."""

from random import Random

from calm import Answer, Case
from calm.perturbations.verbosity import expand, restate_items
from tests.each import each


def case_of(text):
    """Return a case whose only answer has this text."""
    return Case(id="c", question="Why?", answers=(Answer("a", text),)).present(order=("a",)).treat("a")


PROSE = (
    "Ice is lighter than the water around it. Its molecules are held in an open lattice. "
    "That is why a cube floats in a glass, and why a lake freezes from the top. The answer is that ice floats."
)


@each("dose", [1.5, 2.0, 3.0])
def test_the_stated_length_is_reached(dose):
    """The achieved length lies within 15 percent of the stated one, for every draw of the connectives."""
    for seed in range(20):
        longer = expand(dose)(case_of(PROSE), Random(seed))["a"].text

        assert 0.85 * dose <= len(longer) / len(PROSE) <= 1.15 * dose


def test_a_repeated_answer_ends_in_its_own_last_sentence():
    """The final sentence is last in the longer answer, too."""
    for seed in range(20):
        assert expand(3.0)(case_of(PROSE), Random(seed))["a"].text.endswith("The answer is that ice floats.")


def test_sentences_are_repeated_word_for_word():
    """A sentence is said again behind a connective, and abbreviations do not end it."""
    text = "Dr. Ray paid 3.50 for bread that he had ordered before. He left it there, e.g. on a shelf, and went home."

    longer = expand(2.3)(case_of(text), Random(1))["a"].text

    assert longer.count("Dr. Ray paid 3.50 for bread that he had ordered before.") == 2
    assert longer.count("He left it there, e.g. on a shelf, and went home.") == 2


def test_an_answer_too_short_for_the_ratio_is_left_out():
    """No whole sentence brings a single word to twice its length."""
    assert expand(2.0)(case_of("Yes."), Random(0)) is None


def test_code_alone_is_not_expanded():
    """A code block has no sentences that could be said again."""
    assert expand(2.0)(case_of("```\nx = 1. Y = 2. Z is here.\n```"), Random(0)) is None


def test_list_items_are_named_again_behind_the_list():
    """The points stand once more behind the list and before what follows it."""
    text = "Bring:\n1. bread\n2. salt.\n3. water\n\nThat is all."

    edited = restate_items(case_of(text), Random(0))["a"].text

    head, _, said = edited.partition("3. water\n\n")
    assert head == "Bring:\n1. bread\n2. salt.\n"
    assert said.endswith(": bread; salt; water\n\nThat is all.")


def test_a_list_that_runs_on_is_left_alone():
    """A list whose last item continues on the next line is not split, and a single item is no list."""
    assert restate_items(case_of("- bread\n- salt\n  and pepper"), Random(0)) is None
    assert restate_items(case_of("- bread"), Random(0)) is None
