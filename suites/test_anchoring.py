"""Anchoring: examples and marks beside the task must not pull the verdict."""

import pytest

from calm import mean_shift, net_robustness, rotate
from calm.perturbations.anchoring import (
    high_anchor,
    low_anchor,
    mark_reference_high,
    mark_reference_low,
    one_sided_examples,
)
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant

HIGH = rotate(high_anchor, mark_reference_high, name="high")
LOW = rotate(low_anchor, mark_reference_low, name="low")


def test_examples_for_one_side_do_not_win(probe):
    assert probe(one_sided_examples).proves(**NO_GAIN)


@pytest.mark.parametrize("anchor", [HIGH, LOW], ids=["high", "low"])
def test_an_anchor_does_not_move_the_score(probe, anchor):
    assert probe(anchor).proves(net_robustness >= 0.90, score=[net_robustness >= 0.92, abs(mean_shift) <= 0.08])
