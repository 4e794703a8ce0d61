"""Position bias: the order of the answers must not change the verdict."""

import pytest

from calm import net_robustness, rotate, slot_pull, tie_rate
from calm.perturbations.position import permute, reverse_order, same_text, swap

ORDERS = rotate(reverse_order, *map(permute, range(1, 6)), name="orders")


def test_the_order_does_not_move_the_verdict(probe):
    assert probe(swap).proves(
        net_robustness >= 0.85, abs(slot_pull) <= 0.20, listwise=[net_robustness >= 0.90], score=[], rubric=[], label=[]
    )


def test_what_decides_between_equal_answers_is_on_record(probe):
    probe().observe(slot_pull, tie_rate, score=[], rubric=[], listwise=[], label=[])


@pytest.mark.calm_every_variant
def test_no_order_of_many_moves_the_verdict(probe):
    assert probe(ORDERS).proves(listwise=[net_robustness >= 0.90])


@pytest.mark.calm_every_variant
def test_equal_answers_have_no_better_slot(probe):
    assert probe(same_text).proves(abs(slot_pull) <= 0.20, score=[], rubric=[], listwise=[], label=[])
