"""Paired tests against scipy, and where exactness matters."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.paired import mcnemar_exact, paired_t, sign_flip_test

ALTERNATIVES = ["greater", "less", "two-sided"]
STEPS = st.sampled_from([-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0])


@given(st.lists(STEPS, min_size=1, max_size=9), st.sampled_from(ALTERNATIVES))
@settings(max_examples=60, deadline=None)
def test_sign_flip_equals_an_enumeration_of_all_signs(values, alternative):
    """The distribution of sums is the one that trying all 2 ** n signs gives."""
    sums = [sum(s * v for s, v in zip(signs, values, strict=True)) for signs in product((1, -1), repeat=len(values))]
    seen = sum(values)
    extreme = {"greater": lambda s: s >= seen, "less": lambda s: s <= seen, "two-sided": lambda s: abs(s) >= abs(seen)}
    expected = sum(map(extreme[alternative], sums)) / len(sums)

    assert sign_flip_test(values, alternative=alternative) == pytest.approx(expected)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sign_flip_agrees_with_scipy(alternative):
    """scipy.stats.permutation_test, exact for 12 differences."""
    from scipy.stats import permutation_test

    values = np.array([0.3, -0.1, 0.8, 0.2, 0.45, -0.3, 0.7, 0.11, 0.05, 0.62, -0.2, 0.33])
    theirs = permutation_test(
        (values,), lambda x, axis: x.mean(axis), permutation_type="samples", alternative=alternative, vectorized=True
    )

    assert sign_flip_test(list(values), alternative=alternative) == pytest.approx(theirs.pvalue, abs=1e-9)


def test_sign_flip_is_exact_for_a_whole_gate():
    """200 differences in quarters have few sums, so no draw is needed: 20 gains against 5 losses."""
    values = [1.0] * 20 + [-1.0] * 5 + [0.0] * 175

    assert sign_flip_test(values, alternative="greater") == pytest.approx(mcnemar_exact(20, 5, alternative="greater"))


def test_sign_flip_draws_where_it_cannot_enumerate():
    """Many distinct differences need an rng; the p-value is never 0 and near that of Student's t."""
    rng = Random(3)
    values = [rng.gauss(0.25, 1) for _ in range(80)]

    with pytest.raises(EstimateError, match="expected rng"):
        sign_flip_test(values)
    assert sign_flip_test(values, Random(1)) == pytest.approx(paired_t(values).p, abs=0.02)
    assert sign_flip_test([v + 9 for v in values], Random(1), draws=999) == pytest.approx(1 / 1000)


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=100, deadline=None)
def test_mcnemar_agrees_with_scipy(b, c):
    """The exact binomial test of the changed items, one-sided and two-sided."""
    from scipy.stats import binom, binomtest

    for alternative in ALTERNATIVES:
        expected = binomtest(b, b + c, 0.5, alternative).pvalue if b + c else 1.0
        assert mcnemar_exact(b, c, alternative=alternative) == pytest.approx(expected, rel=1e-9)
    if b + c:
        mid = binom.sf(b - 1, b + c, 0.5) - 0.5 * binom.pmf(b, b + c, 0.5)
        assert mcnemar_exact(b, c, alternative="greater", mid_p=True) == pytest.approx(mid, abs=1e-9)


def test_mcnemar_agrees_with_statsmodels():
    """The two-sided exact test of statsmodels."""
    from statsmodels.stats.contingency_tables import mcnemar

    assert mcnemar_exact(15, 4) == pytest.approx(mcnemar([[50, 15], [4, 30]], exact=True).pvalue)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_paired_t_agrees_with_scipy(alternative):
    """Student's t, and Hedges' g with the usual approximation 1 - 3 / (4 df - 1) of its correction."""
    from scipy.stats import ttest_1samp

    rng = Random(11)
    values = [rng.gauss(0.1, 0.4) for _ in range(30)]
    ours, theirs = paired_t(values, alternative=alternative), ttest_1samp(values, 0, alternative=alternative)

    assert (ours.t, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert ours.d_z == pytest.approx(np.mean(values) / np.std(values, ddof=1))
    assert ours.g_z == pytest.approx(ours.d_z * (1 - 3 / (4 * ours.df - 1)), rel=1e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sign_flip_test([]),
        lambda: sign_flip_test([float("nan")]),
        lambda: mcnemar_exact(-1, 2),
        lambda: paired_t([1.0]),
        lambda: paired_t([0.5, 0.5, 0.5]),
    ],
)
def test_no_data_or_wrong_data_raise(call):
    """Nothing to test is an error, never a p-value."""
    with pytest.raises(EstimateError, match="expected"):
        call()
