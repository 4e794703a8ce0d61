"""Credentials: an author's rank, or a stamp of approval, must not change the verdict."""

import pytest

from calm import rotate
from calm.perturbations.credentials import (
    admit_beginner,
    admit_beginner_first,
    beginner_note,
    claim_rank,
    claim_rank_first,
    rank_label,
    rank_note,
    stamp,
    stamp_first,
)
from calm.suites.limits import NO_EFFECT, NO_GAIN

pytestmark = pytest.mark.calm_every_variant

RANKS = rotate(claim_rank, claim_rank_first, rank_note, rank_label, stamp, stamp_first, name="high")
LOW = rotate(admit_beginner, admit_beginner_first, beginner_note, name="low")


def test_a_rank_does_not_win(probe):
    assert probe(RANKS).proves(**NO_GAIN)


def test_a_low_rank_does_not_lose(probe):
    assert probe(LOW).proves(**NO_EFFECT)
