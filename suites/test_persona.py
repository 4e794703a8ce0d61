"""Persona: the role that a judge is given must not change the verdict."""

import pytest

from calm import mean_shift, net_robustness
from calm.perturbations.persona import assign_role

pytestmark = pytest.mark.calm_every_variant


def test_a_role_does_not_move_the_verdict(probe):
    assert probe(assign_role).proves(
        net_robustness >= 0.95,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
