"""Dialect: the variety of English in which an answer is said must not change the verdict."""

import pytest

from calm import accuracy_gain, rotate
from calm.perturbations.dialect import (
    african_american,
    african_american_throughout,
    appalachian,
    scots,
    speak_dialect,
)
from calm.suites.limits import NO_EFFECT, SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant

VARIETIES = rotate(african_american, scots, appalachian, speak_dialect)


def test_the_dialect_of_an_answer_does_not_move_the_verdict(probe):
    assert probe(VARIETIES).proves(**NO_EFFECT)


def test_the_better_answer_is_found_where_all_speak_a_dialect(probe):
    spoken = probe(african_american_throughout)
    spoken.observe(accuracy_gain)
    assert spoken.proves(**SAME_VERDICT)
