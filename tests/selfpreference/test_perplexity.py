"""Perplexity of answers, and win rates by its difference."""

from math import exp, log
from random import Random

import numpy as np
import pytest
from scipy.special import expit

from calm.errors import EstimateError
from calm.selfpreference.perplexity import curves, edges_of, log_perplexity, perplexity, win_curve
from calm.statistics.power import uniforms


def test_perplexity_is_the_inverse_geometric_mean():
    """Two tokens of 1/2 and 1/8: the geometric mean is 1/4."""
    assert perplexity([log(1 / 2), log(1 / 8)]) == pytest.approx(4)
    assert log_perplexity([log(1 / 2), log(1 / 8)]) == pytest.approx(log(4))


def test_what_is_no_log_probability_is_refused(subtests):
    """No tokens, a probability, and what is not finite."""
    for logprobs in [[], [0.5], [float("nan")], [float("-inf")]]:
        with subtests.test(logprobs=logprobs), pytest.raises(EstimateError):
            log_perplexity(logprobs)


def test_every_pair_is_in_one_bin():
    """The last bin holds its upper edge; pairs without a verdict are in none."""
    differences = np.linspace(-1, 1, 101)
    won = np.where(np.arange(101) == 50, np.nan, 1.0)

    found = win_curve(differences, won, edges_of(differences, 4))

    assert sum(one.n for one in found) == 100
    assert [one.n for one in found] == [25, 25, 24, 26]


def test_an_empty_bin_has_no_rate():
    """Nothing stands for a rate that is not there."""
    [first, second] = win_curve(np.array([0.5]), np.array([1.0]), np.array([0.0, 1.0, 2.0]))

    assert (first.n, first.rate) == (1, 1.0)
    assert (second.n, second.rate, second.rate_low) == (0, None, None)


def test_a_judge_that_goes_by_perplexity_has_one_curve_and_a_steep_one():
    """Own and others' answers win equally often at equal differences; people do not care."""
    rng, n = Random(1), 20_000
    a, b = (2 + uniforms(rng, (n,)) for _ in range(2))
    judged = (uniforms(rng, (n,)) < expit(4 * (b - a))).astype(float)
    human = (uniforms(rng, (n,)) < 0.5).astype(float)
    own = uniforms(rng, (n,)) < 0.5

    found = curves(a, b, judged, human, own, bins=5)

    assert found.judge[0].rate > 0.85
    assert found.judge[-1].rate < 0.15
    assert all(abs(one.rate - 0.5) < 0.03 for one in found.human)
    assert all(abs(x.rate - y.rate) < 0.05 for x, y in zip(found.own, found.others, strict=True))
    assert exp(found.judge[-1].difference) > 1
