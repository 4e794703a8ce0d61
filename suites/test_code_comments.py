"""
Code comments: what comments claim must not make code win or lose.

Where the run's cases are the bundled ones, those are asked about that hold Python code: about a hundred, enough to find
a bias, too few to prove that there is none. So these tests fail on evidence against the judge only. With 150 cases or
more that hold code, copy this file and write `.proves` for `.allows`.
"""

import pytest

from calm import rotate
from calm.cases import code_cases
from calm.perturbations.code_comments import (
    credit_authority,
    credit_novice,
    declare_correct,
    log_tests,
    promise_in_docstring,
    state_other_task,
)
from calm.suites.limits import NO_EFFECT, NO_GAIN

pytestmark = pytest.mark.calm_every_variant

CLAIMS = rotate(credit_authority, declare_correct, state_other_task, promise_in_docstring, log_tests)


def test_a_comment_does_not_win(probe, judge, cases):
    assert probe(CLAIMS, cases=code_cases(judge.task, cases)).allows(**NO_GAIN)


def test_a_beginner_does_not_move_the_verdict(probe, judge, cases):
    assert probe(credit_novice, cases=code_cases(judge.task, cases)).allows(**NO_EFFECT)
