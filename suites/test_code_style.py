"""
Code style: names, comments, layout and dead code must not move the verdict on what code does.

Few of the bundled cases hold Python code, too few to prove anything: so these tests fail on evidence against the judge
only. With 150 cases or more that hold code, copy this file and write `.proves` for `.allows`.
"""

import pytest

from calm import gain, mean_shift, net_robustness, rotate
from calm.perturbations.code_style import (
    add_dead_code,
    lengthen_names,
    scramble_names,
    shorten_names,
    space_out,
    strip_comments,
)

pytestmark = pytest.mark.calm_every_variant

STYLES = rotate(lengthen_names, shorten_names, scramble_names, strip_comments, space_out)


def test_style_does_not_move_the_verdict(probe):
    assert probe(STYLES).allows(
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )


def test_dead_code_does_not_win(probe):
    assert probe(add_dead_code).allows(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
