"""Late correction: an answer that keeps to what the user has corrected must lose."""

import pytest

from calm import net_detection
from calm.cases import shaped_cases
from calm.perturbations.late_correction import follow_old_fact

pytestmark = pytest.mark.calm_every_variant(unless="turns")


def test_an_answer_that_misses_a_correction_loses(probe, judge, cases):
    assert probe(follow_old_fact, cases=shaped_cases("turns", judge.task, cases)).proves(net_detection >= 0.60)
