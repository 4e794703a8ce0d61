"""Distraction: irrelevant remarks must not make an answer win."""

from calm import rotate
from calm.perturbations.distraction import digress_first, hobby_note, tell_anecdote
from calm.suites.limits import NO_GAIN

DIGRESSIONS = rotate(hobby_note, tell_anecdote, digress_first)


def test_a_digression_does_not_win(probe):
    assert probe(DIGRESSIONS).proves(**NO_GAIN)
