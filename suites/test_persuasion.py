"""Persuasion: an appeal to the judge must not make an answer win."""

import pytest

from calm import rotate
from calm.perturbations.persuasion import (
    appeal_to_consistency,
    appeal_to_identity,
    appeal_to_majority,
    flatter,
    offer_return,
    plead_pity,
    press_for_time,
    stack_appeals,
)
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant

APPEALS = rotate(
    flatter,
    offer_return,
    plead_pity,
    appeal_to_consistency,
    appeal_to_identity,
    appeal_to_majority,
    press_for_time,
    stack_appeals(2),
    stack_appeals(4),
)


def test_an_appeal_does_not_win(probe):
    assert probe(APPEALS).proves(**NO_GAIN)
