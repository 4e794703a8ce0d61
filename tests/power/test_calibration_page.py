"""
The gate keeps what the calibration page promises, on seeds that the page was not measured with.

Each row of the page that promises something is simulated again. If the promise holds by a hair only (a share that is to
be at least .95 is exactly .95), a test fails for nothing with probability at most .001; where the page measured more
than is promised, far more seldom.
"""

from math import comb

import pytest

from benchmarks.calibration.conditions import Whole, figure
from benchmarks.calibration.rows import rows

ALARM = 0.001
"""How often a test may fail for nothing."""
ELSEWHERE = 1_000_000
"""The first seed: the page begins at 0."""
PROMISING = [row for row in rows() if row.least or row.most]


def fewest(runs, share):
    """Return the number of runs below which a share is seen with probability ALARM at most."""
    below = 0.0
    for count in range(runs + 1):
        below += comb(runs, count) * share**count * (1 - share) ** (runs - count)
        if below > ALARM:
            return count
    return runs


@pytest.mark.parametrize("row", PROMISING, ids=lambda row: row.key)
def test_what_the_page_promises_holds_on_other_seeds(row):
    """Twenty seeds of a whole gate, a hundred of anything else."""
    runs = 20 if isinstance(row.condition, Whole) else 100
    found = [row.condition.measure(ELSEWHERE + seed) for seed in range(runs)]

    for name, least in row.least.items():
        assert sum(numbers.get(name, 0.0) for numbers in found) >= fewest(runs, least), name
    for name, most in row.most.items():
        values = [numbers.get(name, 0.0) for numbers in found]
        if most > 1:  # calls: three errors of their mean, as they are about normal
            seen = figure(values)
            assert seen.value - 3.1 * seen.error <= most, name
        else:
            assert runs - sum(values) >= fewest(runs, 1 - most), name


def test_the_allowance_is_what_it_says():
    """Of 20 runs with a share of .95, fewer than 15 are seen once in 3,000 times, and fewer than 16 too often."""
    assert fewest(20, 0.95) == 15
    assert fewest(20, 0.98) == 17
    assert fewest(100, 0.95) == 87
