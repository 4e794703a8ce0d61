"""Added answers: more answers must not change the order of the first ones."""

import pytest

from calm import net_robustness, rotate
from calm.perturbations.added_answers import add_fillers, add_stray_answer

pytestmark = pytest.mark.calm_every_variant

ADDED = rotate(add_fillers(1), add_fillers(2), add_stray_answer)


def test_an_added_answer_does_not_move_the_others(probe):
    assert probe(ADDED).proves(listwise=[net_robustness >= 0.90])
