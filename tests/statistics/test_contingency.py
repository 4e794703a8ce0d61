"""The chi-squared test of a table agrees with scipy's."""

from random import Random

import pytest
from scipy import special, stats

from calm.errors import EstimateError
from calm.statistics.paired import chi_squared_p, gammaincc


def test_p_values_agree_with_scipy():
    """500 tables of 2 to 13 variants, small and large counts, with and without zeros; both ways of correction."""
    rng, asked = Random(5), 0
    while asked < 500:
        columns = rng.choice((2, 2, 3, 4))
        table = [
            [rng.choice((0, 1, 2, 5, rng.randrange(300))) for _ in range(columns)] for _ in range(rng.randint(2, 13))
        ]
        if not all(map(sum, table)) or not all(map(sum, zip(*table, strict=True))):
            continue
        asked += 1
        wanted = stats.chi2_contingency(table).pvalue
        assert chi_squared_p(table) == pytest.approx(wanted, rel=1e-11, abs=1e-300), table


def test_one_row_or_one_column_says_nothing():
    """There is no degree of freedom."""
    assert chi_squared_p([[3, 5, 9]]) == 1
    assert chi_squared_p([[3], [5]]) == 1


def test_the_function_agrees_with_scipy():
    """Few and many degrees of freedom, near 0 and far in the tail."""
    for a in (0.5, 1, 1.5, 2, 6, 25, 300):
        for x in (0, 1e-12, 1e-3, 0.5, 1, a, a + 0.999, a + 1, 2 * a, 10 * a, 600):
            assert gammaincc(a, x) == pytest.approx(special.gammaincc(a, x), rel=1e-10, abs=1e-14), (a, x)


def test_what_is_no_table_is_refused(subtests):
    """The message says what was expected and what came."""
    for table in ([], [[]], [[1, 2], [3]], [[0, 0], [1, 2]], [[0, 1], [0, 2]], [[-1, 2], [3, 4]]):
        with subtests.test(table=table), pytest.raises(EstimateError, match="expected"):
            chi_squared_p(table)
    for a, x in ((0, 1), (1, -1)):
        with subtests.test(a=a, x=x), pytest.raises(EstimateError, match="expected"):
            gammaincc(a, x)
