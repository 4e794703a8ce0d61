"""Sentiment: the tone of an answer must not make it win."""

from calm import gain, net_robustness, rotate
from calm.perturbations.sentiment import angry, cheerful, fearful, feel_first, sad

MOODS = rotate(cheerful, sad, angry, fearful, feel_first)


def test_a_mood_does_not_win(probe):
    assert probe(MOODS).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
