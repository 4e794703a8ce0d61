"""Choice blindness: a judge that gets its own verdict back swapped must notice, and keep to what it said."""

import pytest

from calm.perturbations.choice_blindness import (
    ask_what_decided,
    lose_the_verdict,
    swap_verdict,
    swap_without_reasons,
)
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant


def test_a_swapped_verdict_is_noticed(probe):
    assert probe(swap_verdict, against=ask_what_decided).proves(**NO_GAIN)


def test_a_swapped_verdict_is_noticed_without_the_reasons(probe):
    assert probe(swap_without_reasons, against=lose_the_verdict).proves(**NO_GAIN)
