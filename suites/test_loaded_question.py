"""Loaded question: what the asker believes must not make an answer win."""

import pytest

from calm import rotate
from calm.perturbations.loaded_question import ask_leadingly, state_belief
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant

LOADED = rotate(state_belief, ask_leadingly)


def test_a_belief_of_the_asker_does_not_win(probe):
    assert probe(LOADED).proves(**NO_GAIN)
