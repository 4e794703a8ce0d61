"""Intervals against known values, against scipy and statsmodels, and for what must hold of every interval."""

from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.intervals import (
    clopper_pearson,
    newcombe,
    padded_t,
    smallest_n,
    wilson,
)

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.sampled_from([0.01, 0.025, 0.05, 0.1, 0.2])


def test_padded_t_equals_the_exact_bound_where_nothing_varies(subtests):
    """With all values 0 the upper bound is that of Clopper and Pearson: 1 - level ** (1 / n)."""
    for n, level, upper in [(200, 0.05, 0.0149), (200, 0.03, 0.0175)]:
        with subtests.test(n=n, level=level, upper=upper):
            found = padded_t([0.0] * n, -0.5, 1.0, level)[1]

            assert found == pytest.approx(upper, abs=5e-5)
            assert found == pytest.approx(clopper_pearson(0, n, level)[1], abs=2e-4)


def test_the_smallest_n_is_where_the_bound_reaches_the_limit(subtests):
    """ln(1 / level) / room items of value 0 prove a limit of `room`, within two items."""
    for room, level, n in [(0.05, 0.05, 60), (0.05, 0.03, 71), (0.1, 0.05, 30), (0.1, 0.03, 36)]:
        with subtests.test(room=room, level=level, n=n):
            assert smallest_n(room, level) == n
            assert padded_t([0.0] * (n + 2), -0.5, 1.0, level)[1] <= room
            assert padded_t([0.0] * (n - 2), -0.5, 1.0, level)[1] > room


def test_clopper_pearson_of_no_failure_is_a_root_of_the_level(subtests):
    """Without a failure the lower bound is level ** (1 / n)."""
    for n, low in [(29, 0.902), (59, 0.9505), (99, 0.970)]:
        with subtests.test(n=n, low=low):
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


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=60), LEVELS)
@settings(max_examples=60, deadline=None)
def test_every_interval_of_a_mean_is_ordered_and_inside(values, level):
    """Bounds are ordered, hold the mean, and no bound is NaN."""
    mean = sum(values) / len(values)
    padded = padded_t(values, 0.0, 1.0, level)

    assert padded[0] <= mean <= padded[1]
    assert not any(isnan(bound) for bound in padded)


def test_no_data_or_wrong_data_raise(subtests):
    """Nothing to estimate from is an error, never a number."""
    for call in [
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
        lambda: smallest_n(0.0, 0.05),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
