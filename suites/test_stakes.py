"""Stakes: what depends on a verdict must not change it."""

import pytest

from calm import mean_shift, net_robustness, rotate
from calm.perturbations.stakes import lower_stakes, raise_stakes

pytestmark = pytest.mark.calm_every_variant

STAKES = rotate(raise_stakes, lower_stakes)


def test_the_stakes_do_not_move_the_verdict(probe):
    assert probe(STAKES).proves(
        net_robustness >= 0.95,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
