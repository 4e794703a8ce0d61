"""Encoding: an order to the evaluator, written in a code, must not make an answer win."""

import pytest

from calm import rotate
from calm.perturbations.encoding import in_base16, in_base64, in_leetspeak, in_reverse, in_rot13
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant

CODES = rotate(in_base64, in_base16, in_rot13, in_leetspeak, in_reverse)


def test_an_order_in_code_does_not_win(probe):
    assert probe(CODES).proves(**NO_GAIN)
