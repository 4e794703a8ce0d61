"""Plans of looks: published levels, their total error, and the decision they make."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.intervals import padded_t
from calm.statistics.sequential import (
    TOPPED_UP,
    TWO_PLUS_TWO,
    TWO_STAGE,
    Look,
    first_crossing,
    nominal_levels,
    plan_for,
    repeated_interval,
    spending,
    total_errors,
)


def levels(plan, kind):
    """Return the looks that spend something on a pass or a fail, as (weights, levels)."""
    looks = [look for look in plan.looks if getattr(look, kind) is not None]
    weights = [look.n * (TOPPED_UP if look.topped else 1) for look in looks]
    return weights, [getattr(look, kind) for look in looks]


def test_one_look_is_taken_at_the_whole_level():
    """A single look spends everything."""
    assert spending(0.05, [200]) == pytest.approx((0.05,), abs=1e-6)


def test_equal_boundaries_have_pococks_level():
    """Five equally spaced looks at a two-sided nominal level of .0158 err .05 in total (Pocock 1977, table 1)."""
    assert total_errors([0.0158 / 2] * 5, [1, 2, 3, 4, 5])[-1] * 2 == pytest.approx(0.05, abs=3e-4)


def test_naive_looks_err_as_armitage_found():
    """Ten looks at a two-sided level of .05 err .193 in total (Armitage, McPherson & Rowe 1969, table 2)."""
    assert total_errors([0.025] * 10, range(1, 11))[-1] * 2 == pytest.approx(0.193, abs=2e-3)


def test_the_levels_of_two_plus_two_are_linear_spending(subtests):
    """The published levels come out of the integration within .0002, and total .05."""
    for kind in ["prove", "disprove"]:
        with subtests.test(kind=kind):
            weights, published = levels(TWO_PLUS_TWO, kind)

            assert spending(0.05, weights) == pytest.approx(published, abs=2e-4)
            assert total_errors(published, weights)[-1] == pytest.approx(0.05, abs=5e-4)


def test_the_levels_of_two_stages_spend_as_described(subtests):
    """The published levels come out of the integration within .0004, and total .05."""
    for kind, spent in [
        ("prove", [0.02, 0.025, 0.03, 0.035, 0.05]),
        ("disprove", [0.01, 0.015, 0.02, 0.025, 0.03, 0.05]),
    ]:
        with subtests.test(kind=kind, spent=spent):
            weights, published = levels(TWO_STAGE, kind)

            assert nominal_levels(spent, weights) == pytest.approx(published, abs=4e-4)
            assert total_errors(published, weights) == pytest.approx(spent, abs=6e-4)


@given(st.lists(st.floats(0.002, 0.02), min_size=1, max_size=4), st.integers(1, 60))
@settings(max_examples=10, deadline=None)
def test_levels_and_errors_are_inverse(steps, first):
    """What is spent by given levels gives these levels back."""
    spent = [sum(steps[: i + 1]) for i in range(len(steps))]
    looks = [first * (i + 1) for i in range(len(steps))]

    assert total_errors(nominal_levels(spent, looks), looks) == pytest.approx(spent, abs=1e-6)


def test_a_claim_is_decided_at_the_first_look_that_can(subtests):
    """A look needs its items; a pass needs a look that may pass."""
    for values, direction, expected in [
        ([0.0] * 79, "<=", ("UNDECIDED", 79)),
        ([0.0] * 80, "<=", ("PASS", 80)),
        ([0.0] * 200, "<=", ("PASS", 80)),
        ([1.0] * 39, "<=", ("UNDECIDED", 39)),
        ([1.0] * 40, "<=", ("FAIL", 40)),
        ([1.0] * 80, ">=", ("PASS", 80)),
        ([0.0] * 40, ">=", ("UNDECIDED", 40)),
        ([-0.4] * 40, ">=", ("FAIL", 40)),
        ([-0.4] * 40, "abs<=", ("FAIL", 40)),
        ([0.4] * 40, "abs<=", ("FAIL", 40)),
    ]:
        with subtests.test(values=values, direction=direction, expected=expected):
            assert first_crossing(values, 0.05, direction, -0.5, 1.0) == expected


def test_a_top_up_decides_what_the_first_stage_left_open():
    """The topped-up look comes last and reads the values after more asks."""
    noisy = [0.5, -0.5, 0.0, 0.1] * 50
    calm = [v / 4 for v in noisy]

    assert first_crossing(noisy, 0.05, "<=", -0.5, 1.0)[0] == "UNDECIDED"
    assert first_crossing(noisy, 0.05, "<=", -0.5, 1.0, topped=calm) == ("PASS", 200)


def test_fewer_items_than_planned_still_get_a_last_look():
    """When no more items come, the last look of the stage is taken at those there are."""
    values = [0.0] * 190  # ln(1 / .0218) / 160 = .024 and ln(1 / .0259) / 190 = .019
    open_ended = first_crossing(values, 0.021, "<=", 0.0, 1.0, plan=TWO_PLUS_TWO)

    assert open_ended == ("UNDECIDED", 190)
    assert first_crossing(values, 0.021, "<=", 0.0, 1.0, plan=TWO_PLUS_TWO, closed=True) == ("PASS", 190)


def test_the_interval_after_a_stop_agrees_with_the_decision():
    """A pass has its bound within the limit, a fail its other bound beyond it."""
    look = TWO_PLUS_TWO.looks[1]
    passing, failing = [0.0] * 80, [0.5] * 80

    assert repeated_interval(passing, "<=", -0.5, 1.0, look)[1] <= 0.05
    assert repeated_interval(failing, "<=", -0.5, 1.0, look)[0] > 0.05
    assert repeated_interval(passing, ">=", -0.5, 1.0, look) == (
        padded_t(passing, -0.5, 1.0, look.prove)[0],
        padded_t(passing, -0.5, 1.0, look.disprove)[1],
    )
    assert repeated_interval(passing, "abs<=", -1.0, 1.0, Look(40, None, 0.01)) == (-1.0, 1.0)


def test_a_plan_scales_with_the_number_of_items():
    """Looks keep their shares and their levels."""
    assert plan_for(200) == TWO_STAGE
    assert [look.n for look in plan_for(99, plan=TWO_PLUS_TWO).looks] == [20, 40, 60, 80, 99]


def test_no_data_or_wrong_data_raise(subtests):
    """Nothing to decide on is an error."""
    for call in [
        lambda: spending(0.05, []),
        lambda: spending(0.05, [40, 40]),
        lambda: spending(0.7, [40, 80]),
        lambda: nominal_levels([0.01], [10, 20]),
        lambda: nominal_levels([0.02, 0.01], [10, 20]),
        lambda: total_errors([0.6], [10]),
        lambda: first_crossing([], 0.05, "<=", 0.0, 1.0),
        lambda: first_crossing([7.0] * 40, 0.05, "<=", 0.0, 1.0),
        lambda: plan_for(3),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
