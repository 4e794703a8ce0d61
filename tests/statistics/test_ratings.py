"""Ratings against a logistic regression, and by hand."""

from itertools import permutations
from math import e, log, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.ratings import bradley_terry, count_wins, elo, transitivity


def tournament(seed, *, contestants=6, games=40):
    """Return counts of a round robin whose contestants differ in strength."""
    rng, names = Random(seed), "abcdefgh"[:contestants]
    wins = {}
    for i, j in permutations(range(contestants), 2):
        if i < j:
            won = sum(rng.random() < 1 / (1 + e ** ((j - i) * -0.3)) for _ in range(games))
            wins[names[i], names[j]], wins[names[j], names[i]] = float(won), float(games - won)
    return wins


def test_strengths_and_errors_agree_with_statsmodels(subtests):
    """A logistic regression on +1 and -1, centred: the same strengths and standard errors."""
    for seed in [1, 2, 3]:
        with subtests.test(seed=seed):
            import statsmodels.api as sm

            wins = tournament(seed)
            names = sorted({name for pair in wins for name in pair})
            design, outcome = [], []
            for (a, b), count in wins.items():
                row = [float(name == a) - float(name == b) for name in names]
                if a < b:
                    design.append(row[1:])
                    outcome.append([count, wins[b, a]])
            fit = sm.GLM(np.array(outcome), np.array(design), family=sm.families.Binomial()).fit()
            centre = np.vstack([np.zeros(len(names) - 1), np.eye(len(names) - 1)])
            centre -= centre.mean(axis=0)
            values, errors = centre @ fit.params, np.sqrt(np.diag(centre @ fit.cov_params() @ centre.T))

            found = bradley_terry(wins)

            assert [found[name].value for name in names] == pytest.approx(list(values), abs=1e-6)
            assert [found[name].standard_error for name in names] == pytest.approx(list(errors), rel=1e-5)


def test_two_contestants_by_hand():
    """3 wins to 1: a difference of ln 3 with variance 1/3 + 1/1, half of each for either."""
    found = bradley_terry({("a", "b"): 3, ("b", "a"): 1})

    assert found["a"].value == pytest.approx(log(3) / 2)
    assert found["b"].standard_error == pytest.approx(sqrt(4 / 3) / 2)
    assert list(found) == ["a", "b"]


def test_ties_are_half_wins():
    """Ten ties say that two are equal."""
    found = bradley_terry(count_wins([("a", "b", 0.5)] * 10))

    assert found["a"].value == pytest.approx(0)


def test_unlinked_contestants_are_named():
    """Two groups that never met have no common scale; the message names both."""
    with pytest.raises(EstimateError, match=r"2 groups without any: a, b; c, d"):
        bradley_terry({("a", "b"): 1, ("b", "a"): 1, ("c", "d"): 1, ("d", "c"): 1})


def test_a_contestant_who_never_won_is_named(subtests):
    """Without a win a strength is minus infinity."""
    for loser in ["a", "z"]:
        with subtests.test(loser=loser):
            wins = {("m", "n"): 1, ("n", "m"): 1, ("m", loser): 2}

            with pytest.raises(EstimateError, match="strengths are infinite"):
                bradley_terry(wins)


def test_elo_by_hand(subtests):
    """After a first win of 100 points each way, the next expected share is that of 200 points."""
    for base, expected in [(10.0, 1 / (1 + 10 ** (-200 / 400))), (e, 1 / (1 + e ** (-200 / 400)))]:
        with subtests.test(base=base, expected=expected):
            ratings = elo([("a", "b", 1), ("a", "b", 0)], start=1000, k=200, base=base)

            assert ratings["a"] == pytest.approx(1100 - 200 * expected)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from([0, 0.5, 1])), min_size=1))
@settings(max_examples=60, deadline=None)
def test_elo_is_a_zero_sum_game(results):
    """The sum of the ratings does not move."""
    ratings = elo(results, start=1200)

    assert sum(ratings.values()) == pytest.approx(1200 * len(ratings))


def test_transitivity_of_an_order_and_of_a_circle():
    """An order has zeta 1; the regular tournament of five has all five circles there can be, and zeta 0."""
    order = {pair: 1.0 for pair in permutations("abcde", 2) if pair[0] < pair[1]}
    circle = {("abcde"[i], "abcde"[(i + step) % 5]): 1.0 for i in range(5) for step in (1, 2)}

    assert (transitivity(order).share, transitivity(order).zeta) == (0.0, 1.0)
    assert (transitivity(circle).circular, transitivity(circle).zeta) == (5, 0.0)


def test_ties_leave_a_triple_out():
    """A pair without a winner makes no strict triple and no zeta."""
    wins = {("a", "b"): 1, ("b", "c"): 1, ("c", "a"): 1, ("a", "d"): 1, ("d", "a"): 1, ("b", "d"): 1, ("c", "d"): 1}

    found = transitivity(wins)

    assert (found.circular, found.triples, found.zeta) == (1, 2, None)


def test_no_data_or_wrong_data_raise(subtests):
    """Nothing to rate is an error."""
    for call in [
        lambda: bradley_terry({}),
        lambda: bradley_terry({("a", "b"): -1.0}),
        lambda: bradley_terry({("a", "a"): 1.0}),
        lambda: elo([]),
        lambda: elo([("a", "b", 2)]),
        lambda: elo([("a", "b", 1)], base=1.0),
        lambda: count_wins([("a", "a", 1)]),
        lambda: transitivity({("a", "b"): 1}),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
