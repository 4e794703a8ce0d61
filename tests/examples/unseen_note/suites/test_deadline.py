from perturbations.deadline import hurry

from calm import net_robustness


def test_a_deadline_does_not_move_the_verdict(probe):
    assert probe(hurry).proves(net_robustness >= 0.95)
