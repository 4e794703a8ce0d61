"""The padded t: known values, properties, coverage."""

import math
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from calm.errors import EstimateError
from calm.statistics.intervals import pad, padded_t, smallest_n

ITEMS = st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=60)
LEVELS = st.sampled_from([0.05, 0.03, 0.025, 0.01])


@pytest.mark.parametrize(
    ("level", "weight", "places"), [(0.05, 1.197, 3), (0.03, 1.33, 2), (0.025, 1.38, 2), (0.02, 1.444, 3)]
)
def test_the_weight_of_the_pad(level, weight, places):
    """w(a) = ((sqrt(z^2 + 4 ln(1/a)) - z)/2)^2; at .05: z = 1.645, ln 20 = 2.996, ((3.833 - 1.645)/2)^2 = 1.197."""
    assert round(pad(level), places) == weight


@pytest.mark.parametrize("level", [0.0, -0.1, 0.5, 1.0, float("nan")])
def test_a_level_must_lie_between_nought_and_a_half(level):
    """Anything else has no one-sided bound."""
    with pytest.raises(EstimateError, match="level="):
        pad(level)


@pytest.mark.parametrize(("level", "upper"), [(0.05, 0.0149), (0.03, 0.0175)])
def test_the_upper_bound_where_nothing_flips(level, upper):
    """All e = 0, n = 200; the exact binomial bound 1 - a^(1/200) is .0149 at .05 and .0174 at .03."""
    found = padded_t([0.0] * 200, -0.5, 1.0, level)[1]

    assert round(found, 4) == upper
    assert found == pytest.approx(1 - level ** (1 / 200), abs=1.5e-4)


def test_a_worked_example():
    """n = 4, one 1 of four in [0, 1] at .05: N = 5.1965, M = 2.1965/N, V = M - M^2, t(3) = 2.3534."""
    size, mean = 5.19651, 2.19651 / 5.19651
    expected = mean + 2.35336 * math.sqrt((mean - mean**2) / (size - 1))

    lower, upper = padded_t([1.0, 0.0, 0.0, 0.0], 0.0, 1.0, 0.05)

    assert upper == pytest.approx(expected, abs=1e-4)
    assert lower == pytest.approx(1 / size - 2.35336 * math.sqrt((1 / size - 1 / size**2) / (size - 1)), abs=1e-4)


def test_students_quantile_agrees_with_another_implementation():
    """With weight tending to none of the mean, the bound is mean + t s/sqrt(n): rebuilt here from scipy.stats."""
    values = [0.2, 0.4, 0.1, 0.9, 0.5, 0.3]
    weight, n = pad(0.05), 6
    mean = (sum(values) + weight) / (n + weight)
    variance = (sum(v * v for v in values) + weight) / (n + weight) - mean**2
    expected = mean + student.ppf(0.95, n - 1) * math.sqrt(variance / (n + weight - 1))

    assert padded_t(values, 0.0, 1.0, 0.05)[1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("limit", "level", "n"), [(0.05, 0.05, 60), (0.05, 0.03, 71), (0.1, 0.05, 30), (0.1, 0.03, 36)]
)
def test_the_smallest_number_of_items(limit, level, n):
    """ln(1/a)/L: ln 20 / .05 = 59.9, ln 33.3 / .05 = 70.1, ln 20 / .1 = 29.96, ln 33.3 / .1 = 35.1."""
    assert smallest_n(limit, level) == n


@pytest.mark.parametrize("level", [0.05, 0.03, 0.025, 0.01])
@pytest.mark.parametrize("limit", [0.02, 0.05, 0.1, 0.2, 0.4])
def test_the_smallest_number_of_items_is_the_first_that_can_pass(limit, level):
    """Equal items at the best end prove the limit at the stated n, and not at two fewer."""
    n = smallest_n(limit, level)

    assert padded_t([0.0] * n, 0.0, 1.0, level)[1] <= limit
    assert padded_t([0.0] * (n - 2), 0.0, 1.0, level)[1] > limit


@pytest.mark.parametrize("room", [0.0, -0.1])
def test_a_limit_at_the_best_value_can_never_be_proven(room):
    """There is no number of items for it."""
    with pytest.raises(EstimateError, match="room="):
        smallest_n(room, 0.05)


@pytest.mark.parametrize("values", [[], [0.3]])
def test_one_item_is_no_sample(values):
    """Fewer than two items are an error, never a number."""
    with pytest.raises(EstimateError, match=f"n={len(values)}"):
        padded_t(values, 0.0, 1.0, 0.05)


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf")])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_value_outside_the_range_is_an_error(value, place):
    """The bounds lean on the range; a value that is no number is in no range, wherever it stands."""
    values = [0.5, 0.5]
    values.insert(place, value)

    with pytest.raises(EstimateError, match="expected values in"):
        padded_t(values, 0.0, 1.0, 0.05)


@settings(derandomize=True, deadline=None)
@given(ITEMS, LEVELS)
def test_the_bounds_hold_the_mean_between_them(values, level):
    """Lower bound, mean, upper bound, in this order."""
    lower, upper = padded_t(values, -0.5, 1.0, level)

    assert lower <= sum(values) / len(values) <= upper
    assert lower < upper


@settings(derandomize=True, deadline=None)
@given(ITEMS, LEVELS, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(values, level, rng):
    """Not in the last bit."""
    shuffled = rng.sample(values, len(values))

    assert padded_t(shuffled, -0.5, 1.0, level) == padded_t(values, -0.5, 1.0, level)


@settings(derandomize=True, deadline=None)
@given(ITEMS, LEVELS)
def test_negated_items_have_negated_bounds(values, level):
    """Upper and lower change places."""
    lower, upper = padded_t(values, -0.5, 1.0, level)

    low, high = padded_t([-v for v in values], -1.0, 0.5, level)

    assert (low, high) == (pytest.approx(-upper), pytest.approx(-lower))


@settings(derandomize=True, deadline=None)
@given(ITEMS, LEVELS)
def test_the_interval_shrinks_with_more_of_the_same(values, level):
    """Twice as many items of the same kind give a shorter interval, on either side of the mean."""
    mean = sum(values) / len(values)
    lower, upper = padded_t(values, -0.5, 1.0, level)

    low, high = padded_t(values * 2, -0.5, 1.0, level)

    assert high - low < upper - lower
    assert lower <= low <= mean <= high <= upper


@settings(derandomize=True, deadline=None)
@given(ITEMS)
def test_a_smaller_error_probability_needs_a_wider_interval(values):
    """The bounds at .01 lie outside those at .05."""
    assume(len(values) >= 5)
    lower, upper = padded_t(values, -0.5, 1.0, 0.05)

    low, high = padded_t(values, -0.5, 1.0, 0.01)

    assert low < lower
    assert high > upper


@pytest.mark.parametrize(
    ("seed", "share", "noise"),
    [(1, 0.0, 0.05), (2, 0.02, 0.0), (3, 0.05, 0.02), (4, 0.1, 0.1)],
)
def test_the_upper_bound_of_an_excess_covers_the_truth(seed, share, noise):
    """
    Samples of 60 excesses of 2+2 asks, a share of the cases decided by the edit: the bound misses in one of twenty.

    True coverage is at least .952 (from the table of methods at n=50); 1,500 draws miss 5 % = 75, sd 8.4, and more
    than 121 (5.4 sd) in fewer than 1 of 10^6 runs.
    """
    rng = Random(seed)
    truth = share * (1 - 2 * noise) ** 2  # e_i is unbiased for (theta - theta')^2; theta = noise, theta' = 1 - noise

    def excess():
        moved = 1 - noise if rng.random() < share else noise
        a, b = (rng.random() < noise for _ in range(2))
        p, q = (rng.random() < moved for _ in range(2))
        return ((a != p) + (a != q) + (b != p) + (b != q)) / 4 - ((a != b) + (p != q)) / 2

    missed = sum(padded_t([excess() for _ in range(60)], -0.5, 1.0, 0.05)[1] < truth for _ in range(1500))

    assert missed <= 121


@pytest.mark.parametrize(("seed", "p"), [(5, 0.8), (6, 0.95), (7, 0.98)])
def test_the_lower_bound_of_a_rate_covers_the_truth(seed, p):
    """1,500 samples of 60 yes-or-no items at .05: over 121 misses (75 expected, 5.4 sd) in under 1 of 10^6 runs."""
    rng = Random(seed)

    def sample():
        return [float(rng.random() < p) for _ in range(60)]

    missed = sum(padded_t(sample(), 0.0, 1.0, 0.05)[0] > p for _ in range(1500))

    assert missed <= 121
