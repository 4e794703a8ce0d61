"""The incomplete beta function and its quantiles agree with scipy's."""

import math

import pytest
from scipy import special

from calm.errors import EstimateError
from calm.statistics.intervals import betainc, betaincinv, student_quantile

SIZES = (0.5, 1, 2, 7, 50, 300, 5000, 1e5)


def test_quantiles_of_student_agree_with_scipy(subtests):
    """Far tails and both signs to nine digits; near the middle, where the quantile is 0, to a millionth."""
    for df in [1, 2, 3, 5, 10, 29, 99, 199, 999, 9999, 1e5]:
        with subtests.test(df=df):
            for tail in (1e-12, 1e-9, 1e-6, 1e-4, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4):
                upper, lower = student_quantile(df, 1 - tail), student_quantile(df, tail)
                assert lower == pytest.approx(special.stdtrit(df, tail), rel=1e-9)
                assert upper == pytest.approx(special.stdtrit(df, 1 - tail), rel=1e-9)
            assert student_quantile(df, 0.5) == 0
            assert student_quantile(df, 0.5 + 1e-7) == pytest.approx(special.stdtrit(df, 0.5 + 1e-7), abs=2e-6)


def test_the_function_and_its_inverse_agree_with_scipy(subtests):
    """Small and large shapes, to eight digits."""
    for b in SIZES:
        for a in SIZES:
            with subtests.test(a=a, b=b):
                for x in (0.0, 1e-9, 1e-4, 0.01, 0.2, 0.5, 0.7, 0.99, 1 - 1e-6, 1.0):
                    assert betainc(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-8, abs=1e-12)
                for p in (0.0, 1e-6, 0.001, 0.025, 0.05, 0.5, 0.95, 0.999, 1.0):
                    assert betaincinv(a, b, p) == pytest.approx(special.betaincinv(a, b, p), rel=1e-8, abs=1e-14)


def test_what_cannot_be_is_refused(subtests):
    """The message says what was expected and what came."""
    for call in [
        lambda: betainc(0, 1, 0.5),
        lambda: betainc(1, 1, 1.5),
        lambda: betainc(1, math.nan, 0.5),
        lambda: betaincinv(1, 1, -0.1),
        lambda: student_quantile(0, 0.5),
        lambda: student_quantile(3, 1.0),
        lambda: student_quantile(3, math.nan),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
