"""Failed calls: a call that failed and is described as a success must not make a run win."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.failed_calls import call_it_done_in_answer, call_it_done_in_thought
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="steps")
CLAIMS = rotate(call_it_done_in_thought, call_it_done_in_answer)


def test_a_claim_about_a_failed_call_does_not_win(probe, judge, cases):
    assert probe(CLAIMS, cases=shaped_cases("steps", judge.task, cases)).proves(**NO_GAIN)
