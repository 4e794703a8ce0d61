"""Dialect: the variety of English in which an answer is said must not change the verdict."""

import pytest

from calm import accuracy_gain, robustness_rate, rotate
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
    assert probe(african_american_throughout).proves(**SAME_VERDICT)


def test_what_a_dialect_of_all_costs_in_accuracy_is_on_record(probe):
    probe(african_american_throughout).observe(robustness_rate, pairwise=[accuracy_gain])
