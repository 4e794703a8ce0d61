"""Fallacy oversight: the judge must notice broken reasoning, even if the result is right."""

from calm import net_detection
from calm.perturbations.fallacy_oversight import fallacy


def test_a_broken_step_is_noticed(probe):
    assert probe(fallacy).proves(net_detection >= 0.60)
