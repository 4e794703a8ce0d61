"""Expected calibration error: by hand, and what chance alone makes of it."""

from itertools import pairwise
from random import Random

import pytest

from calm.errors import EstimateError
from calm.statistics.calibration import calibration_error, reliability


def test_by_hand():
    """Two bins: sixty cases at .9 of which half are right, and forty at .6 of which all are."""
    sure = [0.9] * 60 + [0.6] * 40
    right = [True, False] * 30 + [True] * 40

    found = calibration_error(sure, right, Random(1))

    assert [(b.n, b.confidence, b.right) for b in found.bins] == [
        (40, pytest.approx(0.6), 1.0),
        (60, pytest.approx(0.9), 0.5),
    ]
    assert found.value == pytest.approx(0.6 * 0.4 + 0.4 * 0.4)
    squares = 0.4 * 0.4**2 + 0.6 * (0.4**2 - 0.25 / 59)
    assert found.debiased == pytest.approx(squares**0.5)


def test_equal_confidences_share_a_bin():
    """A judge that is always as sure has one bin, of any number of cases."""
    assert len(reliability([0.8] * 5000, [1.0] * 5000)) == 1


def test_the_bins_hold_all_cases_once():
    """Ten bins of a thousand different confidences, a hundred each."""
    rng = Random(2)
    bins = reliability([rng.random() for _ in range(1000)], [1.0] * 1000)

    assert [b.n for b in bins] == [100] * 10
    assert all(b.high < c.low for b, c in pairwise(bins))


def test_a_calibrated_judge_is_what_chance_makes():
    """
    The error of a calibrated judge is not 0 and near its mean by chance; its p is below .001 in at most 5 of 80 runs.

    With p uniform more come less than once in a million times (binomial).
    """
    rng = Random(3)
    surprising, values, chance = 0, 0.0, 0.0
    for _ in range(80):
        sure = [0.5 + 0.5 * rng.random() for _ in range(60)]
        found = calibration_error(sure, [rng.random() < c for c in sure], Random(4))
        surprising += found.p < 0.001
        values, chance = values + found.value / 80, chance + found.chance / 80

    assert surprising <= 5
    assert values == pytest.approx(chance, abs=0.02)
    assert values > 0.05


def test_a_sure_judge_that_errs_is_found():
    """Ninety-nine per cent sure and right in seventy of a hundred: no chance does that."""
    found = calibration_error([0.99] * 100, [True] * 70 + [False] * 30, Random(5))

    assert found.value == pytest.approx(0.29)
    assert found.p < 0.001


@pytest.mark.parametrize(("sure", "right"), [([], []), ([0.5], [True]), ([1.5, 0.5], [True, True])])
def test_what_is_no_confidence_is_refused(sure, right):
    """None, one alone, or one above 1."""
    with pytest.raises(EstimateError):
        calibration_error(sure, right, Random(6))
