"""Corrections for many claims, against statsmodels and scipy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.intervals import padded_t
from calm.statistics.multiplicity import benjamini_hochberg, bh_rejects, holm, holm_rejects

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(P_VALUES)
@settings(max_examples=100, deadline=None)
def test_adjusted_p_values_agree_with_statsmodels_and_scipy(p_values):
    """Holm as statsmodels has it, Benjamini and Hochberg as scipy has it."""
    from scipy.stats import false_discovery_control
    from statsmodels.stats.multitest import multipletests

    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))
    assert benjamini_hochberg(p_values) == pytest.approx(list(false_discovery_control(p_values, method="bh")))


@given(P_VALUES, st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=100, deadline=None)
def test_rejecting_by_levels_is_rejecting_by_adjusted_p_values(p_values, alpha):
    """Asked level by level, Holm's procedure rejects what the adjusted p-values say."""
    tests = [lambda level, p=p: p <= level for p in p_values]
    clear = [i for i, p in enumerate(holm(p_values)) if abs(p - alpha) > 1e-12]

    assert [i for i in holm_rejects(tests, alpha) if i in clear] == [i for i in clear if holm(p_values)[i] <= alpha]


@given(P_VALUES, st.floats(0.01, 0.99))
@settings(max_examples=100, deadline=None)
def test_discoveries_without_p_values_are_those_with_them(p_values, alpha):
    """The step-up procedure on tests rejects what the adjusted p-values say, away from ties with alpha."""
    tests = [lambda level, p=p: p <= level for p in p_values]
    adjusted = benjamini_hochberg(p_values)
    clear = [i for i, p in enumerate(adjusted) if abs(p - alpha) > 1e-9]

    assert [i for i in bh_rejects(tests, alpha) if i in clear] == [i for i in clear if adjusted[i] <= alpha]


def test_intervals_can_be_the_evidence():
    """Of three probes, the one that is worse beyond doubt falls; a slight one falls only if tested alone."""
    worse = [[1.0] * 30 + [0.0] * 170, [0.0] * 200, [1.0] * 4 + [0.0] * 196]
    tests = [lambda level, v=v: padded_t(v, -1.5, 1.5, level)[0] > 0 for v in worse]
    slight = [lambda level: padded_t([1.0] * 9 + [0.0] * 191, -1.5, 1.5, level)[0] > 0]

    assert holm_rejects(tests, 0.05) == [0]
    assert holm_rejects(slight, 0.05) == [0]
    assert holm_rejects(slight + [lambda level: False] * 40, 0.05) == []


def test_no_data_or_wrong_data_raise(subtests):
    """No family is an error."""
    for call in [
        lambda: holm([]),
        lambda: holm([1.2]),
        lambda: benjamini_hochberg([float("nan")]),
        lambda: bh_rejects([], 0.05),
        lambda: holm_rejects([], 0.05),
        lambda: holm_rejects([lambda level: True], 1.5),
    ]:
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()
