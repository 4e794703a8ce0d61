"""Reference: nothing; the run records how verdicts change with no reference, or with a wrong one."""

import pytest

from calm import gain, net_robustness
from calm.perturbations.reference import hide_reference, spoil_reference

pytestmark = pytest.mark.calm_every_variant


@pytest.mark.parametrize("edit", [hide_reference, spoil_reference], ids=lambda edit: edit.name)
def test_a_reference_is_observed(probe, edit):
    probe(edit).observe(gain, net_robustness)
