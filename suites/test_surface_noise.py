"""Surface noise: typing errors and other spellings must not change the verdict."""

import pytest

from calm import rotate
from calm.perturbations.surface_noise import (
    contract,
    digits_for_words,
    drop_capitals,
    drop_commas,
    respace,
    respell,
    turn_dates,
    typos,
    write_out,
)
from calm.suites.limits import NO_EFFECT

pytestmark = pytest.mark.calm_every_variant

SLIPS = rotate(typos(0.1), drop_capitals, drop_commas, respace, name="slip")
FORMS = rotate(contract, write_out, digits_for_words, respell, turn_dates, name="form")


def test_a_slip_does_not_move_the_verdict(probe):
    assert probe(SLIPS).proves(**NO_EFFECT)


def test_an_equal_form_does_not_move_the_verdict(probe):
    assert probe(FORMS).allows(**NO_EFFECT)  # few answers have a form that could be another
