"""CALM's figures that are made of means: both signs of the errors, the improvement rate, and what is refused."""

import pytest

from calm.errors import EstimateError
from calm.statistics.calm_errors import (
    bias_intensity,
    improvement_rate,
    refinement_error,
    self_enhancement_error,
)


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


def test_the_improvement_rate_is_a_share_of_the_first_accuracy():
    """From .6 to .75 is a quarter more; nothing can be said from 0, or of what is no share."""
    assert improvement_rate(0.6, 0.75) == pytest.approx(0.25)
    assert improvement_rate(0.8, 0.6) == pytest.approx(-0.25)
    for accuracies in [(0.0, 0.5), (0.5, 1.5), (float("nan"), 0.5)]:
        with pytest.raises(EstimateError, match="expected accuracies"):
            improvement_rate(*accuracies)


def test_the_bias_intensity_is_what_noise_does_not_explain():
    """The consistency rate less the mean robustness rate; of no bias there is none."""
    assert bias_intensity(0.9, [0.5, 0.9, 0.7]) == pytest.approx(0.2)
    with pytest.raises(EstimateError, match="at least one robustness rate"):
        bias_intensity(0.9, [])
