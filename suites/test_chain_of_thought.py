"""Chain of thought: nothing; the run records how verdicts change when the judge solves the question first."""

import pytest

from calm import accuracy_gain, gain, net_robustness
from calm.perturbations.chain_of_thought import solve_first


@pytest.mark.calm_every_variant
def test_solving_first_is_observed(probe):
    probe(solve_first).observe(
        gain,
        net_robustness,
        pairwise=[accuracy_gain, gain, net_robustness],
        rubric=[accuracy_gain, gain, net_robustness],
        label=[accuracy_gain, gain, net_robustness],
    )
