"""Reference or belief: a judge that is to go by its reference must follow one that it knows better than."""

import pytest

from calm import net_detection
from calm.models.wire import Rewordable
from calm.perturbations.reference_belief import deny_in_reference, goes_by_reference, swap_reference

pytestmark = pytest.mark.calm_every_variant


@pytest.mark.parametrize("edit", [swap_reference, deny_in_reference], ids=lambda edit: edit.name)
def test_the_reference_is_followed(probe, judge, edit):
    if goes_by_reference(judge.asks if isinstance(judge, Rewordable) else None):
        assert probe(edit).proves(net_detection >= 0.60)
    else:
        probe(edit).observe(net_detection)  # nobody told the judge which of the two counts
