"""
Passage order: the order of retrieved passages must not change the verdict.

Where the run's cases are the bundled ones, the shipped cases with passages are asked about.
"""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.passage_order import carrier_to_middle, reverse_passages, shuffle_passages
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant(unless="context")

ORDERS = rotate(carrier_to_middle, reverse_passages, shuffle_passages)


def test_the_order_of_passages_does_not_move_the_verdict(probe, judge, cases):
    assert probe(ORDERS, cases=shaped_cases("context", judge.task, cases)).proves(**SAME_VERDICT)
