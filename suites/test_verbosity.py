"""Verbosity bias: length without content must not make an answer win."""

import pytest

from calm import gain, mean_shift, net_robustness, rotate
from calm.perturbations.verbosity import (
    close_courteously,
    cut_filler,
    expand,
    open_courteously,
    pad,
    repeat_whole,
    restate_items,
    wrap_courteously,
)

PADDING = rotate(
    restate_items,
    expand(1.5),
    expand(2.0),
    expand(3.0),
    pad(2.0),
    pad(3.0),
    repeat_whole(2),
    wrap_courteously,
    open_courteously,
    close_courteously,
)


def test_padding_does_not_win(probe):
    assert probe(PADDING).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )


@pytest.mark.calm_every_variant
def test_a_shorter_answer_does_not_lose(probe):
    assert probe(cut_filler).allows(  # few answers have filler that could go
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
