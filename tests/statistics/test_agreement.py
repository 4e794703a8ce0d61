"""Agreement against statsmodels, krippendorff and pingouin, and by hand."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, icc, krippendorff_alpha, raw_agreement

PAIRS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=40)
TABLES = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(1, 4), min_size=k, max_size=k), min_size=2, max_size=20)
)


@given(PAIRS)
@settings(max_examples=80, deadline=None)
def test_cohens_kappa_agrees_with_statsmodels(pairs):
    """Plain, linear and quadratic weights."""
    from statsmodels.stats.inter_rater import cohens_kappa

    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    table = np.zeros((4, 4))
    for a, b in pairs:
        table[a - 1, b - 1] += 1
    if len({*first, *second}) < 2:
        with pytest.raises(EstimateError, match="kappa does not exist"):
            cohen_kappa(first, second)
        return
    for ours, theirs in (("none", None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = cohens_kappa(table, wt=theirs, return_results=False)
        assert cohen_kappa(first, second, weights=ours, categories=[1, 2, 3, 4]) == pytest.approx(expected, abs=1e-9)


@given(TABLES)
@settings(max_examples=80, deadline=None)
def test_fleiss_kappa_agrees_with_statsmodels(table):
    """Any number of raters without gaps."""
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as theirs

    if len({rating for row in table for rating in row}) > 1:
        assert fleiss_kappa(table) == pytest.approx(theirs(aggregate_raters(np.array(table))[0]), abs=1e-9)


@given(TABLES, st.randoms(use_true_random=False), st.sampled_from(["nominal", "ordinal", "interval"]))
@settings(max_examples=100, deadline=None)
def test_krippendorffs_alpha_agrees_with_the_package(table, rng, scale):
    """All three scales, with one rating in five missing."""
    import krippendorff

    gaps = [[None if rng.random() < 0.2 else rating for rating in row] for row in table]
    pairable = [[r for r in row if r is not None] for row in gaps]
    if len({r for row in pairable if len(row) > 1 for r in row}) < 2:
        with pytest.raises(EstimateError, match="expected"):
            krippendorff_alpha(gaps, scale=scale)
        return
    data = np.array([[np.nan if r is None else r for r in row] for row in gaps], dtype=float).T

    expected = krippendorff.alpha(reliability_data=data, level_of_measurement=scale)

    assert krippendorff_alpha(gaps, scale=scale) == pytest.approx(expected, abs=1e-9)


def test_krippendorffs_own_example():
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section D: 4 observers, 12 units, gaps."""
    a = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
    b = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
    c = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
    d = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]
    units = list(zip(a, b, c, d, strict=True))

    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(units, scale="ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(units, scale="interval") == pytest.approx(0.849, abs=5e-4)


def test_the_prevalence_paradox():
    """96 % raw agreement at a skewed marginal: kappa and alpha about .31, AC1 .96 (3 % + 1 % split, 1 % both rare)."""
    pairs = [("a", "a")] * 95 + [("b", "b")] + [("a", "b")] * 2 + [("b", "a")] * 2

    assert raw_agreement(pairs) == pytest.approx(0.96)
    assert cohen_kappa([a for a, _ in pairs], [b for _, b in pairs]) == pytest.approx(0.3127, abs=1e-4)
    assert krippendorff_alpha(pairs) == pytest.approx(0.316, abs=1e-3)
    assert gwet_ac1(pairs) == pytest.approx(0.9576, abs=1e-4)  # pe = 2 * .97 * .03


def test_ac1_with_missing_ratings_by_hand():
    """pa = (1 + 1/3) / 2; shares of "a": (1 + 2/3 + 0) / 3 = 5/9; pe = 2 * 5/9 * 4/9."""
    table = [["a", "a", None], ["a", "a", "b"], ["b", None, None]]
    pe = 2 * 5 / 9 * 4 / 9

    assert gwet_ac1(table) == pytest.approx((2 / 3 - pe) / (1 - pe))


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_icc_agrees_with_pingouin(subtests):
    """Both forms, single scores."""
    for seed in [1, 2, 3]:
        with subtests.test(seed=seed):
            import pandas as pd
            import pingouin

            rng = Random(seed)
            scores = [[rng.gauss(item % 5, 1) + rater / 2 for rater in range(4)] for item in range(20)]
            rows = [(item, rater, score) for item, row in enumerate(scores) for rater, score in enumerate(row)]
            table = pingouin.intraclass_corr(
                pd.DataFrame(rows, columns=["item", "rater", "score"]), "item", "rater", "score"
            )
            theirs = dict(zip(table["Type"], table["ICC"], strict=True))
            agreement, consistency = (
                theirs.get(new, theirs.get(old)) for new, old in (("ICC(A,1)", "ICC2"), ("ICC(C,1)", "ICC3"))
            )

            assert icc(scores) == pytest.approx(agreement, abs=1e-6)
            assert icc(scores, kind="3,1") == pytest.approx(consistency, abs=1e-6)


@given(TABLES)
@settings(max_examples=50, deadline=None)
def test_agreement_does_not_depend_on_the_order_of_items_or_raters(table):
    """Turned around, the numbers stay."""
    turned = [row[::-1] for row in table[::-1]]

    assert raw_agreement(turned) == pytest.approx(raw_agreement(table))
    if len({rating for row in table for rating in row}) > 1:
        assert krippendorff_alpha(turned) == pytest.approx(krippendorff_alpha(table))
        assert gwet_ac1(turned) == pytest.approx(gwet_ac1(table))
        assert krippendorff_alpha(table) <= 1


def test_no_data_or_wrong_data_raise(subtests):
    """Where a coefficient does not exist, there is an error and no number."""
    for call in [
        lambda: raw_agreement([["a", None]]),
        lambda: cohen_kappa([], []),
        lambda: cohen_kappa(["a"], ["a", "b"]),
        lambda: cohen_kappa(["a", "a"], ["a", "a"]),
        lambda: cohen_kappa(["a", 1], ["a", 1]),
        lambda: cohen_kappa(["a"], ["b"], categories=["a"]),
        lambda: fleiss_kappa([["a", "a"], ["a", None]]),
        lambda: fleiss_kappa([["a", "a"]]),
        lambda: krippendorff_alpha([]),
        lambda: krippendorff_alpha([["a", "b"]], scale="interval"),
        lambda: gwet_ac1([["a", "a"]]),
        lambda: gwet_ac1([["a", "c"]], categories=["a", "b"]),
        lambda: icc([[1.0, 2.0]]),
        lambda: icc([[1.0, 2.0], [1.0]]),
        lambda: icc([[1.0, 1.0], [1.0, 1.0]]),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
