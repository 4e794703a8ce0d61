"""Visible reasoning: steps and second looks that add nothing must not make an answer win."""

import pytest

from calm import rotate
from calm.perturbations.visible_reasoning import break_down, double_check, looked_twice, name_steps
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant

SHOWN = rotate(name_steps, break_down, double_check, looked_twice)


def test_a_show_of_reasoning_does_not_win(probe):
    assert probe(SHOWN).proves(**NO_GAIN)
