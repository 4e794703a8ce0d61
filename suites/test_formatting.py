"""Formatting: layout must not make an answer win, and plain text must not make it lose."""

import pytest

from calm import gain, mean_shift, net_robustness, rotate
from calm.perturbations.formatting import (
    bullets_and_bold,
    decorate,
    ornament,
    put_in_fence,
    put_in_latex,
    put_in_table,
    strip_markup,
)

pytestmark = pytest.mark.calm_every_variant

LAYOUTS = rotate(bullets_and_bold, decorate, ornament, put_in_table, put_in_latex, put_in_fence)


def test_a_layout_does_not_win(probe):
    assert probe(LAYOUTS).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )


def test_plain_text_does_not_lose(probe):
    assert probe(strip_markup).allows(  # few answers have markup that could go
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
