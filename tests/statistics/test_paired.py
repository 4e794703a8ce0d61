"""Paired tests against scipy, and where exactness matters."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.paired import mcnemar_exact, paired_t

ALTERNATIVES = ["greater", "less", "two-sided"]
STEPS = st.sampled_from([-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0])


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


def test_paired_t_agrees_with_scipy(subtests):
    """Student's t, and Hedges' g with the usual approximation 1 - 3 / (4 df - 1) of its correction."""
    for alternative in ALTERNATIVES:
        with subtests.test(alternative=alternative):
            from scipy.stats import ttest_1samp

            rng = Random(11)
            values = [rng.gauss(0.1, 0.4) for _ in range(30)]
            ours, theirs = paired_t(values, alternative=alternative), ttest_1samp(values, 0, alternative=alternative)

            assert (ours.t, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))
            assert ours.d_z == pytest.approx(np.mean(values) / np.std(values, ddof=1))
            assert ours.g_z == pytest.approx(ours.d_z * (1 - 3 / (4 * ours.df - 1)), rel=1e-3)


def test_no_data_or_wrong_data_raise(subtests):
    """Nothing to test is an error, never a p-value."""
    for call in [
        lambda: mcnemar_exact(-1, 2),
        lambda: paired_t([1.0]),
        lambda: paired_t([0.5, 0.5, 0.5]),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
