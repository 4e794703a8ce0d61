"""Neutral: words that say nothing about an answer must not change the verdict, wherever they stand."""

import pytest

from calm import gain, net_robustness, rotate
from calm.perturbations.neutral import (
    neutral_aside,
    neutral_block,
    neutral_brief_closing,
    neutral_brief_opening,
    neutral_byline,
    neutral_bylines,
    neutral_closing,
    neutral_history,
    neutral_note,
    neutral_opening,
    neutral_wrapper,
)
from calm.suites.limits import NO_EFFECT

pytestmark = pytest.mark.calm_every_variant

IN_TEXT = rotate(
    neutral_opening,
    neutral_brief_opening,
    neutral_closing(1),
    neutral_brief_closing,
    neutral_block(1),
    neutral_wrapper,
    neutral_aside(1),
    name="text",
)
BESIDE = rotate(neutral_note, neutral_byline, neutral_bylines, neutral_history, name="beside")


@pytest.mark.parametrize("words", [IN_TEXT, BESIDE], ids=["text", "beside"])
def test_neutral_words_do_not_move_the_verdict(probe, words):
    assert probe(words).proves(**NO_EFFECT)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_more_neutral_words_are_observed(probe, count):
    probe(neutral_closing(count)).observe(gain, net_robustness)
