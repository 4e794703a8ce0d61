"""Compassion fade: a well-known name beside an answer must not let it win."""

from calm import gain, net_robustness, rotate
from calm.perturbations.compassion_fade import (
    credit_human,
    hint_at_tier,
    name_before_text,
    name_in_text,
    swap_names,
)

NAMES = rotate(swap_names, hint_at_tier, credit_human, name_in_text, name_before_text)


def test_a_great_name_does_not_win(probe):
    assert probe(NAMES).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
