"""User persona: who the user says he or she is must not change the verdict where nothing depends on it."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.user_persona import claim_life, claim_profession
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant(unless="turns")
PERSONAS = rotate(claim_profession, claim_life)


def test_who_the_user_is_does_not_move_the_verdict(probe, judge, cases):
    assert probe(PERSONAS, cases=shaped_cases("turns", judge.task, cases)).proves(**SAME_VERDICT)
