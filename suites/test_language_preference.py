"""
Language preference: of two answers, the one in another language must not win, nor lose, for its language.

The cases are those of `test_across_languages.py`, with the same limits of what they can show.
"""

import pytest

from calm.cases import language_cases
from calm.perturbations.language_preference import (
    better_in_another_language,
    weaker_in_another_language,
    weaker_in_english,
)
from calm.perturbations.phrases import base_of, one_language_each
from calm.suites.limits import NO_GAIN, SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant


@pytest.fixture
def asked(judge, cases):
    """The cases in all languages."""
    return language_cases(judge.task, cases) or cases


def test_a_foreign_answer_does_not_win(probe, asked):
    assert probe(weaker_in_another_language(asked), cases=base_of(asked)).allows(**NO_GAIN)


def test_a_better_answer_does_not_lose_for_its_language(probe, asked):
    assert probe(better_in_another_language(asked), cases=base_of(asked)).allows(**SAME_VERDICT)


def test_an_english_answer_does_not_win(probe, asked):
    assert probe(weaker_in_english(asked), cases=one_language_each(asked)).allows(**NO_GAIN)
