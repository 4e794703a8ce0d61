"""Drift: the bound holds for every table of values, by enumeration of all that chance could have done."""

from itertools import combinations, product
from math import exp, inf, isclose, log, nan
from random import Random

import numpy as np
import pytest

from calm.errors import EstimateError
from calm.statistics.drift import excess, level_of, log_tail, unusual


def excesses(values, recent):
    """Return the excess of every way to draw the recent values of each item."""
    each = []
    for row, last in zip(values, values[:, -recent:], strict=True):
        there, drawn = row[~np.isnan(row)], int((~np.isnan(last)).sum())
        if not drawn or drawn == len(there):
            continue
        each.append([sum(chosen) - drawn * there.mean() for chosen in combinations(there, drawn)])
    return np.array([sum(one) for one in product(*each)])


def tables(count):
    """Yield small tables of halves with gaps, and how many runs are recent."""
    for seed in range(count):
        rng = Random(seed)
        values = np.array([[rng.choice((0.0, 0.5, 1.0, 1.0, nan)) for _ in range(6)] for _ in range(4)])
        yield values, rng.choice((1, 2, 3))


def test_the_excess_has_the_mean_and_deviation_of_all_draws():
    """Over all draws its mean is 0 and its deviation the one that is given."""
    for values, recent in tables(40):
        every = excesses(values, recent)

        assert abs(every.mean()) < 1e-9
        assert isclose(excess(values, recent).deviation, every.std(), abs_tol=1e-9)


def test_the_bound_is_never_below_the_exact_probability():
    """And so an alarm at a level comes by chance with at most that probability: all draws are counted, none sampled."""
    reached = 0
    for values, recent in tables(150):
        values[:, -recent:] = np.sort(values, axis=1)[:, :recent]  # the recent values are the lowest
        exact = (excesses(-values, recent) >= excess(-values, recent).value - 1e-9).mean()
        bound = exp(log_tail(-values, recent))
        reached += bound < 1

        assert bound >= exact - 1e-12
    assert reached > 5


def test_the_bound_is_exact_at_the_end():
    """Seven items that each flipped for the first time in eleven runs: 11 ** -7."""
    values = np.array([[0.0] * 10 + [1.0]] * 7)

    assert isclose(log_tail(values, 1), 7 * log(1 / 11), rel_tol=1e-6)
    assert log_tail(-values, 1) == 0.0


def test_large_tables_lose_nothing_to_rounding():
    """A thousand items over 57 runs, 27 of them recent, with one step down: a bound far below any level, and finite."""
    rng = Random(4)
    values = np.array([[float(rng.random() < 0.9) for _ in range(57)] for _ in range(1000)])
    values[:, -27:] = np.minimum(values[:, -27:], np.array([[float(rng.random() < 0.9)] for _ in range(1000)]))

    assert -inf < log_tail(-values, 27) < -500


def test_unusual_does_not_know_the_order_of_the_runs():
    """What the null needs: the same runs in another order give the same numbers in that order."""
    rng = Random(2)
    shares = np.array([[[rng.random() for _ in range(3)] for _ in range(5)] for _ in range(4)])
    shares /= shares.sum(axis=2, keepdims=True)
    apart = np.broadcast_to(1 - np.eye(3), (4, 3, 3))
    order = [3, 0, 4, 1, 2]

    assert np.allclose(unusual(shares, apart)[:, order], unusual(shares[:, order], apart))


def test_all_runs_to_come_spend_the_rate():
    """For whatever horizon; and half of it is for the first one."""
    for horizon in (1, 7, 365):
        spent = np.cumsum([level_of(number, 0.01, horizon) for number in range(1, 300 * horizon + 1)])

        assert isclose(spent[horizon - 1], 0.005)
        assert 0.0099 < spent[-1] < 0.01


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: level_of(0, 0.01, 365),
        lambda: level_of(1, 1.0, 365),
        lambda: level_of(1, 0.01, 0),
        lambda: excess(np.ones(3), 1),
        lambda: log_tail(np.ones((2, 3)), 3),
    ],
)
def test_what_cannot_be_compared_is_refused(wrong):
    """In one sentence."""
    with pytest.raises(EstimateError, match="expected"):
        wrong()
