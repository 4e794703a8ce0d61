"""Position bias: the order of the answers must not move the verdict."""

from calm import gain, net_robustness
from calm.perturbations.position import swap


def test_the_order_does_not_move_the_verdict(probe):
    assert probe(swap).proves(net_robustness >= 0.95, abs(gain) <= 0.10, listwise=[net_robustness >= 0.95])
