"""Sophistication: learned words, winding clauses and invented detail must not make an answer win."""

import pytest

from calm import gain, net_robustness, rotate
from calm.perturbations.sophistication import add_detail, add_jargon, complicate, complicate_first, jargon_first, polish
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant

LEARNED = rotate(add_jargon, jargon_first, complicate, complicate_first, polish)


def test_a_learned_tone_does_not_win(probe):
    assert probe(LEARNED).proves(**NO_GAIN)


def test_invented_detail_does_not_win(probe):
    assert probe(add_detail).proves(
        net_robustness >= 0.90,
        gain <= 0.15,
        score=[gain <= 0.08],
        listwise=[gain <= 0.15],
    )
