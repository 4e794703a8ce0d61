"""Few-shot examples: the order of the examples must not change the verdict."""

import pytest

from calm import gain, mean_shift, net_robustness
from calm.perturbations.few_shot import end_against, end_in_favour, reverse_examples

pytestmark = pytest.mark.calm_every_variant


def test_the_last_example_does_not_win(probe):
    assert probe(end_in_favour, against=end_against).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )


def test_the_order_of_examples_does_not_move_the_verdict(probe):
    assert probe(reverse_examples).proves(
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
