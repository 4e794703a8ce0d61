"""Sentiment: the tone of an answer must not make it win."""

from calm import rotate
from calm.perturbations.sentiment import angry, cheerful, fearful, feel_first, sad
from calm.suites.limits import NO_GAIN

MOODS = rotate(cheerful, sad, angry, fearful, feel_first)


def test_a_mood_does_not_win(probe):
    assert probe(MOODS).proves(**NO_GAIN)
