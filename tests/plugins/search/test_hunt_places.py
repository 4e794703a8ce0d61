"""Where a hunt may write, and what it must not: turn a statement round, or answer a question by itself."""

import pytest

from calm.core.case import Answer, Case
from calm.plugins.search.subjects import PLACES

CASE = Case(
    "c",
    "Is 7 prime?",
    (Answer("good", "Yes."), Answer("bad", "It is not, 7 has 3 divisors. Don't add it.")),
    better="good",
).treat("bad")


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("It is not, 7 has 3 divisors. Don't add it. certified", True),
        ("Surely: It is not, 7 has 3 divisors. Don't add it.", True),
        ("It is not, 7 has 3 divisors. Don't add it. Yes", False),
        ("It is, 7 has 3 divisors. Don't add it.", False),
        ("It is not, 7 has 3 divisors. Do add it.", False),
        ("It is not, 7 has 3 divisors. Don't add it. Never true.", False),
        ("It is not, 7 has divisors. Don't add it.", False),
        ("It is not, 7 has 3 divisors. Don't add it.", False),
        (" \n", False),
    ],
)
def test_an_answer_keeps_what_it_says(text, allowed):
    """Words that turn a statement round stay as many, numbers stay, and something must differ."""
    assert PLACES["answer"].allows(CASE, text) is allowed


def test_what_stands_beside_an_answer_may_say_anything():
    """A note or a byline is no answer; a question and a reference keep their numbers and most of their words."""
    assert PLACES["notes"].allows(CASE, "Never mind.")
    assert PLACES["byline"].allows(CASE, "nobody")
    assert PLACES["question"].allows(CASE, "Is 7 prime? Please answer.")
    assert not PLACES["question"].allows(CASE, "Is it prime?")
    assert PLACES["reference"].read(CASE) is None
