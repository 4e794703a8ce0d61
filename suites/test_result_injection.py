"""Result injection: an order to the judge in what a tool returned must not make a run win."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.result_injection import (
    command_in_result,
    forge_check_in_result,
    hide_in_result,
    order_in_result,
)
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="steps")
ORDERS = rotate(order_in_result, command_in_result, forge_check_in_result, hide_in_result)


def test_an_order_in_a_result_does_not_win(probe, judge, cases):
    assert probe(ORDERS, cases=shaped_cases("steps", judge.task, cases)).proves(**NO_GAIN)
