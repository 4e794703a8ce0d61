"""
A sound judge that drifts while a run lasts, asked case by case: no bias, and no more false alarms than a level allows.

`python -m benchmarks.drifting` shows both orders and more ways to drift. Seeds are fixed; over seeds, a fair order has
a mean beyond its bound here with a probability below one in a hundred thousand.
"""

from math import sqrt

import pytest
from scipy.stats import t

from benchmarks.drifting import LAWS, Found
from benchmarks.scattered import scattered

RUNS = 40
FAR = t.isf(1e-6, RUNS - 1)
"""So many standard errors a mean of no bias is off with a probability of two in a million."""
LEVEL = 0.05


@pytest.mark.parametrize("law", ["errs more and more, 2 to 48 %", "a wave of 1 block"])
def test_what_drifts_moves_no_measure(law):
    """The means over runs are zero as far as can be told, and red claims without a margin are rare."""
    found = Found.of(LAWS[law], RUNS)
    print(law, found)

    for centre, spread in (found.moved, found.gained):
        assert abs(centre) < FAR * spread / sqrt(RUNS)
    assert found.alarms < LEVEL


def test_a_swapped_model_costs_less_than_where_each_question_goes_by_itself():
    """It meets one case in the middle of its questions, and not all cases."""
    law = LAWS["another model from the middle on"]
    found = Found.of(law, RUNS)
    with scattered():
        before = Found.of(law, RUNS)
    print(before, found)

    assert found.gained[1] < before.gained[1] / 4
    assert found.moved[1] < before.moved[1] / 4
