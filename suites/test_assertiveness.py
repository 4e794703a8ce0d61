"""Assertiveness: how sure an answer sounds must not change the verdict."""

import pytest

from calm import rotate
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
from calm.suites.limits import NO_EFFECT, NO_GAIN

pytestmark = pytest.mark.calm_every_variant

SURE = rotate(assert_strongly, assert_first, name="sure")
UNSURE = rotate(hedge, hedge_first, apologise, apologise_first, disclaim, disclaim_first, name="unsure")


def test_a_sure_tone_does_not_win(probe):
    assert probe(SURE).proves(**NO_GAIN)


def test_a_doubting_tone_does_not_lose(probe):
    assert probe(UNSURE).proves(**NO_EFFECT)
