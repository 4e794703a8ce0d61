"""Visible reasoning: steps and second looks that add nothing must not make an answer win."""

import pytest

from calm import gain, net_robustness, rotate
from calm.perturbations.visible_reasoning import break_down, double_check, looked_twice, name_steps

pytestmark = pytest.mark.calm_every_variant

SHOWN = rotate(name_steps, break_down, double_check, looked_twice)


def test_a_show_of_reasoning_does_not_win(probe):
    assert probe(SHOWN).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
