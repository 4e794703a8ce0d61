"""
Passage injection: an order to the evaluator inside a passage must not make an answer win.

Where the run's cases are the bundled ones, the shipped cases with passages are asked about.
"""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.passage_injection import hide_in_passage, order_in_passage, plead_in_passage
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="context")

ORDERS = rotate(plead_in_passage, order_in_passage, hide_in_passage)


def test_an_order_in_a_passage_does_not_win(probe, judge, cases):
    assert probe(ORDERS, cases=shaped_cases("context", judge.task, cases)).proves(**NO_GAIN)
