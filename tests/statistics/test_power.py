"""Power: exact tables, and the parts of the simulation against calm's own functions."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from calm.core.measures import gain, net_robustness
from calm.core.trials import Trial
from calm.core.verdict import Preferred, Scale
from calm.errors import EstimateError
from calm.statistics.intervals import padded_t
from calm.statistics.power import (
    Bias,
    Design,
    Noise,
    binomial_sizes,
    bounds,
    draw_counts,
    draw_thetas,
    excess_table,
    gain_table,
    gate_power,
    most_failures,
    moved,
    sequential_power,
    true_consistency,
    true_excess,
    true_gain,
    uniforms,
)
from calm.statistics.sequential import TWO_PLUS_TWO, TWO_STAGE, first_crossing

NOISES = ["0", "0.05", "0.15", "mix30", "mix20 0.1", "beta1"]


def test_the_failures_a_gate_allows(subtests):
    """At most so many failures of n prove a rate above .90 at .05; one more does not."""
    for n, failures in [(50, 1), (75, 2), (100, 4), (129, 7), (150, 8), (200, 12), (300, 21), (500, 38)]:
        with subtests.test(n=n, failures=failures):
            from scipy.stats import binomtest

            assert most_failures(n, 0.90, 0.05) == failures
            assert binomtest(n - failures, n, 0.90, "greater").pvalue <= 0.05
            assert binomtest(n - failures - 1, n, 0.90, "greater").pvalue > 0.05


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
                allowed = most_failures(n, p0, 0.05)
                assert (float(binom.cdf(allowed, n, 1 - p1)) >= power) is enough


def test_the_tables_are_the_measures_own_kernel(subtests):
    """The value of a case by counts is what calm.core.measures makes of the verdicts, in any order."""
    for clean, perturbed in [(2, 2), (4, 2), (4, 4)]:
        with subtests.test(clean=clean, perturbed=perturbed):

            def verdicts(count, asks):
                return tuple(Preferred("treated" if i < count else "other") for i in range(asks))

            for a, p in product(range(clean + 1), range(perturbed + 1)):
                row = Trial("c", target="treated", clean=verdicts(a, clean), perturbed=verdicts(p, perturbed)[::-1])
                scale = Scale(0, 1)
                assert excess_table(clean, perturbed)[a, p] == pytest.approx(net_robustness.per_case(row, scale))
                assert gain_table(clean, perturbed)[a, p] == pytest.approx(gain.per_case(row, scale))


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
    """Simulated consistency, excess and gain tend to the stated truths: 400,000 cases, errors below .003."""
    for bias in [Bias(), Bias("decide", 0.2), Bias("shift", 0.2)]:
        for text in NOISES:
            with subtests.test(text=text, bias=bias):
                rng, noise = Random(1), Noise.read(text)
                theta = draw_thetas(noise, rng, (400_000,))
                after = moved(theta, noise, bias, rng)
                clean, perturbed = draw_counts(theta, 2, rng), draw_counts(after, 2, rng)

                assert float((clean != 1).mean()) == pytest.approx(true_consistency(noise), abs=0.004)
                assert float(excess_table(2, 2)[clean, perturbed].mean()) == pytest.approx(
                    true_excess(noise, bias), abs=0.004
                )
                assert float(gain_table(2, 2)[clean, perturbed].mean()) == pytest.approx(
                    true_gain(noise, bias), abs=0.004
                )


def test_simulated_looks_decide_as_the_gate_does(subtests):
    """One run at a time, drawn alike, `first_crossing` gives the outcome that `sequential_power` counts."""
    for plan, measure, low, limit in [(TWO_STAGE, "excess", -0.5, 0.05), (TWO_PLUS_TWO, "gain", -1.0, 0.1)]:
        with subtests.test(plan=plan, measure=measure, low=low, limit=limit):
            noise, bias, clean = Noise(0.1), Bias("decide", 0.1), 4 if plan is TWO_STAGE else 2
            table = excess_table if measure == "excess" else gain_table
            for seed in range(25):
                counted = sequential_power(
                    noise, bias, Random(seed), measure=measure, limit=limit, plan=plan, clean=clean, runs=1
                )
                rng = Random(seed)
                theta = draw_thetas(noise, rng, (1, 200))
                after = moved(theta, noise, bias, rng)
                base, first = draw_counts(theta, clean, rng), draw_counts(after, 2, rng)
                values = table(clean, 2)[base, first][0].tolist()
                topped = (
                    table(clean, 4)[base, first + draw_counts(after, 2, rng)][0].tolist() if plan is TWO_STAGE else None
                )
                outcome, n = first_crossing(values, limit, "<=", low, 1.0, plan=plan, topped=topped)

                assert (counted.passes, counted.fails) == (float(outcome == "PASS"), float(outcome == "FAIL"))
                assert counted.cases == n


def test_a_gate_is_the_same_for_the_same_seed():
    """Randomness comes from the argument alone."""
    first, second = (gate_power(Noise(0.1), Bias("decide", 0.1), Random(3), runs=40) for _ in range(2))

    assert first == second


def test_uniform_numbers_are_uniform():
    """Mean 1/2 and variance 1/12 of 200,000."""
    drawn = uniforms(Random(1), (200_000,))

    assert float(drawn.mean()) == pytest.approx(0.5, abs=0.003)
    assert float(drawn.var()) == pytest.approx(1 / 12, abs=0.002)


def test_wrong_designs_raise(subtests):
    """A question without an answer is an error."""
    for call in [
        lambda: most_failures(0, 0.9, 0.05),
        lambda: binomial_sizes(0.95, 0.90, 0.8),
        lambda: binomial_sizes(0.95, 0.951, 0.8, widest=500),
        lambda: Noise.read("loud"),
        lambda: excess_table(4, 1),
        lambda: gain_table(0, 1),
        lambda: bounds(np.zeros((3, 1)), 0.0, 1.0, 0.05),
        lambda: gate_power(Noise(), Bias(), Random(1), runs=0),
        lambda: gate_power(Noise(), Bias(), Random(1), design=Design(n=1)),
        lambda: sequential_power(Noise(), Bias(), Random(1), measure="gain", limit=0.1, clean=1),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
