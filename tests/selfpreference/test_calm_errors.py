"""CALM's error of self-enhancement, what it keeps of leniency, and self-recognition."""

from random import Random

import numpy as np
import pytest

from calm.errors import EstimateError
from calm.selfpreference.calm_errors import (
    recognition_split,
    refinement_error,
    self_enhancement,
    self_enhancement_error,
    self_recognition,
)
from calm.selfpreference.contrasts import Grid
from calm.selfpreference.framing_scores import ScoreTable

NAMES = ("a", "b", "c", "outsider")


def table(lenient=0.0, own=0.0):
    """Return scores of three judges that write, and of an outsider that does not."""
    rng = Random(5)
    grid = Grid(NAMES, NAMES[:3], {name: name for name in NAMES})
    scores = np.array([[[rng.choice([4.0, 5, 6]) for _ in range(60)] for _ in range(3)] for _ in NAMES])
    scores[0] += lenient
    scores[0, 0] += own
    return ScoreTable(grid, tuple(map(str, range(60))), scores, 1, 10)


def test_the_error_keeps_leniency_and_the_excess_does_not():
    """A judge that gives everybody two points more has an error of about .4 and no excess."""
    strict, lenient = (self_enhancement(table(lenient=x), "a", Random(1), outsider="outsider") for x in (0.0, 2.0))

    assert lenient.error == pytest.approx(strict.error + 2.0 / strict.by_others)
    assert lenient.over_judges.value == pytest.approx(strict.over_judges.value)
    assert lenient.over_outsider.value == pytest.approx(strict.over_outsider.value)


def test_the_excess_is_what_was_added_to_the_own_cell():
    """One point for its own answers is one point over the judges and over the outsider."""
    fair, fond = (self_enhancement(table(own=x), "a", Random(1), outsider="outsider") for x in (0.0, 1.0))

    assert fond.over_judges.value - fair.over_judges.value == pytest.approx(1.0)
    assert fond.over_outsider.value - fair.over_outsider.value == pytest.approx(1.0)


def test_both_signs_of_the_papers_versions():
    """The camera-ready is signed, the preprint is not, and divides the other way round for refinement."""
    assert self_enhancement_error(6.0, 8.0) == -0.25
    assert self_enhancement_error(6.0, 8.0, signed=False) == 0.25
    assert refinement_error(8.0, 6.0) == -0.25
    assert refinement_error(8.0, 6.0, signed=False) == pytest.approx(8 / 6 - 1)


def test_means_that_cannot_be_divided_are_refused(subtests):
    """Zero and NaN."""
    for means in [(5.0, 0.0), (float("nan"), 5.0)]:
        with subtests.test(means=means), pytest.raises(EstimateError, match="expected mean scores above 0"):
            self_enhancement_error(*means)


def test_recognition_is_counted_from_chance():
    """One of four by chance: 25 % is no recognition, with an interval around it."""
    found = self_recognition(25, 100, 4)

    assert found.value == 0.0
    assert found.low < 0 < found.high


def test_recognition_may_explain_a_preference():
    """80 % own where recognised, 50 % where not."""
    found = recognition_split(80, 100, 50, 100)

    assert found.value == pytest.approx(0.3)
    assert found.low > 0.1
