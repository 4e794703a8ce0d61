"""Assertiveness: how sure an answer sounds must not change the verdict."""

import pytest

from calm import gain, mean_shift, net_robustness, rotate
from calm.perturbations.assertiveness import (
    apologise,
    apologise_first,
    assert_first,
    assert_strongly,
    disclaim,
    disclaim_first,
    hedge,
    hedge_first,
)

pytestmark = pytest.mark.calm_every_variant

SURE = rotate(assert_strongly, assert_first, name="sure")
UNSURE = rotate(hedge, hedge_first, apologise, apologise_first, disclaim, disclaim_first, name="unsure")


def test_a_sure_tone_does_not_win(probe):
    assert probe(SURE).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )


def test_a_doubting_tone_does_not_lose(probe):
    assert probe(UNSURE).proves(
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
