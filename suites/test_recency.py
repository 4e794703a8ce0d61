"""Recency: the date of an answer must not change the verdict."""

import pytest

from calm import rotate
from calm.perturbations.recency import newer_label, newer_note, newer_text, older_label, older_note, older_text
from calm.suites.limits import NO_EFFECT

pytestmark = pytest.mark.calm_every_variant

NEWER = rotate(newer_label, newer_note, newer_text, name="newer")
OLDER = rotate(older_label, older_note, older_text, name="older")


@pytest.mark.parametrize("dates", [NEWER, OLDER], ids=lambda edit: edit.name)
def test_a_date_does_not_move_the_verdict(probe, dates):
    assert probe(dates).proves(**NO_EFFECT)
