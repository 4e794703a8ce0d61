"""Paired tests against scipy, and where exactness matters."""

from itertools import product
from math import inf
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.paired import exchangeable_shift, mcnemar_exact, paired_t

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


def test_a_shift_that_signs_alone_make_is_as_rare_as_said(subtests):
    """Of all signs that some differences can have, at most a share `level` puts the lower bound above 0: counted."""
    rng = Random(5)
    drawn = {
        "alike": [1.0] * 12,
        "few": [1.0] * 9 + [0.0] * 60,
        "uneven": [rng.random() ** 3 for _ in range(12)],
        "one large": [5.0] + [1.0] * 11,
    }
    for name, sizes in drawn.items():
        for level in (0.1, 0.05, 0.02, 0.01):
            with subtests.test(name=name, level=level):
                moved = [size for size in sizes if size]
                still = [0.0] * (len(sizes) - len(moved))
                above = [
                    exchangeable_shift(
                        [*(s * d for s, d in zip(signs, moved, strict=True)), *still], [1] * len(sizes), level
                    )
                    for signs in product((-1, 1), repeat=len(moved))
                ]

                assert sum(low > 0 for low, _ in above) <= level * len(above)
                assert sum(high < 0 for _, high in above) <= level * len(above)


def test_a_shift_moves_with_its_data_and_is_a_mean_over_all_items():
    """Bounds lie about the ratio of sums, whatever the sizes of clusters; more alike data have nearer bounds."""
    sums, sizes = [1.0, 0.0, 3.0, 1.0, 2.0, 0.5] * 10, [2, 1, 4, 2, 3, 1] * 10
    low, high = exchangeable_shift(sums, sizes, 0.05)
    up = exchangeable_shift([s + 0.1 * n for s, n in zip(sums, sizes, strict=True)], sizes, 0.05)

    assert (low + high) / 2 == pytest.approx(sum(sums) / sum(sizes))
    assert up == pytest.approx((low + 0.1, high + 0.1))
    assert exchangeable_shift([0.2] * 50, [1] * 50, 0.05) == pytest.approx((0.2, 0.2))
    assert exchangeable_shift([0.2] * 4, [1] * 4, 0.05) == (-inf, inf)


def test_no_data_or_wrong_data_raise(subtests):
    """Nothing to test is an error, never a p-value."""
    for call in [
        lambda: mcnemar_exact(-1, 2),
        lambda: paired_t([1.0]),
        lambda: paired_t([0.5, 0.5, 0.5]),
        lambda: exchangeable_shift([1.0], [1], 0.05),
        lambda: exchangeable_shift([1.0, 2.0], [1], 0.05),
        lambda: exchangeable_shift([1.0, 2.0], [1, 1], 0.2),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
