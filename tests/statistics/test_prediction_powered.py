"""Prediction-powered means against the formulas of the paper, written a second time, and against the truth."""

from math import sqrt
from random import Random

import numpy as np
import pytest

from calm.errors import EstimateError
from calm.statistics.calibration import Clusters, prediction_powered_mean, tuned_power


def sample(rng, n, bias=0.15, skill=0.8):
    """Return labels of yes or no, and predictions that agree with a share `skill` of them, else mostly say yes."""
    labels = [float(rng.random() < 0.6) for _ in range(n)]
    return labels, [y if rng.random() < skill else float(rng.random() < 0.5 + bias) for y in labels]


def test_the_value_and_the_weight_are_those_of_the_paper():
    """theta and lambda of PPI++ (equations 3 and 6 for a mean), computed with numpy from their definition."""
    rng = Random(1)
    y, f = sample(rng, 90)
    _, others = sample(rng, 700)

    found = prediction_powered_mean(Clusters.single(y), Clusters.single(f), Clusters.single(others), (0, 1))

    pooled = (np.var(f) * 90 + np.var(others) * 700) / (90 + 700 - 2)
    weight = np.cov(y, f)[0, 1] / ((1 + 90 / 700) * pooled)
    assert found.power == pytest.approx(weight, abs=1e-12)
    assert found.corrected.value == pytest.approx(np.mean(y) + weight * (np.mean(others) - np.mean(f)), abs=1e-12)
    assert found.bias == pytest.approx(np.mean(f) - np.mean(y), abs=1e-12)
    variance = np.var(np.subtract(y, np.multiply(weight, f)), ddof=1) / 90 + weight**2 * np.var(others, ddof=1) / 700
    # the padded t is wider than the normal interval of the paper, which is too narrow for so few labels
    assert 1 < found.corrected.width / (2 * 1.959964 * sqrt(variance)) < 1.35


def test_with_many_labels_the_interval_is_that_of_the_paper():
    """With 20,000 labels the padding is gone."""
    rng = Random(7)
    (y, f), (_, others) = sample(rng, 20_000), sample(rng, 100_000)

    found = prediction_powered_mean(Clusters.single(y), Clusters.single(f), Clusters.single(others), (0, 1))

    rest = np.subtract(y, np.multiply(found.power, f))
    half = 1.959964 * sqrt(np.var(rest) / 20_000 + found.power**2 * np.var(others) / 100_000)
    assert found.corrected.low == pytest.approx(found.corrected.value - half, abs=0.03 * half)
    assert found.corrected.high == pytest.approx(found.corrected.value + half, abs=0.03 * half)


def test_the_published_example_of_the_first_form_is_a_special_case():
    """With lambda = 1 it is the estimator of the first paper: mean(f) + mean(y - f); with 0 labels alone."""
    y, f, others = [1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0, 1.0]
    given = Clusters.single(y), Clusters.single(f), Clusters.single(others), (0.0, 1.0)

    assert prediction_powered_mean(*given, power=1.0).corrected.value == pytest.approx(0.6 + 0.0)
    assert prediction_powered_mean(*given, power=0.0).corrected.value == pytest.approx(0.75)


def test_a_useless_judge_gets_no_weight_and_costs_nothing():
    """Predictions without any variance have the weight 0, and the interval is that of the labels."""
    labels, _ = sample(Random(2), 60)

    found = prediction_powered_mean(
        Clusters.single(labels), Clusters.single([1.0] * 60), Clusters.single([1.0] * 600), (0, 1)
    )

    assert found.power == 0.0
    assert found.corrected == found.labelled
    assert (found.predicted.value, found.bias) == (1.0, 1.0 - np.mean(labels))


def test_labels_that_all_agree_do_not_make_the_interval_certain():
    """Without any disagreement among 60 labels the plain variance is 0; the judge may still err in some per cent."""
    y = [1.0] * 30 + [0.0] * 30

    found = prediction_powered_mean(
        Clusters.single(y), Clusters.single(y), Clusters.single([1.0, 0.0] * 50_000), (0, 1), power=1.0
    )

    assert found.corrected.value - found.corrected.low > 0.04


def test_the_unit_is_the_cluster():
    """A case that stands twice in the data does not count twice."""
    rng = Random(3)
    y, f = sample(rng, 80)
    _, others = sample(rng, 400)
    once = prediction_powered_mean(Clusters.single(y), Clusters.single(f), Clusters.single(others), (0, 1))

    twice = prediction_powered_mean(
        *(Clusters(tuple(2 * v for v in values), (2,) * len(values)) for values in (y, f, others)), (0, 1)
    )

    assert twice.corrected.value == pytest.approx(once.corrected.value)
    assert twice.corrected.width == pytest.approx(once.corrected.width, rel=0.01)


def test_it_covers_and_is_narrower_than_labels_alone():
    """
    Of 400 samples of 60 labels and 600 predictions the 95 % interval covers at least 354, and is narrower on average.

    With a coverage of .95 fewer are covered once in 10 million times (binomial).
    """
    rng = Random(4)
    covered, ratio = 0, 0.0
    for _ in range(400):
        y, f = sample(rng, 60)
        _, others = sample(rng, 600)
        found = prediction_powered_mean(Clusters.single(y), Clusters.single(f), Clusters.single(others), (0, 1))
        covered += found.corrected.low <= 0.6 <= found.corrected.high
        ratio += found.labelled.width / found.corrected.width / 400

    assert covered >= 354
    assert ratio > 1.2


@pytest.mark.parametrize(
    ("gold", "predicted", "others", "ends"),
    [
        ([1.0], [1.0], [1.0, 0.0], (0, 1)),
        ([1.0, 0.0], [1.0, 0.0], [1.0], (0, 1)),
        ([1.0, 0.0], [1.0], [1.0, 0.0], (0, 1)),
        ([1.0, 0.0], [1.0, 0.0], [1.0, 0.0], (1, 1)),
    ],
)
def test_too_little_is_refused(gold, predicted, others, ends):
    """Two labelled and two unlabelled clusters, a prediction for each label, and a range."""
    with pytest.raises(EstimateError):
        prediction_powered_mean(*map(Clusters.single, (gold, predicted, others)), ends)


def test_the_weight_is_never_negative():
    """A judge that says the opposite would get a negative weight; labels alone are safer."""
    y = [1.0, 0.0] * 30

    assert tuned_power(Clusters.single(y), Clusters.single([1 - v for v in y]), Clusters.single(y)) == 0.0


def test_it_agrees_with_the_authors_own_package():
    """
    ppi-python 0.2.3 gives .67470287 and, with lambda = 1, .7 on these data (`ppi_mean_pointestimate`).

    It divides the covariance by n and takes the variance about the mean of both samples, so that its lambda is .4940574
    here; the two differ by these factors alone.
    """
    y = [1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1]
    f = [1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1]
    others = [1, 1, 0, 1, 1, 0, 1, 1, 0, 1] * 10
    given = [Clusters.single(list(map(float, values))) for values in (y, f, others)]

    weight = tuned_power(*given)

    within = (np.var(f) * 20 + np.var(others) * 100) / 118
    theirs = weight * 19 / 20 * within / np.var([*f, *others], ddof=1)
    assert theirs == pytest.approx(0.4940574, abs=1e-6)
    assert prediction_powered_mean(*given, (0, 1), power=theirs).corrected.value == pytest.approx(0.67470287, abs=1e-8)
    assert prediction_powered_mean(*given, (0, 1), power=1.0).corrected.value == pytest.approx(0.7)
