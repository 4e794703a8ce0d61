"""Ratings against a logistic regression, and by hand."""

from itertools import combinations, permutations
from math import e, log, sqrt
from random import Random

import numpy as np
import pytest

from calm.errors import EstimateError
from calm.statistics.ratings import bradley_terry, circles, clustered_errors, transitivity


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
        lambda: transitivity({("a", "b"): 1}),
        lambda: clustered_errors([0.0, 0.0], np.ones((2, 2)), np.zeros((2, 1))),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()


def test_circles_are_counted_item_by_item():
    """By trying all triples; a pair without a winner makes no strict triple."""
    rng = Random(3)
    signs = np.triu(np.array([rng.randint(-1, 1) for _ in range(20 * 25)]).reshape(20, 5, 5), 1)
    signs = signs - signs.swapaxes(1, 2)

    circular, triples = circles(signs == 1)

    for item, beats in enumerate(signs == 1):
        strict = [
            t for t in combinations(range(5), 3) if all(beats[x, y] or beats[y, x] for x, y in combinations(t, 2))
        ]
        turning = [t for t in strict if sorted(beats[np.ix_(t, t)].sum(axis=1)) == [1, 1, 1]]
        assert (circular[item], triples[item]) == (len(turning), len(strict))


def test_errors_of_repeated_items_do_not_shrink():
    """Every item counted twice: the naive error falls by sqrt(2), the clustered one stays that of a rate of items."""
    shares = np.array([1, 1, 1, 0, 1, 0, 1, 1, 0, 1], float)
    value = log(7 / 3) / 2
    games = np.array([[0, 20.0], [20.0, 0]])
    surprises = 2 * np.vstack([shares - 0.7, 0.7 - shares])

    [first, second] = clustered_errors([value, -value], games, surprises)

    assert first == pytest.approx(sqrt(0.7 * 0.3 / 9) / (0.7 * 0.3) / 2)  # error of the rate, delta method, half of it
    assert second == pytest.approx(first)
