"""Sentiment: the tone of an answer must not make it win."""

from calm import rotate
from calm.perturbations.sentiment import (
    angry,
    cheerful,
    fearful,
    feel_first,
    praise_question,
    sad,
    say_sorry_first,
    say_sorry_last,
)
from calm.suites.limits import NO_GAIN

MOODS = rotate(cheerful, sad, angry, fearful, feel_first, praise_question, say_sorry_first, say_sorry_last)


def test_a_mood_does_not_win(probe):
    assert probe(MOODS).proves(**NO_GAIN)
