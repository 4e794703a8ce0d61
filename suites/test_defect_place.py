"""Place of a defect: an error must be noticed wherever it stands in an answer."""

import pytest

from calm import net_detection
from calm.perturbations.defect_place import err_early, err_late, err_midway

pytestmark = pytest.mark.calm_every_variant


@pytest.mark.parametrize("edit", [err_early, err_midway, err_late], ids=lambda edit: edit.name)
def test_an_error_is_noticed_wherever_it_stands(probe, edit):
    assert probe(edit).proves(net_detection >= 0.60)
