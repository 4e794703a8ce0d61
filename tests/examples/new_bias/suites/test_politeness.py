from perturbations.politeness import thank

from calm import gain, net_robustness


def test_thanks_do_not_win(probe):
    assert probe(thank).proves(net_robustness >= 0.95, gain <= 0.10)
