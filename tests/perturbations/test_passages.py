"""What may be changed in place, and what is left alone: code, formulas, addresses and the final answer."""

import re

from calm import Answer, Case
from calm.perturbations.prose import (
    asides,
    body,
    final,
    lexicon,
    on_stronger,
    replaced,
)
from tests.each import each

WORD = re.compile(r"[a-z]+")


def case_of(*texts, better=None):
    """Return a case whose answers a, b, ... have these texts, with the last one treated."""
    answers = tuple(Answer(i, text) for i, text in zip("abc", texts, strict=False))
    return Case(id="c", question="Why?", answers=answers, better=better).treat(answers[-1].id)


@each(
    ("text", "last"),
    [
        ("It rains. It snows.", "It snows."),
        ("It rains.\n\nSo x = 3", "So x = 3"),
        ("It rains.\n- red\n- green\n", "- green\n"),
        ("It rains", "It rains"),
        ("", ""),
    ],
)
def test_the_final_answer_is_the_last_sentence_or_line(text, last):
    """A line that is no complete sentence counts as a whole."""
    assert text[final(text) :] == last


def test_the_body_is_prose_without_its_last_sentence():
    """Code, addresses, tags, formulas and prices are blank, and every offset stays."""
    text = (
        "say <b>it</b> now, see https://a.example/b\nuse `f` here\npay $5 for it\n\n"
        "```\nx = y\n```\n\nend it here. bye now."
    )

    free = body(text)

    assert len(free) == len(text)
    assert WORD.findall(free) == ["say", "it", "now", "see", "use", "here", "end", "it", "here"]
    assert not body("one.\n$$\nx\n$$\ntwo. three.").strip()


def test_a_word_is_replaced_in_its_letter_case_and_as_a_whole():
    """A capital stays one, and neither parts of words nor compounds are touched."""
    pattern, change = lexicon({"big": "large", "big deal": "matter"})

    edited = replaced("Big dogs are big, bigger, too-big; a big deal. Bye.", pattern, change)

    assert edited == "Large dogs are large, bigger, too-big; a matter. Bye."


def test_an_aside_goes_into_each_statement_but_the_last():
    """Questions and sentences that end in a number are left alone."""
    edited = asides(case_of("It rains. Does it? It is 5. It snows. It ends."), ", I say")

    assert edited["a"].text == "It rains, I say. Does it? It is 5. It snows, I say. It ends."
    assert asides(case_of("It ends."), ", I say") is None


def test_the_stronger_answer_is_the_better_or_the_only_one():
    """Where nothing says which answer is better, there is none."""
    assert on_stronger(case_of("x")).target == "a"
    assert on_stronger(case_of("x", "y", better="a")).target == "a"
    assert on_stronger(case_of("x", "y", better="tie")) is None
    assert on_stronger(case_of("x", "y", "z")) is None
