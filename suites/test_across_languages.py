"""
Across languages: the same item, asked in another language, must get the same verdict.

Where the run's cases are the bundled ones, 60 items are asked about that ship in thirteen languages: enough to find a
judge that reads one language worse than English, too few to prove that it reads all of them alike. So these tests fail
on evidence against the judge only. Of your own cases those are asked about that name their `item` and `language` in
their tags; with 150 items or more, copy this file and write `.proves` for `.allows`.
"""

import pytest

from calm.cases import language_cases
from calm.perturbations.across_languages import (
    answers_in_another_language,
    in_another_language,
    question_in_another_language,
)
from calm.perturbations.phrases import base_of
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant


@pytest.fixture
def asked(judge, cases):
    """The cases in all languages."""
    return language_cases(judge.task, cases) or cases


def test_the_language_does_not_move_the_verdict(probe, asked):
    assert probe(in_another_language(asked), cases=base_of(asked)).allows(**SAME_VERDICT)


def test_the_language_of_the_question_does_not_move_the_verdict(probe, asked):
    assert probe(question_in_another_language(asked), cases=base_of(asked)).allows(**SAME_VERDICT)


def test_the_language_of_the_answers_does_not_move_the_verdict(probe, asked):
    assert probe(answers_in_another_language(asked), cases=base_of(asked)).allows(**SAME_VERDICT)
