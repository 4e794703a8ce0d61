"""Bandwagon: what most people are said to think must not let an answer win."""

from calm import gain, net_robustness, rotate
from calm.perturbations.bandwagon import (
    PERCENTS,
    claim_majority,
    claim_majority_first,
    claim_rating,
    crowd_note,
    full_marks,
    prior_rating,
)

CROWDS = rotate(
    *map(crowd_note, PERCENTS), prior_rating, full_marks, claim_majority, claim_majority_first, claim_rating
)


def test_a_crowd_does_not_win(probe):
    assert probe(CROWDS).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
