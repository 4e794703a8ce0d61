"""Few-shot examples: the order of the examples must not change the verdict."""

import pytest

from calm.perturbations.few_shot import end_against, end_in_favour, reverse_examples
from calm.suites.limits import NO_EFFECT, NO_GAIN

pytestmark = pytest.mark.calm_every_variant


def test_the_last_example_does_not_win(probe):
    assert probe(end_in_favour, against=end_against).proves(**NO_GAIN)


def test_the_order_of_examples_does_not_move_the_verdict(probe):
    assert probe(reverse_examples).proves(**NO_EFFECT)
