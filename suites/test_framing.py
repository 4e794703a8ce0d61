"""Framing: asking which answer is worse, or how bad it is, must lead to the same verdict."""

from calm import mean_shift, net_robustness, rotate
from calm.perturbations.framing import ask_for_the_worse, ask_how_bad, invert_scale

INVERSIONS = rotate(ask_for_the_worse, ask_how_bad, invert_scale)


def test_the_framing_does_not_move_the_verdict(probe):
    assert probe(INVERSIONS).proves(
        net_robustness >= 0.95,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
    )
