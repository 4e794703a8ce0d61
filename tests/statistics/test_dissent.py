"""Dissents and wordings: exact tails, a bound that holds for any parts, lots that are exact under the null."""

from itertools import product
from random import Random

import numpy as np
import pytest
from scipy import stats

from calm.errors import EstimateError
from calm.statistics.dissent import (
    Block,
    at_least,
    at_least_in_shares,
    between,
    least_asks,
    more_than,
    turns_on_wording,
)


@pytest.mark.parametrize(("k", "n", "rate"), [(1, 2, 0.1), (5, 12, 0.1), (12, 12, 0.3), (7, 1000, 0.01)])
def test_the_tail_is_that_of_scipy(k, n, rate):
    assert at_least(k, n, rate) == pytest.approx(stats.binom.sf(k - 1, n, rate), rel=1e-9)


def test_the_bound_for_shares_holds_where_all_parts_of_an_ask_depend_on_each_other():
    """Two criteria of one reply that always dissent together, and two that never do: exact enumeration of 6 asks."""
    n, rate = 6, 0.2
    together = {0.0: 1 - rate, 1.0: rate}
    apart = {0.0: 1 - 2 * rate, 0.5: 2 * rate}
    for law in (together, apart):
        sums = {}
        for reply in product(law, repeat=n):
            total = sum(reply)
            sums[total] = sums.get(total, 0) + float(np.prod([law[one] for one in reply]))
        for least in sums:
            tail = sum(p for total, p in sums.items() if total >= least - 1e-9)
            assert tail <= at_least_in_shares(least, n, rate) + 1e-12


def apart(said):
    said = np.array(said, float)
    return np.abs(said[:, None] - said[None, :])


def test_the_excess_is_the_squared_difference_of_two_shares_on_average():
    """The mean of `between` over all outcomes of 2+2 asks is (p - q) squared."""
    p, q = 0.8, 0.3
    mean = 0.0
    for said in product((0, 1), repeat=4):
        weight = np.prod([p if one else 1 - p for one in said[:2]]) * np.prod([q if one else 1 - q for one in said[2:]])
        mean += weight * between(Block(apart(said), (0, 0, 1, 1)))
    assert mean == pytest.approx((p - q) ** 2)


def test_lots_find_a_wording_and_nothing_where_there_is_none():
    """4 wordings, 8 asks each; and one wording, or one ask in each, says nothing."""
    wordings = tuple(number for number in range(4) for _ in range(8))
    turned = Block(apart([one == 2 for one in wordings]), wordings)
    coin = Random(4)
    noisy = Block(apart([coin.random() < 0.5 for _ in wordings]), wordings)

    assert turns_on_wording([turned], Random(1))[1] == pytest.approx(1 / 20_000)
    assert turns_on_wording([noisy], Random(1))[1] > 0.05
    assert turns_on_wording([Block(apart([0, 1]), (0, 0))], Random(1)) is None
    assert turns_on_wording([Block(apart([0, 1]), (0, 1))], Random(1)) is None


def test_lots_are_exact_where_a_second_round_follows_a_difference_in_the_first():
    """
    Of 1000 coins with a second round only if the first differs, 5 % have p <= .05.

    More than 80 of them by chance: about 1 in 100,000 for a continuous p-value; the seed is fixed.
    """
    coin, few = Random(9), 0
    for _ in range(1000):
        first = [coin.random() < 0.5 for _ in range(4)]
        if len(set(first)) == 1:
            continue
        said, wordings, rounds = [], [], []
        for number in range(2):
            mine = [*first[2 * number : 2 * number + 2], *(coin.random() < 0.5 for _ in range(3))]
            said += mine
            wordings += [number] * 5
            rounds += [0, 0, 1, 1, 1]
        block = Block(apart(said), tuple(wordings), tuple(rounds))
        few += turns_on_wording([block], coin, lots=99)[1] <= 0.05
    assert few <= 80


def test_a_partial_conjunction_is_fishers_method_without_the_smallest():
    p_values = [0.5, 1e-12, 0.04, 0.2]
    assert more_than(1, p_values) == pytest.approx(stats.combine_pvalues([0.5, 0.04, 0.2]).pvalue)
    assert more_than(0, [1.0, 1.0]) == 1.0
    assert more_than(0, [0.0, 0.5]) < 1e-300
    with pytest.raises(EstimateError):
        more_than(4, p_values)


def test_counts_that_cannot_be_are_refused():
    for wrong in ((3, 2, 0.1), (-1, 2, 0.1), (1, 2, 0.0), (1, 2, 1.0)):
        with pytest.raises(EstimateError):
            at_least(*wrong)
    with pytest.raises(EstimateError):
        least_asks(0.1, 0.0)
    assert at_least(least_asks(0.1, 1e-4) // 2, least_asks(0.1, 1e-4), 0.1) <= 1e-4
