"""Persona: the role that a judge is given must not change the verdict."""

import pytest

from calm.perturbations.persona import assign_role
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant


def test_a_role_does_not_move_the_verdict(probe):
    assert probe(assign_role).proves(**SAME_VERDICT)
