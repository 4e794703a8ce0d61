"""Intervals against known values, against scipy and statsmodels, and for what must hold of every interval."""

from math import isnan
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.intervals import (
    bca_bootstrap,
    clopper_pearson,
    cluster_bootstrap,
    newcombe,
    newcombe_paired,
    padded_t,
    smallest_n,
    tango,
    wilson,
)

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.sampled_from([0.01, 0.025, 0.05, 0.1, 0.2])


@pytest.mark.parametrize(("n", "level", "upper"), [(200, 0.05, 0.0149), (200, 0.03, 0.0175)])
def test_padded_t_equals_the_exact_bound_where_nothing_varies(n, level, upper):
    """With all values 0 the upper bound is that of Clopper and Pearson: 1 - level ** (1 / n)."""
    found = padded_t([0.0] * n, -0.5, 1.0, level)[1]

    assert found == pytest.approx(upper, abs=5e-5)
    assert found == pytest.approx(clopper_pearson(0, n, level)[1], abs=2e-4)


@pytest.mark.parametrize(("room", "level", "n"), [(0.05, 0.05, 60), (0.05, 0.03, 71), (0.1, 0.05, 30), (0.1, 0.03, 36)])
def test_the_smallest_n_is_where_the_bound_reaches_the_limit(room, level, n):
    """ln(1 / level) / room items of value 0 prove a limit of `room`, within two items."""
    assert smallest_n(room, level) == n
    assert padded_t([0.0] * (n + 2), -0.5, 1.0, level)[1] <= room
    assert padded_t([0.0] * (n - 2), -0.5, 1.0, level)[1] > room


@pytest.mark.parametrize(("n", "low"), [(29, 0.902), (59, 0.9505), (99, 0.970)])
def test_clopper_pearson_of_no_failure_is_a_root_of_the_level(n, low):
    """Without a failure the lower bound is level ** (1 / n)."""
    assert clopper_pearson(n, n, 0.05)[0] == pytest.approx(0.05 ** (1 / n), abs=1e-12)
    assert clopper_pearson(n, n, 0.05)[0] == pytest.approx(low, abs=5e-4)


@given(COUNTS, LEVELS)
@settings(max_examples=100, deadline=None)
def test_rates_agree_with_scipy(counts, level):
    """Both intervals for a rate equal scipy's, one-sided and two-sided."""
    from scipy.stats import binomtest

    k, n = counts
    for ours, theirs in ((clopper_pearson, "exact"), (wilson, "wilson")):
        two = binomtest(k, n).proportion_ci(1 - level, method=theirs)
        low = binomtest(k, n, alternative="greater").proportion_ci(1 - level, method=theirs).low
        assert ours(k, n, level, sides=2) == pytest.approx((two.low, two.high), abs=1e-8)
        assert ours(k, n, level)[0] == pytest.approx(low, abs=1e-8)


def test_clopper_pearson_takes_an_effective_sample_size():
    """Real-valued counts lie between those of the whole numbers around them."""
    low, middle, high = (clopper_pearson(0.9 * n, n, 0.05)[0] for n in (40, 45.5, 50))

    assert low < middle < high


@given(COUNTS, COUNTS, LEVELS)
@settings(max_examples=60, deadline=None)
def test_newcombe_agrees_with_statsmodels(first, second, level):
    """The difference of independent rates has statsmodels' bounds (its method "newcomb")."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    theirs = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff", alpha=level)

    assert newcombe(*first, *second, level, sides=2) == pytest.approx(theirs, abs=1e-8)


def test_paired_differences_have_the_published_bounds():
    """40 against 20 changed items of 160: Tango 1998, and Newcombe's method 10."""
    assert tango(40, 20, 160, 0.05, sides=2) == pytest.approx((0.0309, 0.2181), abs=5e-5)
    assert newcombe_paired(60, 40, 20, 40, 0.05, sides=2) == pytest.approx((0.0306, 0.2159), abs=5e-5)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 200), LEVELS)
@settings(max_examples=100, deadline=None)
def test_tango_is_ordered_and_antisymmetric(first_only, second_only, rest, level):
    """The bounds hold the estimate, stay in [-1, 1], and turn with the roles."""
    n = first_only + second_only + rest
    low, high = tango(first_only, second_only, n, level)
    turned = tango(second_only, first_only, n, level)

    assert -1 <= low <= (first_only - second_only) / n + 1e-9
    assert (first_only - second_only) / n - 1e-9 <= high <= 1
    assert (low, high) == pytest.approx((-turned[1], -turned[0]), abs=1e-9)


def test_tango_inverts_the_score_test_without_changes():
    """With no changed item the bound solves n d / (1 + ...) = z^2: z^2 / (n + z^2), as Wilson's for no success."""
    z2 = 1.6448536**2

    assert tango(0, 0, 100, 0.05)[1] == pytest.approx(z2 / (100 + z2), abs=1e-6)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=60), LEVELS)
@settings(max_examples=60, deadline=None)
def test_every_interval_of_a_mean_is_ordered_and_inside(values, level):
    """Bounds are ordered, hold the mean, and no bound is NaN."""
    mean = sum(values) / len(values)
    padded = padded_t(values, 0.0, 1.0, level)
    resampled = cluster_bootstrap(values, Random(1), draws=200, level=level)
    corrected = bca_bootstrap(values, Random(1), draws=200, level=level)

    assert padded[0] <= mean <= padded[1]
    assert all(0 <= low <= high <= 1 for low, high in (resampled, corrected))
    assert not any(isnan(bound) for pair in (padded, resampled, corrected) for bound in pair)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bca_agrees_with_scipy(seed):
    """The same bounds as scipy.stats.bootstrap, but for the draws."""
    from scipy.stats import bootstrap

    values = [Random(seed).betavariate(4, 0.5) for _ in range(80)]
    values = [value**4 if i % 5 == 0 else value for i, value in enumerate(values)]
    theirs = bootstrap((values,), np.mean, n_resamples=20000, method="BCa", rng=seed)
    percentile = bootstrap((values,), np.mean, n_resamples=20000, method="percentile", rng=seed)

    assert bca_bootstrap(values, Random(seed), draws=20000, level=0.05, sides=2) == pytest.approx(
        tuple(theirs.confidence_interval), abs=0.003
    )
    assert cluster_bootstrap(values, Random(seed), draws=20000, level=0.05, sides=2) == pytest.approx(
        tuple(percentile.confidence_interval), abs=0.003
    )


def test_bca_of_equal_items_is_the_exact_bound_where_scipy_has_none():
    """All items equal: scipy returns NaN, we the bounds of Clopper and Pearson."""
    assert bca_bootstrap([1.0] * 100, Random(1)) == clopper_pearson(100, 100, 0.05)
    assert bca_bootstrap([0.5] * 100, Random(1)) == clopper_pearson(50, 100, 0.05)


def test_the_same_seed_gives_the_same_bootstrap():
    """Randomness comes from the argument alone."""
    values = [Random(5).random() for _ in range(40)]

    assert bca_bootstrap(values, Random(7)) == bca_bootstrap(values, Random(7))


@pytest.mark.parametrize(
    "call",
    [
        lambda: padded_t([0.0], 0.0, 1.0, 0.05),
        lambda: padded_t([0.0, float("nan")], 0.0, 1.0, 0.05),
        lambda: padded_t([0.0, 2.0], 0.0, 1.0, 0.05),
        lambda: padded_t([0.0, 1.0], 0.0, 1.0, 0.7),
        lambda: clopper_pearson(0, 0, 0.05),
        lambda: clopper_pearson(3, 2, 0.05),
        lambda: wilson(-1, 10, 0.05),
        lambda: wilson(float("nan"), 10, 0.05),
        lambda: wilson(1, 10, 0.6),
        lambda: newcombe(1, 10, 0, 0, 0.05),
        lambda: tango(6, 5, 10, 0.05),
        lambda: newcombe_paired(0, 0, 0, 0, 0.05),
        lambda: newcombe_paired(5, -1, 2, 3, 0.05),
        lambda: cluster_bootstrap([], Random(1)),
        lambda: bca_bootstrap([0.2, 1.4], Random(1)),
        lambda: bca_bootstrap([0.2, 0.4], Random(1), draws=10),
        lambda: smallest_n(0.0, 0.05),
    ],
)
def test_no_data_or_wrong_data_raise(call):
    """Nothing to estimate from is an error, never a number."""
    with pytest.raises(EstimateError, match="expected"):
        call()
