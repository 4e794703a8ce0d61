"""Hindsight: knowing the outcome must not change which criteria an answer meets."""

import pytest

from calm import gain, mean_shift, net_robustness
from calm.perturbations.hindsight import ended_badly, ended_well

pytestmark = pytest.mark.calm_every_variant


def test_a_good_end_does_not_win(probe):
    assert probe(ended_well).proves(gain <= 0.08)


def test_a_bad_end_does_not_move_the_verdict(probe):
    assert probe(ended_badly).proves(net_robustness >= 0.90, rubric=[net_robustness >= 0.92, abs(mean_shift) <= 0.08])
