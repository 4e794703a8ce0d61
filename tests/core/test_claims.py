"""Claims and decisions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.core.claims import STILL, SURER, Claim, Estimate, Outcome, cases_to_decide, decide, decimals
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


def test_a_forecast_shrinks_what_varies_with_the_root_of_n(subtests):
    """
    Where n is large what stands still is nothing: an interval 1.5 times too wide takes 2.25 * `SURER` times the cases.

    `SURER` is for four of five runs; the bound that lies towards the limit counts, from either side.
    """
    for value, low, high, claim in [
        (0.0200, -0.1000, 0.0320, Claim("gain", "<=", 0.028)),
        (0.2000, 0.1880, 0.4000, Claim("gain", "<=", 0.192)),
        (-0.020, -0.0320, 0.0300, Claim("mean_shift", "abs<=", 0.028)),
    ]:
        with subtests.test(claim=str(claim)):
            needed = cases_to_decide(Estimate(value, low, high, 40_000, 0.05), claim, 30)

            assert needed == pytest.approx(SURER * 2.25 * 40_000, rel=0.01)


def test_a_forecast_for_a_judge_that_never_moves_is_what_a_proof_takes():
    """All of its interval stands still, and shrinks with n."""
    still = Estimate(0.0, 0.0, STILL / 40, 40, 0.05)

    assert cases_to_decide(still, Claim("gain", "<=", 0.05), 30) == pytest.approx(STILL / 0.05, abs=1)
    assert cases_to_decide(still, Claim("gain", "<=", 0.05), 200) == 200


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
