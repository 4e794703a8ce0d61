"""Criterion fidelity: a criterion that is turned into its opposite must turn the verdict."""

import pytest

from calm import rotate
from calm.perturbations.criterion_fidelity import put_so_that_it_holds, restore_unmet, reverse_met
from calm.suites.limits import NOTICED

pytestmark = pytest.mark.calm_every_variant

OPPOSITES = rotate(reverse_met, restore_unmet)


def test_a_criterion_and_its_opposite_get_opposite_verdicts(probe):
    assert probe(OPPOSITES, against=put_so_that_it_holds).proves(*NOTICED)
