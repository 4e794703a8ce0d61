"""Frames: how an answer is introduced must not change the verdict."""

import pytest

from calm import rotate
from calm.perturbations.frames import affirm, cast_doubt, claim_community, imagine
from calm.suites.limits import NO_EFFECT, NO_GAIN

pytestmark = pytest.mark.calm_every_variant

INTRODUCTIONS = rotate(claim_community, affirm, imagine)


def test_an_introduction_does_not_win(probe):
    assert probe(INTRODUCTIONS).proves(**NO_GAIN)


def test_doubt_without_a_reason_does_not_move_the_verdict(probe):
    assert probe(cast_doubt).proves(**NO_EFFECT)
