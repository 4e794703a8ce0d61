"""Grading scale: a judge must give the same score on another scale, within what whole numbers allow."""

import pytest

from calm import mean_shift, net_robustness, readable_rate, rotate, scale_use
from calm.perturbations.grading_scale import to_five, to_grades, to_hundred, to_ten

pytestmark = pytest.mark.calm_every_variant

SCALES = rotate(to_five, to_ten, to_hundred, to_grades)


def test_another_scale_does_not_move_the_score(probe):
    assert probe(SCALES).proves(net_robustness >= 0.85, score=[net_robustness >= 0.85, abs(mean_shift) <= 0.08])


def test_how_much_of_the_scale_is_used_is_on_record(probe):
    probe().observe(readable_rate, score=[scale_use])
