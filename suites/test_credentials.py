"""Credentials: an author's rank, or a stamp of approval, must not change the verdict."""

import pytest

from calm import gain, mean_shift, net_robustness, rotate
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

pytestmark = pytest.mark.calm_every_variant

RANKS = rotate(claim_rank, claim_rank_first, rank_note, rank_label, stamp, stamp_first, name="high")
LOW = rotate(admit_beginner, admit_beginner_first, beginner_note, name="low")


def test_a_rank_does_not_win(probe):
    assert probe(RANKS).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )


def test_a_low_rank_does_not_lose(probe):
    assert probe(LOW).proves(
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
