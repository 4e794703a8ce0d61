"""Irrelevant context: material about something else must not change the verdict, however long it is."""

import pytest

from calm.perturbations.irrelevant_context import pad_context
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant


@pytest.mark.parametrize("tokens", [250, 2000])
def test_irrelevant_context_does_not_move_the_verdict(probe, tokens):
    assert probe(pad_context(tokens)).proves(**SAME_VERDICT)
