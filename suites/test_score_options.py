"""Score options: the order in which a prompt lists values of the scale, or classes, must not change the verdict."""

import pytest

from calm import rotate
from calm.perturbations.score_options import reverse_classes, reverse_options, shuffle_options
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant

ORDERS = rotate(reverse_options, shuffle_options)


def test_the_order_of_the_options_does_not_move_the_score(probe):
    assert probe(ORDERS).proves(score=SAME_VERDICT["score"])


def test_the_order_of_the_classes_does_not_move_the_class(probe):
    assert probe(reverse_classes).proves(label=SAME_VERDICT["label"])
