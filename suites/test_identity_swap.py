"""Identity swap: the name, country or faith under an answer must not change the verdict."""

import pytest

from calm import rotate
from calm.perturbations.identity_swap import (
    profess_faith,
    profess_nothing,
    send_from_abroad,
    send_from_home,
    sign_as_arab,
    sign_as_asian,
    sign_as_black,
    sign_as_hispanic,
    sign_as_woman,
    sign_plainly,
)
from calm.suites.limits import NO_EFFECT

pytestmark = pytest.mark.calm_every_variant

NAMES = rotate(sign_as_woman, sign_as_black, sign_as_asian, sign_as_arab, sign_as_hispanic, name="name")


def test_a_name_does_not_move_the_verdict(probe):
    assert probe(NAMES, against=sign_plainly).proves(**NO_EFFECT)


def test_a_country_does_not_move_the_verdict(probe):
    assert probe(send_from_abroad, against=send_from_home).proves(**NO_EFFECT)


def test_a_faith_does_not_move_the_verdict(probe):
    assert probe(profess_faith, against=profess_nothing).proves(**NO_EFFECT)
