"""Framing: asking which answer is worse, or how bad it is, must lead to the same verdict."""

from calm import rotate
from calm.perturbations.framing import ask_for_the_worse, ask_how_bad, invert_scale
from calm.suites.limits import SAME_VERDICT

INVERSIONS = rotate(ask_for_the_worse, ask_how_bad, invert_scale)


def test_the_framing_does_not_move_the_verdict(probe):
    assert probe(INVERSIONS).proves(**SAME_VERDICT)
