"""Power: exact tables, and the parts of the simulation against calm's own functions."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from calm.errors import EstimateError
from calm.statistics.intervals import padded_t
from calm.statistics.power import (
    Bias,
    Noise,
    binomial_sizes,
    bounds,
    draw_thetas,
    true_consistency,
    true_gain,
    true_movement,
    uniforms,
)

NOISES = ["0", "0.05", "0.15", "mix30", "mix20 0.1", "beta1"]


def test_the_sizes_of_a_binomial_gate(subtests):
    """The first n with the power and the n from which all have it, as the design document computed them."""
    for p0, p1, power, sizes in [
        (0.90, 0.95, 0.80, (179, 203)),
        (0.90, 0.95, 0.90, (239, 263)),
        (0.90, 0.95, 0.95, (298, 321)),
        (0.90, 0.97, 0.80, (76, 89)),
        (0.90, 0.97, 0.90, (103, 116)),
        (0.90, 0.97, 0.95, (129, 142)),
        (0.90, 0.99, 0.80, (46, 46)),
        (0.90, 0.99, 0.90, (46, 61)),
        (0.90, 0.99, 0.95, (61, 61)),
        (0.95, 0.97, 0.80, (601, 694)),
        (0.95, 0.97, 0.90, (832, 900)),
        (0.95, 0.97, 0.95, (1036, 1103)),
        (0.95, 0.99, 0.80, (124, 124)),
        (0.95, 0.99, 0.90, (153, 181)),
        (0.95, 0.99, 0.95, (181, 208)),
        (0.85, 0.90, 0.80, (281, 304)),
        (0.85, 0.90, 0.90, (379, 408)),
        (0.85, 0.90, 0.95, (474, 504)),
    ]:
        with subtests.test(p0=p0, p1=p1, power=power, sizes=sizes):
            assert binomial_sizes(p0, p1, power) == sizes
            for n, enough in ((sizes[0], True), (sizes[0] - 1, False)):
                allowed = max(k for k in range(-1, n) if binom.cdf(k, n, 1 - p0) <= 0.05)
                assert (float(binom.cdf(allowed, n, 1 - p1)) >= power) is enough


@given(
    st.lists(st.sampled_from([-0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=80),
    st.sampled_from([0.01, 0.0256, 0.03, 0.05]),
)
@settings(max_examples=60, deadline=None)
def test_bounds_of_many_samples_are_the_padded_t_of_each(values, level):
    """The vectorised padded t equals the gate's own."""
    found = bounds(np.array([values, values[::-1]]), -0.5, 1.0, level)

    assert [float(bound[0]) for bound in found] == pytest.approx(padded_t(values, -0.5, 1.0, level), abs=1e-9)
    assert [float(bound[1]) for bound in found] == pytest.approx(padded_t(values, -0.5, 1.0, level), abs=1e-9)


def test_the_models_have_the_moments_that_are_stated(subtests):
    """Simulated consistency, movement and gain tend to the stated truths: 400,000 cases, errors below .004."""
    for bias in [Bias(), Bias("decide", 0.2), Bias("shift", 0.2)]:
        for text in NOISES:
            with subtests.test(text=text, bias=bias):
                rng, noise = Random(1), Noise.read(text)
                theta = draw_thetas(noise, rng, (400_000,))
                after = theta
                if bias.kind == "decide":
                    after = np.where(uniforms(rng, theta.shape) < bias.dose, 1 - noise.rate, theta)
                elif bias.dose:
                    after = theta + bias.dose * (1 - theta)
                one, two, inert, edited = (uniforms(rng, theta.shape) < law for law in (theta, theta, theta, after))

                moved = (one != edited) * 1.0 - (one != inert)
                assert float((one == two).mean()) == pytest.approx(true_consistency(noise), abs=0.004)
                assert float(moved.mean()) == pytest.approx(true_movement(noise, bias), abs=0.004)
                assert float((edited * 1.0 - inert).mean()) == pytest.approx(true_gain(noise, bias), abs=0.004)


def test_bounds_leave_out_what_does_not_count():
    """With `where` a sample is that of the items that count; one of fewer than two has no bounds."""
    values, kept = np.array([[0.0, 1.0, 0.5, -1.0]] * 2), np.array([[True, True, True, False], [True] + [False] * 3])

    low, high = bounds(values, -1.0, 1.0, 0.05, where=kept)

    assert (float(low[0]), float(high[0])) == pytest.approx(padded_t([0.0, 1.0, 0.5], -1.0, 1.0, 0.05))
    assert (low[1], high[1]) == (-np.inf, np.inf)


def test_uniform_numbers_are_uniform():
    """Mean 1/2 and variance 1/12 of 200,000."""
    drawn = uniforms(Random(1), (200_000,))

    assert float(drawn.mean()) == pytest.approx(0.5, abs=0.003)
    assert float(drawn.var()) == pytest.approx(1 / 12, abs=0.002)


def test_wrong_designs_raise(subtests):
    """A question without an answer is an error."""
    for call in [
        lambda: binomial_sizes(0.95, 0.90, 0.8),
        lambda: binomial_sizes(0.95, 0.951, 0.8, widest=500),
        lambda: Noise.read("loud"),
        lambda: bounds(np.zeros((3, 1)), 0.0, 1.0, 0.05),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
