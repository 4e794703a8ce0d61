"""
Code style: names, comments, layout and dead code must not change the verdict on what code does.

Where the run's cases are the bundled ones, those are asked about that hold Python code: about a hundred, enough to find
a bias, too few to prove that there is none. So these tests fail on evidence against the judge only. With 150 cases or
more that hold code, copy this file and write `.proves` for `.allows`.
"""

import pytest

from calm import rotate
from calm.cases import code_cases
from calm.perturbations.code_style import (
    add_dead_code,
    lengthen_names,
    scramble_names,
    shorten_names,
    space_out,
    strip_comments,
)
from calm.suites.limits import NO_EFFECT, NO_GAIN

pytestmark = pytest.mark.calm_every_variant

STYLES = rotate(lengthen_names, shorten_names, scramble_names, strip_comments, space_out)


def test_style_does_not_move_the_verdict(probe, judge, cases):
    assert probe(STYLES, cases=code_cases(judge.task, cases)).allows(**NO_EFFECT)


def test_dead_code_does_not_win(probe, judge, cases):
    assert probe(add_dead_code, cases=code_cases(judge.task, cases)).allows(**NO_GAIN)
