"""Graded self-evaluation as tables: every figure against scipy, and what is said where nothing varies."""

from random import Random

import numpy as np
import pytest
from scipy.stats import beta, ttest_rel

from calm.core.case import Framing
from calm.experiment.crossing import Wording
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.report import Tables
from calm.plugins.self_preference.scores import ScoreTable, self_evaluation
from calm.statistics.multiplicity import holm

NAMES = ("a", "b", "c")
GRID = Grid(NAMES, NAMES, {name: name.upper() for name in NAMES})


def table(seed=1, items=30):
    """Return scores of three judges of their texts, from 1 to 5."""
    rng = Random(seed)
    scores = np.array([rng.randint(1, 5) for _ in range(9 * items)], dtype=float).reshape(3, 3, items)
    return ScoreTable(GRID, tuple(map(str, range(items))), scores, 1, 5)


def parts_of(one, worded=None):
    """Return the rows of each part, by its name."""
    return {part.name: part for part in Tables.of(one, worded).figures(Random(1), draws=100).parts}


def test_every_figure_is_that_of_scipy(subtests):
    """Means and tests of S, R and G, written out; Holm's p is over the three judges."""
    one = table()
    parts = parts_of(one)
    tests = {(row["judge"], row["figure"]): row for row in parts["self_evaluation_tests"].rows}
    theirs = {}
    for m, judge in enumerate(NAMES):
        peers = [i for i in range(3) if i != m]
        own, received, given = one.scores[m, m], one.scores[peers, m].mean(axis=0), one.scores[m, peers].mean(axis=0)
        [row] = [row for row in parts["self_evaluation"].rows if row["judge"] == judge]
        assert [row[name] for name in ("own", "received", "given")] == pytest.approx(
            [own.mean(), received.mean(), given.mean()]
        )
        assert row["given_sd"] == pytest.approx(given.std(ddof=1))
        for name, a, b in (
            ("own minus received", own, received),
            ("own minus given", own, given),
            ("received minus given", received, given),
        ):
            with subtests.test(judge=judge, name=name):
                test = theirs[judge, name] = ttest_rel(a, b)
                bounds = test.confidence_interval(0.95)
                found = tests[judge, name]
                assert [found["t"], found["p"], found["df"]] == pytest.approx([test.statistic, test.pvalue, 29])
                ends = found["difference"]
                assert [ends["value"], ends["low"], ends["high"]] == pytest.approx(
                    [(a - b).mean(), bounds.low, bounds.high]
                )
    for name in ("own minus received", "received minus given"):
        adjusted = holm([theirs[judge, name].pvalue for judge in NAMES])
        assert [tests[judge, name]["p_holm"] for judge in NAMES] == pytest.approx(adjusted)


@pytest.mark.parametrize(("own", "p"), [(4.0, 1.0), (5.0, None)])
def test_a_constant_difference_is_a_result(own, p):
    """It has its mean, a standard deviation of 0, no t, and the exact bound of no other value in 20 items."""
    scores = np.full((3, 3, 20), 4.0)
    scores[0, 0] = own

    found = self_evaluation(ScoreTable(GRID, tuple(map(str, range(20))), scores, 1, 5), "a").own_minus_received

    most = beta.ppf(0.975, 1, 20)  # Clopper and Pearson: the upper end for 0 of 20
    assert (found.mean, found.sd, found.t, found.p) == (own - 4.0, 0.0, None, p)
    assert found.low == pytest.approx((1 - most) * found.mean - most * 4)
    assert found.high == pytest.approx((1 - most) * found.mean + most * 4)


def test_judges_that_wrote_nothing_are_among_the_others():
    """What others give a judge's answers is said by all other judges; what it gives theirs needs others that write."""
    whole = table()
    grid = Grid(NAMES, NAMES[:1], whole.grid.families)
    found = self_evaluation(ScoreTable(grid, whole.items, whole.scores[:, :1], 1, 5), "a")

    assert found.received.mean == pytest.approx(whole.scores[1:, 0].mean())
    assert found.given is None


def test_a_figure_that_cannot_be_had_hides_no_other():
    """Only one of two authors judges: it has no peer that judges its texts, and its row says why; b keeps nothing."""
    one = table()
    lonely = ScoreTable(Grid(("a", "b"), NAMES, GRID.families), one.items, one.scores[:2].copy(), 1, 5)
    lonely.scores[1, 0] = np.nan  # b says nothing of a's texts

    rows = {row["judge"]: row for row in parts_of(lonely)["self_evaluation"].rows}

    assert rows["a"]["received"] is None
    assert rows["a"]["own"] == pytest.approx(one.scores[0, 0].mean())
    assert rows["a"]["given"] == pytest.approx(one.scores[0, 1].mean())


def test_the_difference_of_framings_is_paired():
    """Over the items scored in both framings."""
    first, second = table(1), table(2)
    second.scores[0, 0, :5] = np.nan
    worded = {Wording(): first, Wording(framing=Framing.NEGATIVE): second}

    rows = {(row["judge"], row["figure"]): row for row in parts_of(first, worded)["framing_differences"].rows}

    theirs = ttest_rel(first.scores[0, 0, 5:], second.scores[0, 0, 5:])
    found = rows["a", "own"]
    assert (found["n"], found["framings"]) == (25, "standard - negative")
    assert [found["t"], found["p"]] == pytest.approx([theirs.statistic, theirs.pvalue])


def test_several_dimensions_have_a_mean():
    """A row for each judge, dimension and framing, and for the mean of the dimensions."""
    worded = {Wording("style"): table(1), Wording("accuracy"): table(2)}

    rows = {(row["judge"], row["dimension"]): row for row in parts_of(table(1), worded)["self_evaluation"].rows}

    assert len(rows) == 9
    whole = (table(1).scores[0, 0] + table(2).scores[0, 0]) / 2
    assert rows["a", "mean"]["own"] == pytest.approx(whole.mean())
    assert rows["a", "mean"]["own_sd"] == pytest.approx(whole.std(ddof=1))
