"""Labels: the names of the slots must not change the verdict."""

import pytest

from calm import net_robustness, rotate
from calm.perturbations.labels import (
    late_labels,
    number_labels,
    random_labels,
    reverse_labels,
    symbol_labels,
    worded_labels,
)

pytestmark = pytest.mark.calm_every_variant

SCHEMES = rotate(number_labels, late_labels, worded_labels, symbol_labels, random_labels, reverse_labels)


def test_the_labels_do_not_move_the_verdict(probe):
    assert probe(SCHEMES).proves(net_robustness >= 0.90)
