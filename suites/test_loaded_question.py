"""Loaded question: what the asker believes must not make an answer win."""

import pytest

from calm import gain, net_robustness, rotate
from calm.perturbations.loaded_question import ask_leadingly, state_belief

pytestmark = pytest.mark.calm_every_variant

LOADED = rotate(state_belief, ask_leadingly)


def test_a_belief_of_the_asker_does_not_win(probe):
    assert probe(LOADED).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
