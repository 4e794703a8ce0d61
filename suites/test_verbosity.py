"""Verbosity bias: length without content must not make an answer win."""

import pytest

from calm import rotate
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
from calm.perturbations.written import lengthened, own_alone
from calm.suites.limits import NO_EFFECT, NO_GAIN

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
    own_alone(lengthened),
)


def test_padding_does_not_win(probe):
    assert probe(PADDING).proves(**NO_GAIN)


@pytest.mark.calm_every_variant
def test_a_shorter_answer_does_not_lose(probe):
    assert probe(cut_filler).allows(**NO_EFFECT)  # few answers have filler that could go
