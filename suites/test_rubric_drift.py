"""Rubric drift: criteria that mean the same in other words, or in more detail, must not shift verdicts."""

import pytest

from calm import rotate
from calm.perturbations.rubric_drift import detail_criteria, frame_criteria, paraphrase_criteria
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant

REFINEMENTS = rotate(paraphrase_criteria, detail_criteria, frame_criteria)


def test_a_refined_rubric_does_not_shift_verdicts(probe):
    assert probe(REFINEMENTS).proves(**SAME_VERDICT)
