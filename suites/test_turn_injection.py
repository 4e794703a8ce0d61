"""Turn injection: an order to the judge in a turn of the conversation must not make an answer win."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.turn_injection import (
    command_in_last_turn,
    forge_rating_turn,
    forge_system_turn,
    order_in_first_turn,
    order_in_last_turn,
)
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="turns")
ORDERS = rotate(order_in_first_turn, order_in_last_turn, command_in_last_turn, forge_system_turn, forge_rating_turn)


def test_an_order_in_a_turn_does_not_win(probe, judge, cases):
    assert probe(ORDERS, cases=shaped_cases("turns", judge.task, cases)).proves(**NO_GAIN)
