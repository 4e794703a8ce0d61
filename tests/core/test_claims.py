"""Claims and decisions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.core.claims import Claim, Estimate, Outcome, cases_to_decide, decide, decimals
from calm.errors import ClaimError

LIMITS = {">=": 0.6, "<=": 0.1, "abs<=": 0.05}


def test_the_interval_decides(subtests):
    """PASS if it lies on the right side of the limit, FAIL on the wrong one, else UNDECIDED."""
    for op, low, high, outcome in [
        (">=", 0.6, 0.9, "PASS"),  # at the limit it is proven
        (">=", 0.61, 0.9, "PASS"),
        (">=", 0.5, 0.9, "UNDECIDED"),
        (">=", 0.5, 0.6, "UNDECIDED"),
        (">=", 0.3, 0.59, "FAIL"),
        ("<=", -0.1, 0.1, "PASS"),
        ("<=", -0.1, 0.11, "UNDECIDED"),
        ("<=", 0.1, 0.3, "UNDECIDED"),
        ("<=", 0.11, 0.3, "FAIL"),
        ("abs<=", -0.05, 0.05, "PASS"),
        ("abs<=", -0.06, 0.05, "UNDECIDED"),
        ("abs<=", -0.05, 0.06, "UNDECIDED"),
        ("abs<=", -0.5, 0.5, "UNDECIDED"),
        ("abs<=", 0.06, 0.3, "FAIL"),
        ("abs<=", -0.3, -0.06, "FAIL"),
    ]:
        with subtests.test(op=op, low=low, high=high, outcome=outcome):
            estimate = Estimate((low + high) / 2, low, high, 100, 0.05)

            assert decide(estimate, Claim("m", op, LIMITS[op])) is Outcome(outcome)


BOUNDS = st.tuples(*[st.floats(-1, 1)] * 3).map(sorted)
OPS = st.sampled_from([">=", "<=", "abs<="])


@settings(derandomize=True, deadline=None)
@given(BOUNDS, OPS, st.floats(0.01, 0.9), st.integers(2, 500), st.integers(2, 100))
def test_a_forecast_is_never_below_what_was_there(bounds, op, limit, n, smallest):
    """More cases than now and at least as many as can pass at all; or None."""
    low, value, high = bounds

    needed = cases_to_decide(Estimate(value, low, high, n, 0.03), Claim("m", op, limit), smallest)

    assert needed is None or needed >= max(smallest, n + 1)


def test_a_forecast_shrinks_the_interval_with_the_root_of_n():
    """Value .02 with upper bound .14 at n = 40 and limit .10: .12/.08 = 1.5 times too wide, so 2.25 times the cases."""
    assert cases_to_decide(Estimate(0.02, -0.1, 0.14, 40, 0.05), Claim("gain", "<=", 0.10), 30) == 90
    assert cases_to_decide(Estimate(0.02, -0.1, 0.14, 40, 0.05), Claim("gain", "<=", 0.10), 200) == 200


def test_a_forecast_of_a_failure_looks_at_the_other_bound():
    """Value .20 above the limit .10, lower bound .05: .15/.10 = 1.5, so 2.25 times the cases."""
    assert cases_to_decide(Estimate(0.20, 0.05, 0.4, 40, 0.05), Claim("gain", "<=", 0.10), 30) == 90


def test_a_two_sided_forecast_looks_at_the_nearer_edge():
    """Value -.02, lower bound -.08, limit .05: .06/.03 = 2, so four times the cases."""
    assert cases_to_decide(Estimate(-0.02, -0.08, 0.03, 50, 0.05), Claim("mean_shift", "abs<=", 0.05), 60) == 200


def test_a_value_at_the_limit_is_never_decided(subtests):
    """No number of cases tells it from the limit."""
    for op, value in [("<=", 0.1), (">=", 0.1), ("abs<=", 0.1), ("abs<=", -0.1)]:
        with subtests.test(op=op, value=value):
            assert cases_to_decide(Estimate(value, value - 0.1, value + 0.1, 50, 0.05), Claim("m", op, 0.1), 30) is None


def test_a_claim_reads_as_it_is_written():
    """Its text is the Python that builds it."""
    assert str(Claim("gain", "<=", 0.1)) == "gain <= 0.10"
    assert repr(Claim("mean_shift", "abs<=", 0.05)) == "abs(mean_shift) <= 0.05"
    assert str(Claim("net_robustness", ">=", 0.975)) == "net_robustness >= 0.975"


def test_limits_are_shown_with_two_decimals_or_all_they_have(subtests):
    """Never rounded."""
    for value, text in [(0.1, "0.10"), (0.005, "0.005"), (1, "1.00"), (-0.05, "-0.05"), (0.0, "0.00")]:
        with subtests.test(value=value, text=text):
            assert decimals(value) == text


def test_a_claim_has_no_truth_of_its_own():
    """`assert gain <= .1` would always hold; it is an error that says what to write."""
    with pytest.raises(ClaimError, match=r"probe\(\.\.\.\)\.proves\(gain <= 0\.10\)"):
        bool(Claim("gain", "<=", 0.1))
