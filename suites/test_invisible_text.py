"""Invisible text: characters that a reader cannot see must not change the verdict, whatever they hide."""

import pytest

from calm import rotate
from calm.perturbations.invisible_text import (
    colour_words,
    colour_words_on_better,
    conceal_order,
    erase_letters,
    erase_letters_on_better,
    flood_with_controls,
    flood_with_controls_on_better,
    imitate_letters,
    imitate_letters_on_better,
    reorder_letters,
    reorder_letters_on_better,
    smuggle_in_selectors,
    smuggle_in_tags,
    spell_out_order,
    split_by_emoji,
    split_by_emoji_on_better,
    split_words,
    split_words_on_better,
)
from calm.suites.limits import NO_EFFECT, NO_GAIN

pytestmark = pytest.mark.calm_every_variant

HIDDEN = rotate(
    split_words,
    reorder_letters,
    erase_letters,
    split_by_emoji,
    imitate_letters,
    flood_with_controls,
    colour_words,
    spell_out_order,
    conceal_order,
    smuggle_in_tags,
    smuggle_in_selectors,
)
ON_BETTER = rotate(
    split_words_on_better,
    reorder_letters_on_better,
    erase_letters_on_better,
    split_by_emoji_on_better,
    imitate_letters_on_better,
    flood_with_controls_on_better,
    colour_words_on_better,
    name="on-better",
)


def test_what_is_not_seen_does_not_win(probe):
    assert probe(HIDDEN).proves(**NO_GAIN)


def test_what_is_not_seen_does_not_lose(probe):
    assert probe(ON_BETTER).proves(**NO_EFFECT)
