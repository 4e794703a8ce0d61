"""The sequential probability ratio test: exact figures, and what a search promises."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.sprt import (
    _READY,
    SprtPlan,
    decide_sprt,
    operating_characteristics,
    plan_sprt,
    search_sprt,
    wald_bound,
)

NARROW = SprtPlan(0.90, 0.97, 3.2, -2.7, 161, 9)
WIDE = SprtPlan(0.90, 0.97, 2.944, -2.7, 205, 11)
RATES = [0.99, 0.97, 0.95, 0.93, 0.90, 0.80]


def test_the_characteristics_are_those_of_the_design(subtests):
    """Expected items and errors of two plans, as the design document computed them."""
    for plan, expected_n, pass_at_p0, fail_at_p1 in [
        (NARROW, [51.7, 77.8, 93.6, 82.7, 52.7, 17.5], 0.0495, 0.0494),
        (WIDE, [48.1, 73.8, 94.1, 84.5, 52.9, 17.5], 0.0498, 0.0475),
    ]:
        with subtests.test(plan=plan, expected_n=expected_n, pass_at_p0=pass_at_p0, fail_at_p1=fail_at_p1):
            found = [operating_characteristics(plan, p) for p in RATES]

            assert [c.expected_n for c in found] == pytest.approx(expected_n, abs=0.1)
            assert operating_characteristics(plan, 0.90).passes == pytest.approx(pass_at_p0, abs=1e-3)
            assert operating_characteristics(plan, 0.97).fails == pytest.approx(fail_at_p1, abs=1e-3)
            assert max(c.greatest_n for c in found) <= plan.cap


def test_walds_bound_is_the_published_one():
    """50.0 items at .90 and 72.5 at .97 for errors of .05."""
    assert wald_bound(0.90, 0.97, 0.05, 0.05) == pytest.approx((50.0, 72.5), abs=0.05)


def test_a_search_finds_what_is_ready(subtests):
    """The ready plans are the search's own."""
    for rates in [(0.90, 0.97), (0.80, 0.90), (0.60, 0.80), (0.95, 0.99)]:
        with subtests.test(rates=rates):
            assert search_sprt(*rates) == _READY[rates] == plan_sprt(*rates)


def test_ready_plans_keep_their_promise(subtests):
    """Errors of at most .05 and expected items within 8 % of Wald's bound, at both rates."""
    for rates in sorted(_READY):
        with subtests.test(rates=rates):
            plan = plan_sprt(*rates)
            at_p0, at_p1 = (operating_characteristics(plan, p) for p in rates)
            least = wald_bound(*rates, 0.05, 0.05)

            assert at_p0.passes <= 0.05
            assert at_p1.fails <= 0.05
            assert at_p0.expected_n <= 1.08 * least[0]
            assert at_p1.expected_n <= 1.08 * least[1]


def test_other_errors_are_searched_for():
    """Unequal errors are kept, too."""
    plan = plan_sprt(0.70, 0.90, 0.01, 0.10)

    assert operating_characteristics(plan, 0.70).passes <= 0.01
    assert operating_characteristics(plan, 0.90).fails <= 0.10


@given(st.floats(0.01, 0.99), st.sampled_from([1, 5, 20]))
@settings(max_examples=25, deadline=None)
def test_every_path_ends(p, every):
    """Pass and fail add up to one, whatever the rate and however calls are bundled."""
    found = operating_characteristics(NARROW, p, every=every)

    assert found.passes + found.fails == pytest.approx(1, abs=1e-9)
    assert 1 <= found.expected_n <= found.greatest_n <= NARROW.cap


def test_a_sure_rate_is_decided_surely(subtests):
    """Without chance there is one path: 3 failures, or 43 successes (43 * ln(.97 / .90) >= 3.2)."""
    for p, passes in [(0, 0.0), (1, 1.0)]:
        with subtests.test(p=p, passes=passes):
            found = operating_characteristics(NARROW, p)

            assert found.passes == passes
            assert found.expected_n == (43 if p else 3)


def test_the_characteristics_agree_with_simulated_decisions():
    """10,000 runs of `decide_sprt` at .95: the same share of passes and mean number of items."""
    rng = Random(6)
    passes = items = 0
    for _ in range(10_000):
        good = bad = 0
        while (outcome := decide_sprt(NARROW, good, bad)) == "UNDECIDED":
            hit = rng.random() < 0.95
            good, bad = good + hit, bad + (not hit)
        passes, items = passes + (outcome == "PASS"), items + good + bad
    exact = operating_characteristics(NARROW, 0.95)

    assert passes / 10_000 == pytest.approx(exact.passes, abs=0.02)
    assert items / 10_000 == pytest.approx(exact.expected_n, abs=2)


def test_wrong_designs_raise(subtests):
    """A test that cannot be is an error."""
    for call in [
        lambda: plan_sprt(0.97, 0.90),
        lambda: plan_sprt(0.90, 0.97, 0.6),
        lambda: plan_sprt(0.900, 0.901),
        lambda: wald_bound(0.0, 0.5, 0.05, 0.05),
        lambda: operating_characteristics(NARROW, 1.5),
        lambda: operating_characteristics(NARROW, 0.5, every=0),
        lambda: decide_sprt(NARROW, -1, 0),
        lambda: decide_sprt(NARROW, 150, 12),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
