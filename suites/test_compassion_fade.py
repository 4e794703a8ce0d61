"""Compassion fade: a well-known name beside an answer must not make it win."""

import pytest

from calm import rotate
from calm.perturbations.compassion_fade import (
    credit_human,
    hint_at_price,
    hint_at_release,
    hint_at_tier,
    name_before_text,
    name_in_text,
    name_models,
    swap_names,
    tag_authors,
)
from calm.suites.limits import NO_GAIN, SAME_VERDICT

NAMES = rotate(swap_names, hint_at_tier, hint_at_price, hint_at_release, credit_human, name_in_text, name_before_text)
DRAWN = rotate(name_models, tag_authors, name="drawn")


def test_a_great_name_does_not_win(probe):
    assert probe(NAMES).proves(**NO_GAIN)


@pytest.mark.calm_every_variant
def test_drawn_names_do_not_move_the_verdict(probe):
    assert probe(DRAWN).proves(**SAME_VERDICT)
