"""Score options: the order in which a prompt lists the values of its scale must not change the score."""

import pytest

from calm import rotate
from calm.perturbations.score_options import reverse_options, shuffle_options
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant

ORDERS = rotate(reverse_options, shuffle_options)


def test_the_order_of_the_options_does_not_move_the_score(probe):
    assert probe(ORDERS).proves(score=SAME_VERDICT["score"])
