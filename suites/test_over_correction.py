"""
Over-correction: an answer that is right must pass, also where reasons, faults or corrections are asked for.

Where the run's cases are the bundled ones, answers are asked about of which a program knows that they are right, or
wrong. A run on own cases takes those with the best gold label and the worst.
"""

import pytest

from calm import false_fail_gain, false_fail_rate, false_pass_rate
from calm.cases import certain_cases
from calm.perturbations.over_correction import ask_for_corrections, ask_for_faults, ask_for_reasons

pytestmark = pytest.mark.calm_every_variant

DEMANDS = [None, ask_for_reasons, ask_for_faults, ask_for_corrections]


@pytest.mark.parametrize("demand", DEMANDS, ids=lambda demand: demand.label if demand else "clean")
def test_right_answers_pass_and_wrong_ones_fail(probe, judge, cases, demand):
    certain = certain_cases(judge.task, judge.scale, cases)
    rates = probe(demand, cases=certain)
    assert rates.proves(false_fail_rate <= 0.25, false_pass_rate <= 0.25, pairwise=[], rubric=[], listwise=[])


@pytest.mark.parametrize("demand", DEMANDS[1:], ids=str)
def test_a_demand_fails_no_right_answer(probe, judge, cases, demand):
    right = certain_cases(judge.task, judge.scale, cases, right=True)
    assert probe(demand, cases=right).proves(false_fail_gain <= 0.15, pairwise=[], rubric=[], listwise=[])
