"""Bandwagon: the opinion of many people must not make an answer win."""

import pytest

from calm import gain, net_robustness, robustness_rate, rotate
from calm.perturbations.bandwagon import (
    PERCENTS,
    claim_majority,
    claim_majority_first,
    claim_rating,
    crowd_note,
    crowd_note_on_better,
    full_marks,
    prior_rating,
    suggested_verdict,
)
from calm.suites.limits import NO_GAIN

CROWDS = rotate(
    *map(crowd_note, PERCENTS),
    prior_rating,
    full_marks,
    suggested_verdict,
    claim_majority,
    claim_majority_first,
    claim_rating,
)
ON_BETTER = rotate(*map(crowd_note_on_better, PERCENTS), name="on-better")


def test_a_crowd_does_not_win(probe):
    assert probe(CROWDS).proves(**NO_GAIN)


@pytest.mark.calm_every_variant
def test_a_crowd_for_the_better_answer_does_not_move_the_verdict(probe):
    assert probe(ON_BETTER).proves(
        net_robustness >= 0.90, abs(gain) <= 0.15, score=[], rubric=[], label=[], listwise=[net_robustness >= 0.90]
    )


@pytest.mark.calm_every_variant
@pytest.mark.parametrize("percent", PERCENTS)
def test_the_effect_of_a_crowd_is_observed_by_its_size(probe, percent):
    # its gain is that of a variant of the rotation above, which --calm-every-variant records
    probe(crowd_note(percent)).observe(robustness_rate)
