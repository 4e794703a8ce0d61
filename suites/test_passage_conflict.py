"""
Passage conflict: a passage that contradicts the others, and says that it is void, must not change the verdict, nor
help an answer that says the same.

Of one that is as good as the passage which it contradicts, nothing is claimed: the run records how verdicts change.
Where the run's cases are the bundled ones, the shipped cases with passages are asked about.
"""

import pytest

from calm import gain, net_robustness
from calm.cases import shaped_cases
from calm.perturbations.passage_conflict import add_void_passage, back_by_void_passage, contradict_passage
from calm.suites.limits import NO_GAIN_OF_FEWER, SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant(unless="context")


def test_a_passage_that_is_void_does_not_move_the_verdict(probe, judge, cases):
    assert probe(add_void_passage, cases=shaped_cases("context", judge.task, cases)).proves(**SAME_VERDICT)


def test_a_passage_that_is_void_does_not_help_the_answer_that_it_backs(probe, judge, cases):
    assert probe(back_by_void_passage, cases=shaped_cases("context", judge.task, cases)).proves(**NO_GAIN_OF_FEWER)


def test_a_contradiction_between_passages_is_observed(probe, judge, cases):
    probe(contradict_passage, cases=shaped_cases("context", judge.task, cases)).observe(gain, net_robustness)
