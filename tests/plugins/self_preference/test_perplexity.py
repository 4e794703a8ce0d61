"""Perplexity of answers, and win rates by its difference."""

from math import exp
from random import Random

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import ttest_rel

from calm.plugins.self_preference.parts import perplexity_parts
from calm.plugins.self_preference.perplexity import (
    curves,
    edges_of,
    win_curve,
)
from calm.statistics.power import uniforms


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


def test_own_answers_stand_beside_others_by_item():
    """Means and Student's bounds of paired differences; an item without both is left out, and no spread no bounds."""
    likely = {
        "a": {
            "1": {"a": 1.0, "b": 2.0, "c": 4.0},
            "2": {"a": 2.0, "b": 2.5},
            "3": {"a": 1.5, "c": 1.0},
            "4": {"b": 9.0},
            "5": {"a": 9.0},
        },
        "b": {"1": {"a": 1.0, "b": 0.5}, "2": {"a": 2.0, "b": 1.5}},
        "d": {"1": {"a": 1.0, "b": 0.5}},
    }

    [part] = perplexity_parts(likely, {})

    first, second = part.rows
    test = ttest_rel([1.0, 2.0, 1.5], [3.0, 2.5, 1.0]).confidence_interval(0.9)
    expected = {"value": -2 / 3, "low": test.low, "high": test.high}
    assert (part.name, first["judge"], first["items"]) == ("perplexity", "a", 3)
    assert (first["own"], first["others"]) == pytest.approx((1.5, 6.5 / 3))
    assert first["own_less_others"] == pytest.approx(expected)
    assert second["own_less_others"] == {"value": -0.5, "low": None, "high": None}


def test_win_rates_are_a_table_by_bin():
    """Two bins of two pairs: the judge's wins with Wilson's 95 %, people's, and both kinds of pairs."""
    found = curves(
        np.array([1.0, 1.0, 3.0, 3.0]),
        np.array([3.0, 2.5, 1.0, 1.5]),
        np.array([1.0, 1.0, 0.0, 1.0]),
        np.array([1.0, np.nan, 0.0, 0.0]),
        np.array([True, False, True, False]),
        bins=2,
    )

    [part] = perplexity_parts({}, {"a": found})

    names = ("n", "n_people")
    assert [tuple(row[name] for name in names) for row in part.rows] == [(2, 1), (2, 2)]
    wins = ("judge_wins", "people_wins", "own_wins", "others_wins")
    assert [[row[name]["value"] for name in wins] for row in part.rows] == [[1, 1, 1, 1], [0.5, 0, 0, 1]]
    z = 1.959963985
    assert part.rows[0]["judge_wins"]["low"] == pytest.approx(1 / (1 + z**2 / 2))
