"""Features and network: what the formulas say."""

from random import Random

import numpy as np
import pytest
from scipy.special import log_softmax

from calm.plugins.uda.network import Rows, adjust, begin, cosine, features, forward, jnp, width

ONE, TWO, OWN = (np.array([row], np.float32) for row in ([1.0, 2.0, -1.0], [0.5, 0.0, 2.0], [-1.0, 1.0, 1.0]))


def kl(a, b):
    """Return the divergence of the softmax of two vectors, from its definition."""
    p, q = log_softmax(a[0]), log_softmax(b[0])
    return float((np.exp(p) * (p - q)).sum())


def cos(a, b):
    """Return the cosine of two vectors, from its definition."""
    return float(a[0] @ b[0] / np.linalg.norm(a) / np.linalg.norm(b))


def norm_gap(a, b):
    """Return the absolute difference of two norms."""
    return abs(float(np.linalg.norm(a) - np.linalg.norm(b)))


def test_the_features_stand_in_their_order():
    """Differences, cosines, divergences, norms, products, of the pairs (1, 2), (1, own), (2, own)."""
    pairs = [(ONE, TWO), (ONE, OWN), (TWO, OWN)]
    expected = np.concatenate(
        [
            *(np.abs(a - b)[0] for a, b in pairs),
            [cos(a, b) for a, b in pairs],
            [kl(TWO, ONE), kl(ONE, OWN), kl(TWO, OWN)],
            [norm_gap(a, b) for a, b in pairs],
            *((a * b)[0] / (np.linalg.norm(a) * np.linalg.norm(b)) for a, b in pairs),
        ]
    )

    found = np.asarray(features(jnp.asarray(ONE), jnp.asarray(TWO), jnp.asarray(OWN)))

    assert found.shape == (1, width(3, own=True))
    assert found[0] == pytest.approx(expected, abs=1e-6)


def test_the_ablation_sees_the_blocks_of_the_two_answers_alone():
    """Without the own answer the features are the first of each block."""
    full = np.asarray(features(jnp.asarray(ONE), jnp.asarray(TWO), jnp.asarray(OWN)))[0]

    found = np.asarray(features(jnp.asarray(ONE), jnp.asarray(TWO), None))[0]

    assert found == pytest.approx(full[[0, 1, 2, 9, 12, 15, 18, 19, 20]])


def test_new_parameters_have_the_spread_of_their_fan_in():
    """Weights are normal with deviation sqrt(2 / (1.01 * inputs)); biases are 0.1; norms change nothing."""
    params = begin(Random(1), 200, (400, 50))

    assert float(params["linear2.weight"].std()) == pytest.approx((2 / 1.01 / 400) ** 0.5, rel=0.03)
    assert set(np.asarray(params["linear1.bias"]).tolist()) == {np.float32(0.1)}
    assert set(np.asarray(params["norm2.scale"]).tolist()) == {1.0}
    assert params["linear3.weight"].shape == (50, 3)
    assert "norm3.scale" not in params


def test_outputs_lie_between_0_and_30():
    """Whatever is put in, each output is within its range."""
    params = begin(Random(1), 4, (8,))

    found = np.asarray(forward(params, jnp.asarray(np.array([[1e6, -1e6, 0, 3], [0, 0, 0, 0]], np.float32))))

    assert found.shape == (2, 3)
    assert (found >= 0).all()
    assert (found <= 30).all()


def adjusted(own, *, params=None):
    """Return K and outcome of a first and a second comparison, the second the other way round."""
    rows = Rows(*(jnp.asarray(x) for x in (np.array([0]), np.array([1]), np.array([2]))), jnp.asarray([1.0]))
    params = begin(Random(3), width(3, own=own), (8,)) if params is None else params
    return adjust(params, jnp.asarray(np.concatenate([ONE, TWO, OWN])), rows, own=own, k=32.0), params


def test_the_formulas_of_k_and_outcome_are_the_papers():
    """K = 32 (1 - cos) kappa; u1 = s1 + (1 - w) c1, u2 = s2 + w c2, w the softmax of the cosines to the own answer."""
    (k, share), params = adjusted(own=True)
    kappa, c1, c2 = np.asarray(forward(params, features(jnp.asarray(ONE), jnp.asarray(TWO), jnp.asarray(OWN))))[0]

    w = np.exp(cos(ONE, OWN)) / (np.exp(cos(ONE, OWN)) + np.exp(cos(TWO, OWN)))
    u1, u2 = 1 + (1 - w) * c1, 0 + w * c2

    assert float(k[0]) == pytest.approx(32 * (1 - cos(ONE, TWO)) * kappa, rel=1e-5)
    assert float(share[0]) == pytest.approx(u1 / (u1 + u2), rel=1e-5)


def test_the_ablation_weighs_both_bonuses_alike():
    """Without the own answer w is a half."""
    (_, share), params = adjusted(own=False)
    _, c1, c2 = np.asarray(forward(params, features(jnp.asarray(ONE), jnp.asarray(TWO), None)))[0]

    assert float(share[0]) == pytest.approx((1 + c1 / 2) / (1 + c1 / 2 + c2 / 2), rel=1e-5)


def test_an_empty_vector_has_finite_features():
    """An answer that embeds to zeros gives numbers, not NaN."""
    nothing = jnp.zeros((1, 3), jnp.float32)

    assert bool(jnp.isfinite(features(nothing, nothing, nothing)).all())
    assert float(cosine(nothing, nothing)[0]) == 0
