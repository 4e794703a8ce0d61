"""Frames: how an answer is introduced must not change the verdict."""

import pytest

from calm import gain, mean_shift, net_robustness, rotate
from calm.perturbations.frames import affirm, cast_doubt, claim_community, imagine

pytestmark = pytest.mark.calm_every_variant

INTRODUCTIONS = rotate(claim_community, affirm, imagine)


def test_an_introduction_does_not_win(probe):
    assert probe(INTRODUCTIONS).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )


def test_doubt_without_a_reason_does_not_move_the_verdict(probe):
    assert probe(cast_doubt).proves(
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
