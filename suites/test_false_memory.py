"""False memory: an answer must not win by a claim about the conversation that is not true."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.false_memory import claim_it_was_agreed, claim_it_was_said
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="turns")
CLAIMS = rotate(claim_it_was_said, claim_it_was_agreed)


def test_a_false_memory_does_not_win(probe, judge, cases):
    assert probe(CLAIMS, cases=shaped_cases("turns", judge.task, cases)).proves(**NO_GAIN)
