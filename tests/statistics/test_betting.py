"""The betting process: fair against the truth, equal to another implementation, and inverted rightly."""

from math import log, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.sequential import (
    capital,
    confidence_sequence,
    decide_anytime,
    evidence,
    kelly_bets,
)

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=60)


def plug_in_bets(values, level):
    """Return the predictable plug-in bets of Waudby-Smith & Ramdas 2024, not held."""
    bets, total, squares, variance = [], 0.5, 0.25, 0.25
    for t, value in enumerate(values, start=1):
        bets.append(sqrt(2 * log(2 / level) / (variance * t * log(t + 1))))
        total += value
        squares += (value - total / (t + 1)) ** 2
        variance = squares / (t + 1)
    return bets


def test_capital_agrees_with_ville():
    """With the other library's bets, the capital is the other library's."""
    import ville

    values = [Random(i).random() ** 2 for i in range(60)]
    bets = [min(bet, 1.0) for bet in plug_in_bets(values, 0.05)]
    theirs = ville.BettingTest(0.5, alternative="less", alpha=0.05, c=0.5).fit(np.array(values))

    ours = capital(values, 0.5, [-bet for bet in bets])

    assert ours == pytest.approx(list(theirs.log_e_values_), abs=1e-9)


def test_bounds_are_about_as_narrow_as_villes():
    """The confidence sequence of ville, which bets otherwise, is narrower by a quarter at most."""
    import ville

    rng = Random(8)
    values = [float(rng.random() < 0.1) for _ in range(300)]
    other = ville.BettingCS(alpha=0.1).fit(np.array(values)).interval()
    low, high = confidence_sequence(values, 0.0, 1.0, level=0.05)

    assert low < 0.1 < high
    assert high - low < (other[1] - other[0]) / 0.75


def test_bets_are_predictable():
    """A bet does not change when its item does."""
    assert kelly_bets([0.0, 1.0, 0.0], 0.4) == kelly_bets([0.0, 1.0, 1.0], 0.4)


@given(VALUES, st.floats(0.05, 0.95))
@settings(max_examples=100, deadline=None)
def test_nobody_goes_bankrupt(values, mean):
    """No item costs more than nine tenths of the capital."""
    steps = capital(values, mean, kelly_bets(values, mean))

    assert min(b - a for a, b in zip([0.0, *steps], steps, strict=False)) >= log(0.1) - 1e-9


@given(VALUES)
@settings(max_examples=30, deadline=None)
def test_bounds_are_those_that_no_bettor_disproves(values):
    """Just outside a bound the evidence is enough."""
    low, high = confidence_sequence(values, 0.0, 1.0)

    assert low == 0 or evidence(values, low, 0.0, 1.0)[0] >= log(20)
    assert high == 1 or evidence(values, high, 0.0, 1.0)[1] >= log(20)


def test_a_bound_stays_where_the_evidence_was_once_enough():
    """Eleven zeros disprove a mean that later ones lift the average to: values that drift are not what is claimed."""
    values = [0.0] * 11 + [0.5] + [1.0] * 4

    assert confidence_sequence(values, 0.0, 1.0)[1] == confidence_sequence(values[:11], 0.0, 1.0)[1]
    assert confidence_sequence(values, 0.0, 1.0)[1] < sum(values) / len(values)


def test_clear_cases_are_decided_early(subtests):
    """A mean of 0 passes and a mean of .5 fails, long before 200 items."""
    for direction, sign in [("<=", 1), ("abs<=", 1), ("abs<=", -1), (">=", -1)]:
        with subtests.test(direction=direction, sign=sign):
            limit = 0.1 if direction != ">=" else -0.1

            passed = decide_anytime([0.0] * 200, limit, direction, -1.0, 1.0)
            failed = decide_anytime([sign * 0.5] * 200, limit, direction, -1.0, 1.0)

            assert passed[0] == "PASS"
            assert failed[0] == "FAIL"
            assert max(passed[1], failed[1]) < 50


def test_looking_after_every_item_keeps_the_error():
    """2,000 runs of 200 items at the limit: false passes and false fails at most .05 each."""
    rng = Random(9)
    outcomes = [
        decide_anytime([float(rng.random() < 0.1) for _ in range(200)], 0.1, "<=", 0.0, 1.0)[0] for _ in range(2000)
    ]

    assert outcomes.count("PASS") / 2000 <= 0.05
    assert outcomes.count("FAIL") / 2000 <= 0.05
    assert outcomes.count("PASS") > 20


def test_no_data_or_wrong_data_raise(subtests):
    """Nothing to bet on is an error."""
    for call in [
        lambda: capital([], 0.5, []),
        lambda: capital([0.0], 0.5, [2.0]),
        lambda: capital([0.0, 1.0], 0.5, [1.0]),
        lambda: kelly_bets([1.0], 1.0),
        lambda: evidence([], 0.5, 0.0, 1.0),
        lambda: evidence([float("nan")], 0.5, 0.0, 1.0),
        lambda: decide_anytime([0.5], 2.0, "<=", 0.0, 1.0),
        lambda: confidence_sequence([3.0], 0.0, 1.0),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
