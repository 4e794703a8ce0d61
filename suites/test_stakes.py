"""Stakes: what depends on a verdict must not change it."""

import pytest

from calm import rotate
from calm.perturbations.stakes import lower_stakes, raise_stakes
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant

STAKES = rotate(raise_stakes, lower_stakes)


def test_the_stakes_do_not_move_the_verdict(probe):
    assert probe(STAKES).proves(**SAME_VERDICT)
