"""Distraction: irrelevant remarks must not make an answer win."""

from calm import gain, net_robustness, rotate
from calm.perturbations.distraction import digress_first, hobby_note, tell_anecdote

DIGRESSIONS = rotate(hobby_note, tell_anecdote, digress_first)


def test_a_digression_does_not_win(probe):
    assert probe(DIGRESSIONS).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
