"""Plans of looks: published levels, their total error, and where the looks are."""

from itertools import pairwise
from math import floor, sqrt
from random import Random
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from calm.errors import EstimateError
from calm.statistics.intervals import smallest_n
from calm.statistics.power import uniforms
from calm.statistics.sequential import APART, FIRST, FIRST_PASS, MANY, SPENT, TOPPED_UP, nominal_levels, plan_for


def weights(plan):
    """Return how much each look of a plan weighs: its items, and after top-ups more of all."""
    return [look.n * (TOPPED_UP[look.topped - 1] if look.topped else 1) for look in plan.looks]


def crossed(levels, information, seed=1, runs=200_000):
    """Return how often a random walk, observed at some information, has exceeded the bounds of levels up to each."""
    rng, walk, time = Random(seed), np.zeros(runs), 0.0
    over, found = np.zeros(runs, dtype=bool), []
    for level, now in zip(levels, information, strict=True):
        walk = walk + ndtri(uniforms(rng, (runs,))) * sqrt(now - time)
        time = now
        over |= walk > NormalDist().inv_cdf(1 - level) * sqrt(now)
        found.append(float(over.mean()))
    return found


def test_one_look_is_taken_at_the_whole_level():
    """A single look spends everything."""
    assert nominal_levels([0.05], [200]) == pytest.approx((0.05,), abs=1e-6)
    assert [(look.prove, look.disprove) for look in plan_for(80, sequential=False, top_ups=0).looks] == [
        pytest.approx((SPENT, SPENT), abs=1e-6)
    ]


def test_equal_boundaries_have_pococks_level():
    """Five equally spaced looks at a two-sided nominal level of .0158 err .05 in total (Pocock 1977, table 1)."""
    assert crossed([0.0158 / 2] * 5, [1, 2, 3, 4, 5])[-1] * 2 == pytest.approx(0.05, abs=2e-3)


@given(st.lists(st.floats(0.002, 0.02), min_size=1, max_size=4), st.integers(1, 60))
@settings(max_examples=6, deadline=None)
def test_levels_spend_what_they_are_to_spend(steps, first):
    """A simulated walk crosses up to each look as often as was asked for: 200,000 runs, four standard errors."""
    spent = [sum(steps[: i + 1]) for i in range(len(steps))]
    looks = [first * (i + 1) for i in range(len(steps))]

    assert crossed(nominal_levels(spent, looks), looks) == pytest.approx(spent, abs=4 * sqrt(0.08 * 0.92 / 200_000))


@pytest.mark.parametrize("n", [30, 99, 100, 150, 200, 399, 400, 1000, 10_000])
@pytest.mark.parametrize("top_ups", [0, 1, 2])
@pytest.mark.parametrize("sequential", [True, False])
def test_a_plan_errs_in_five_percent_over_all_its_looks(n, top_ups, sequential):
    """A pass and a fail each: 200,000 walks, within four standard errors, and half a hundredth for rounded shares."""
    plan = plan_for(n, sequential=sequential, top_ups=top_ups)
    for side in ("prove", "disprove"):
        total = crossed([getattr(look, side) for look in plan.looks], weights(plan))[-1]

        assert total == pytest.approx(SPENT, abs=0.002 + 0.0015)


def test_the_looks_ascend_and_end_with_all_items(subtests):
    """The first look is at `FIRST` items, the last ones at all of them, once more after each top-up."""
    for n in (60, 100, 137, 200, MANY - 1, MANY, 1000, 8999, 9001, 10_000, 30_000, 1_000_000):
        for top_ups in (0, 1, 2):
            with subtests.test(n=n, top_ups=top_ups):
                looks = plan_for(n, sequential=True, top_ups=top_ups).looks
                plain = [look.n for look in looks if not look.topped]

                assert plain == sorted(set(plain))
                assert (plain[0], plain[-1]) == (FIRST, n)
                assert [(look.n, look.topped) for look in looks[len(plain) :]] == [(n, k + 1) for k in range(top_ups)]


def ends(n, *, sequential=True, **options):
    """Return the items at each look of a plan with one top-up."""
    return [look.n for look in plan_for(n, sequential=sequential, top_ups=1, **options).looks]


def test_no_look_comes_too_soon_before_the_last_one():
    """Less than a fifth fewer items tell about as much; a fixed run never looks early."""
    assert ends(60) == [FIRST, 60, 60]
    assert ends(floor(APART * FIRST)) == [floor(APART * FIRST)] * 2
    assert ends(60, first=18) == [18, 32, 60, 60]
    assert ends(22, first=18) == [22, 22]
    for n in (99, 500):
        assert ends(n, sequential=False, first=18) == [n, n]


def test_an_early_first_look_is_followed_by_others_until_the_usual_ones(subtests):
    """At 18 items, at 1.75 times as many, and again; then come the looks of the usual plan."""
    assert ends(200, first=18) == [18, 32, 56, 80, 120, 160, 200, 200]
    assert ends(400, first=18) == [18, 32, 56, 100, 200, 400, 400]
    assert ends(200, first=FIRST) == ends(200)
    for first in (18, 25, 30, 44, FIRST):
        with subtests.test(first=first):
            found = ends(1000, first=first)

            assert found[0] == first
            assert all(sooner < later for sooner, later in pairwise(found[:-1]))
            assert found[-4:] == ends(1000)[-4:] == [400, 800, 1000, 1000]


@pytest.mark.parametrize(("n", "first"), [(60, 18), (99, 18), (126, 18), (200, 18), (200, 27), (400, 30), (1000, 18)])
@pytest.mark.parametrize("top_ups", [0, 2])
def test_a_plan_with_an_early_look_errs_no_more(n, first, top_ups):
    """A pass and a fail each err in five percent over all looks: 200,000 walks, within four standard errors."""
    plan = plan_for(n, sequential=True, top_ups=top_ups, first=first)
    for side in ("prove", "disprove"):
        levels = [getattr(look, side) for look in plan.looks]

        assert crossed(levels, weights(plan))[-1] == pytest.approx(SPENT, abs=0.002 + 0.0015)
    assert plan.looks[0].prove == pytest.approx(FIRST_PASS, abs=1e-4)


def test_the_first_look_proves_a_limit_of_a_tenth_where_nothing_moved():
    """Its level is just what so many items without any movement need."""
    first = plan_for(200, sequential=True, top_ups=2).looks[0]

    assert smallest_n(0.10, first.prove) <= FIRST


def test_levels_of_an_error_that_was_spent_are_independent_of_the_scale():
    """Only the shares of the information count."""
    spent, shares = [0.01, 0.03, 0.05], [0.3, 0.6, 1.0]

    assert nominal_levels(spent, shares) == pytest.approx(nominal_levels(spent, [217 * x for x in shares]))


def test_looks_that_add_next_to_nothing_spend_no_more_than_they_were_given():
    """Where the probability of a crossing rises in steps, Newton's method finds no slope: the bound is at the step."""
    spent = [0.00025, 0.00055, 0.0009]

    assert all(level < 0.001 for level in nominal_levels(spent, [1, 1 + 6e-8, 1 + 6e-7]))
    assert nominal_levels([0.01, 0.02], [1, 1 + 1e-9])[1] < 0.021


def test_no_looks_or_wrong_errors_raise(subtests):
    """Nothing to decide on is an error."""
    for call in [
        lambda: nominal_levels([], []),
        lambda: nominal_levels([0.01], [10, 20]),
        lambda: nominal_levels([0.02, 0.01], [10, 20]),
        lambda: nominal_levels([0.01, 0.02], [20, 20]),
        lambda: nominal_levels([0.7], [10]),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
