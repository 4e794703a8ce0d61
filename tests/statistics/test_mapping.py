"""Mappings: against numpy and scipy, and the cuts against a search of all of them."""

from random import Random

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from calm.errors import EstimateError
from calm.statistics.calibration import (
    Band,
    Line,
    Steps,
    fit_band,
    fit_line,
    fit_steps,
)


def test_the_line_is_that_of_numpy():
    """Least squares."""
    rng = Random(1)
    x = [rng.random() for _ in range(50)]
    y = [3 * v + rng.random() for v in x]

    found = fit_line(x, y, -10, 10)

    assert (found.slope, found.intercept) == pytest.approx(tuple(np.polyfit(x, y, 1)))


def test_a_line_stays_on_the_scale():
    """No corrected score of 11 out of 10."""
    assert (Line(2.0, 0.0, 1.0, 10.0)(9.0), Line(2.0, -9.0, 1.0, 10.0)(1.0)) == (10.0, 1.0)


def test_the_steps_are_those_of_isotonic_regression():
    """Equal values of the judge are one knot with their mean, weighted by their number."""
    x, y = [1.0, 1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 1.0, 5.0, 4.0]

    found = fit_steps(x, y)

    assert found.gold == pytest.approx(tuple(isotonic_regression([2.0, 1.0, 5.0, 4.0], weights=[2, 1, 1, 1]).x))
    assert found(0.0) == found.gold[0]
    assert found(9.0) == found.gold[-1]


def test_between_knots_it_is_straight():
    """Half-way between two knots it is half-way between their gold."""
    assert Steps((1.0, 3.0), (2.0, 6.0))(2.0) == 4.0


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_no_cut_is_better_than_the_one_that_is_found(seed, ties):
    """All pairs of cuts between 14 values are tried by hand."""
    rng = Random(seed)
    x = [rng.randrange(8) / 7 * 2 - 1 for _ in range(14)]
    y = [float(rng.choice([-1, 0, 1] if ties else [-1, 1])) for _ in x]

    found = fit_band(x, y, Band(0.0, 0.0), ties=ties)

    cuts = [k / 7 * 2 - 1 - 1 / 7 for k in range(10)]
    every = [Band(low, high) for low in cuts for high in cuts if low == high or (ties and low < high)]

    def right(band):
        return sum(band(v) == g for v, g in zip(x, y, strict=True))

    assert right(found) == max(map(right, every))


def test_of_cuts_that_do_as_well_the_nearest_to_the_judges_own_is_taken():
    """A judge that is always right keeps its cut."""
    assert fit_band([-1.0, 1.0], [-1.0, 1.0], Band(0.0, 0.0), ties=False) == Band(0.0, 0.0)


def test_many_values_are_cut_at_quantiles():
    """50,000 different values take no more cuts than `CUTS`, and the best one is near the true one."""
    rng = Random(3)
    x = [rng.random() for _ in range(50_000)]

    found = fit_band(x, [1.0 if v > 0.7 else -1.0 for v in x], Band(0.5, 0.5), ties=False)

    assert found.low == pytest.approx(0.7, abs=0.01)


def test_nothing_to_fit_is_refused():
    """No value at all."""
    with pytest.raises(EstimateError):
        fit_line([], [], 0, 1)
