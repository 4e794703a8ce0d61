"""The ratings: the scan and the plain loop agree, and the scan's slope is the right one."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import ConfigError
from calm.plugins.uda import network, ratings
from calm.plugins.uda.network import doubles, jax, jnp

JUDGES, MODELS = 3, 4


def games(seed, n):
    """Return lanes of uneven length with shares and factors."""
    rng = Random(seed)
    judge = np.array([rng.randrange(JUDGES) for _ in range(n)], np.int32)
    first = np.array([rng.randrange(MODELS) for _ in range(n)], np.int32)
    second = np.array([(a + rng.randrange(1, MODELS)) % MODELS for a in first.tolist()], np.int32)
    laid = ratings.lanes(judge, first, second, JUDGES)
    share = laid.spread(np.array([rng.choice([0, 0.5, 1]) for _ in range(n)]))
    return laid, share, laid.spread(np.array([rng.uniform(0, 300) for _ in range(n)]))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_scan_gives_what_the_loop_gives(seed):
    """Both ratings agree to 1e-8 where judges have different numbers of comparisons."""
    laid, share, k = games(seed, 40)

    with doubles():
        found = np.asarray(
            network.rate_turns(network.turns_of(laid), jnp.asarray(share), MODELS, ratings.Elo(), jnp.asarray(k))
        )

    assert np.abs(found - ratings.rate(laid, share, MODELS, ratings.Elo(), k)).max() < 1e-8


def test_the_slope_of_the_scan_is_that_of_small_steps():
    """The gradient in K and outcome agrees with central differences."""
    laid, share, k = games(7, 30)
    weights = np.arange(JUDGES * MODELS).reshape(JUDGES, MODELS)

    def total(share, k):
        return (network.rate_turns(network.turns_of(laid), share, MODELS, ratings.Elo(), k) * weights).sum()

    with doubles():
        to_share, to_k = (np.asarray(g) for g in jax.grad(total, argnums=(0, 1))(jnp.asarray(share), jnp.asarray(k)))
        for turn, judge in ((0, 0), (3, 1), (5, 2)):
            step = np.zeros_like(share)
            step[turn, judge] = 1e-4
            by_share = (total(share + step, k) - total(share - step, k)) / 2e-4
            by_k = (total(share, k + step) - total(share, k - step)) / 2e-4
            assert to_share[turn, judge] == pytest.approx(float(by_share), rel=1e-5)
            assert to_k[turn, judge] == pytest.approx(float(by_k), rel=1e-5)


def test_a_turn_without_a_comparison_changes_nothing():
    """Lanes that are longer than a judge's comparisons leave its ratings as they were."""
    one = np.array([0, 0, 0, 1], np.int32), np.array([0, 1, 2, 0], np.int32), np.array([1, 2, 0, 1], np.int32)
    laid = ratings.lanes(*one, 2)

    found = ratings.rate(laid, laid.spread(np.ones(4)), 3, ratings.Elo())

    assert laid.source.tolist() == [[0, 3], [1, -1], [2, -1]]
    assert found[1].tolist() == [1216.0, 1184.0, 1200.0]


def test_a_rule_of_no_use_is_refused(subtests):
    """A base of 1, a scale or K of 0 and numbers that are none are one clear error."""
    for wrong in [{"base": 1.0}, {"scale": 0.0}, {"k": 0.0}, {"start": float("nan")}, {"k": float("inf")}]:
        with subtests.test(wrong=wrong):
            with pytest.raises(ConfigError, match="expected finite start, k above 0, base above 1"):
                ratings.Elo(**wrong)
