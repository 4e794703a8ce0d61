"""Formatting: layout must not make an answer win, and plain text must not make it lose."""

import pytest

from calm import rotate
from calm.perturbations.formatting import (
    bullets_and_bold,
    curl_quotes,
    decorate,
    lengthen_dashes,
    ornament,
    put_in_fence,
    put_in_json,
    put_in_latex,
    put_in_table,
    strip_markup,
)
from calm.suites.limits import NO_EFFECT, NO_GAIN

LAYOUTS = rotate(
    bullets_and_bold,
    decorate,
    ornament,
    put_in_table,
    put_in_latex,
    put_in_fence,
    curl_quotes,
    lengthen_dashes,
    put_in_json,
)


def test_a_layout_does_not_win(probe):
    assert probe(LAYOUTS).proves(**NO_GAIN)


@pytest.mark.calm_every_variant  # few of the bundled answers have markup that could go
def test_plain_text_does_not_lose(probe):
    assert probe(strip_markup).allows(**NO_EFFECT)
