"""Chain of thought: what solving the question first does to the verdicts; nothing is required of it."""

import pytest

from calm import gain, net_robustness
from calm.perturbations.chain_of_thought import solve_first


def test_solving_first_is_observed(probe, pytestconfig):
    if not (pytestconfig.getoption("calm_every_variant") or pytestconfig.getini("calm_every_variant")):
        pytest.skip("observed only, so that it costs no calls of a gate; asked with --calm-every-variant")
    probe(solve_first).observe(gain, net_robustness)
