"""Agreement as statistics of all items, against scikit-learn, scipy and statsmodels, and their influence values."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics import association
from calm.statistics.agreement import cohen_kappa, gwet_ac1
from calm.statistics.association import (
    balanced_accuracy,
    gwet_ac,
    kappa,
    kendall_tau_b,
    spearman,
    without_order,
)
from calm.statistics.intervals import clustered_t

GRADES = range(1, 7)
PAIRS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=3, max_size=60)
STATISTICS = {
    "kappa": lambda one, other: kappa(one, other, GRADES),
    "weighted": lambda one, other: kappa(one, other, GRADES, weights="quadratic"),
    "ac1": lambda one, other: gwet_ac(one, other, GRADES),
    "ac2": lambda one, other: gwet_ac(one, other, GRADES, weights="quadratic"),
    "balanced": balanced_accuracy,
    "tau": kendall_tau_b,
    "rho": spearman,
}


def columns(pairs):
    return [a for a, _ in pairs], [b for _, b in pairs]


def noisy(rng, n, *, far=1):
    """Return grades and others that are up to `far` away."""
    first = [rng.randint(1, 5) for _ in range(n)]
    return first, [min(6, max(1, a + rng.randint(-far, far))) for a in first]


@given(PAIRS)
@settings(max_examples=120, deadline=None)
def test_values_are_those_of_scikit_learn_and_scipy(pairs):
    """Nine digits, wherever theirs exist."""
    from scipy.stats import kendalltau, spearmanr
    from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score

    one, other = columns(pairs)
    if len(set(one)) > 1 and len(set(other)) > 1:
        assert kendall_tau_b(one, other).value == pytest.approx(kendalltau(one, other).statistic, abs=1e-9)
        assert spearman(one, other).value == pytest.approx(spearmanr(one, other).statistic, abs=1e-9)
    if len({*one, *other}) > 1:
        assert kappa(one, other, GRADES).value == pytest.approx(cohen_kappa_score(one, other), abs=1e-9)
        weighted = cohen_kappa_score(one, other, weights="quadratic", labels=list(GRADES))
        assert STATISTICS["weighted"](one, other).value == pytest.approx(weighted, abs=1e-9)
        assert kappa(one, other, GRADES).value == pytest.approx(cohen_kappa(one, other), abs=1e-12)
    if len(set(one)) > 1:
        told = [b if b in one else one[0] for b in other]  # scikit-learn warns of labels that the truth does not have
        expected = balanced_accuracy_score(one, told)
        assert balanced_accuracy(one, told).value == pytest.approx(expected, abs=1e-9)
    assert STATISTICS["ac1"](one, other).value == pytest.approx(gwet_ac1(pairs, categories=GRADES), abs=1e-9)


def test_ac2_is_that_of_the_textbook():
    """Gwet (2014): 1 - observed weighted disagreement over chance, by the formula on a table of three grades."""
    one, other = [1, 1, 2, 3, 3, 2], [1, 2, 2, 3, 1, 3]
    alike = {0: 1.0, 1: 0.75, 2: 0.0}
    seen = sum(alike[abs(a - b)] for a, b in zip(one, other, strict=True)) / 6
    share = [sum((a == g) + (b == g) for a, b in zip(one, other, strict=True)) / 12 for g in (1, 2, 3)]
    chance = (3 * 1 + 4 * 0.75 + 0) / 6 * sum(p * (1 - p) for p in share)

    assert gwet_ac(one, other, (1, 2, 3), weights="quadratic").value == pytest.approx((seen - chance) / (1 - chance))


def in_strata(one, other):
    """Return kappa of items of which every third is of another kind."""
    return kappa(one, other, GRADES, strata=["odd" if i % 3 else "even" for i in range(len(one))])


def test_strata_that_are_all_the_same_change_nothing():
    one, other = noisy(Random(1), 50)

    assert kappa(one, other, GRADES, strata=["all"] * 50).items == pytest.approx(kappa(one, other, GRADES).items)


def test_a_rater_that_knows_the_kind_alone_agrees_by_chance():
    """One kind is always 1, the other 1 or 2; the rater says 1 of the first and 2 of the second."""
    kinds = ["easy", "hard"] * 40
    truth = [1 if kind == "easy" or i % 4 == 1 else 2 for i, kind in enumerate(kinds)]
    said = [1 if kind == "easy" else 2 for kind in kinds]

    assert kappa(truth, said, (1, 2)).value > 0.4
    assert kappa(truth, said, (1, 2), strata=kinds).value == pytest.approx(0)


@pytest.mark.parametrize("name", STATISTICS)
def test_items_are_the_value_plus_the_influence(name):
    """Their mean is the value, and they vary as the delete-one jackknife does, to first order."""
    one, other = noisy(Random(3), 80)
    found = STATISTICS[name](one, other)

    without = [STATISTICS[name](one[:i] + one[i + 1 :], other[:i] + other[i + 1 :]).value for i in range(len(one))]
    jackknife = [79 * (found.value - value) for value in without]
    influence = [item - found.value for item in found.items]
    assert sum(influence) == pytest.approx(0, abs=1e-9)
    assert np.corrcoef(influence, jackknife)[0, 1] > 0.999
    assert np.std(influence) == pytest.approx(np.std(jackknife), rel=0.12)
    assert found.low <= min(found.items) <= max(found.items) <= found.high


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("far", [1, 3])
def test_bounds_hold_in_nine_samples_of_ten_and_more(name, far):
    """
    300 samples of 60 items: each bound at .95 covers the value of 20,000 items in more than .90 of them.

    With coverage .95 fewer than 271 of 300 have probability 9e-4 and .94 at most; the seeds are fixed, and a run that
    passes passes always.
    """
    rng = Random(11)
    everybody = noisy(rng, 20_000, far=far)
    whole = STATISTICS[name](*(np.array(side[:3_000]).tolist() for side in everybody)).value
    covered = [0, 0]
    for _ in range(300):
        chosen = [rng.randrange(3_000) for _ in range(60)]
        found = STATISTICS[name](*([side[i] for i in chosen] for side in everybody))
        low, high = clustered_t(found.items, [1] * 60, found.low, found.high, 0.05)
        covered[0] += low <= whole
        covered[1] += whole <= high

    assert min(covered) > 270


def test_nothing_can_be_said_of_labels_that_are_all_the_same():
    """A statistic that does not exist says why."""
    with pytest.raises(EstimateError, match="kappa does not exist"):
        kappa([1, 1], [1, 1], GRADES)
    with pytest.raises(EstimateError, match="nothing to balance"):
        balanced_accuracy([1, 1], [1, 2])
    with pytest.raises(EstimateError, match="does not exist"):
        kendall_tau_b([1, 2], [1, 1])
    with pytest.raises(EstimateError, match="does not exist"):
        spearman([1, 1], [1, 2])
    with pytest.raises(EstimateError, match="two categories"):
        gwet_ac(["a"], ["a"], ["a"])
    with pytest.raises(EstimateError, match="finite numbers"):
        spearman([1.0, float("nan")], [1.0, 2.0])
    with pytest.raises(EstimateError, match="equally long"):
        kappa([], [], GRADES)
    with pytest.raises(EstimateError, match="among"):
        kappa([9], [1], GRADES)


@pytest.mark.parametrize("n", [10, 60, 400])
def test_a_constant_has_no_rank_correlation_within_what_n_items_leave_open(n):
    """If a share p of verdicts differed, none of n would with probability (1 - p)^n: that p is not excluded."""
    found = without_order(n)
    low, high = clustered_t(found.items, [1] * n, found.low, found.high, 0.05)

    p = 1 - 0.05 ** (1 / n)
    grades = np.arange(2_000)
    marks = (grades >= 2_000 * (1 - p)).astype(float)
    reached = spearman(grades.tolist(), marks.tolist()).value
    assert found.value == 0
    assert high >= reached - 1e-3
    assert low == -high


def test_concordance_is_that_of_all_pairs():
    """Kendall's value of each item from the signs of all pairs, one by one, with ties in either rater."""
    one, other = noisy(Random(5), 80, far=3)

    def sign(a, b):
        return (a > b) - (a < b)

    pairs = [
        [sign(a, c) * sign(b, d) for c, d in zip(one, other, strict=True)] for a, b in zip(one, other, strict=True)
    ]
    assert association._concordance(one, other) == [sum(row) for row in pairs]


def test_one_label_throughout_has_no_kappa_however_it_is_rounded():
    """The mean of ten times 0.1 is not 0.1 to the last digit: that is no disagreement."""
    with pytest.raises(EstimateError, match="kappa does not exist"):
        kappa([0.1] * 10, [0.1] * 10, [0.1, 0.9], weights="quadratic")
    with pytest.raises(EstimateError, match="kappa does not exist"):
        kappa([0.1, 0.7] * 5, [0.1, 0.7] * 5, [0.1, 0.7], weights="quadratic", strata=["a", "b"] * 5)
