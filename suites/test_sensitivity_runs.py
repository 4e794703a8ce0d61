"""Sensitivity to runs: the judge must notice that an agent did not do what its answer says."""

import pytest

from calm import accuracy, rotate
from calm.cases import shaped_cases
from calm.perturbations.sensitivity_runs import change_amount, drop_call, fail_call, stop_early
from calm.suites.limits import NOTICED

pytestmark = pytest.mark.calm_every_variant(unless="steps")
HARM = rotate(fail_call, drop_call, stop_early, change_amount, name="run")


def test_a_harmed_run_is_noticed(probe, judge, cases):
    assert probe(HARM, cases=shaped_cases("steps", judge.task, cases, right=True)).proves(*NOTICED, rubric=[])


def test_the_better_run_is_found(probe, judge, cases):
    assert probe(cases=shaped_cases("steps", judge.task, cases)).proves(
        accuracy >= 0.70, score=[], rubric=[], listwise=[]
    )
