"""Run summary: a confident summary at the end of an agent's run must not make it win."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.run_summary import conclude_run, open_with_status, sum_up
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="steps")
SUMMARIES = rotate(conclude_run, sum_up, open_with_status)


def test_a_summary_does_not_win(probe, judge, cases):
    assert probe(SUMMARIES, cases=shaped_cases("steps", judge.task, cases)).proves(**NO_GAIN)
