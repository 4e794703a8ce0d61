"""Irrelevant context: material about something else must not change the verdict, however long it is."""

import pytest

from calm import mean_shift, net_robustness
from calm.perturbations.irrelevant_context import pad_context

pytestmark = pytest.mark.calm_every_variant


@pytest.mark.parametrize("tokens", [250, 2000])
def test_irrelevant_context_does_not_move_the_verdict(probe, tokens):
    assert probe(pad_context(tokens)).proves(
        net_robustness >= 0.95,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
