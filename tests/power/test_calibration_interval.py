"""Coverage of the gate's interval: at least .945 at nominal .95, everywhere, where a plain t fails."""

import pytest

from benchmarks.calibration import SIZES, coverage

RUNS = 6000
NOISE = 0.007
"""What the least of 55 shares of 6,000 runs may fall below the least coverage by chance: 2.5 standard errors."""
PLAIN = {30: 0.141, 50: 0.226, 100: 0.400, 200: 0.619, 400: 0.860}
PLAIN_RATES = {30: 0.256, 50: 0.396, 100: 0.639, 200: 0.863, 400: 0.912}


@pytest.fixture(scope="module")
def table():
    """Return the coverage table."""
    return coverage(RUNS)


@pytest.mark.parametrize("n", SIZES)
def test_the_padded_t_covers_everywhere(table, n):
    """Both bounds of excess and gain, and the lower bound of a rate (which is exact)."""
    row = table[str(n)]

    assert min(row[name] for name in ("excess U", "excess L", "gain U", "gain L")) >= 0.945 - NOISE
    assert row["rate L"] >= 0.945


@pytest.mark.parametrize("n", SIZES)
def test_a_plain_t_does_not(table, n):
    """The failure that the padding fixes: within .02 of the design's figures for excess, .015 for rates."""
    row = table[str(n)]

    assert row["t: excess U"] == pytest.approx(PLAIN[n], abs=0.02)
    assert row["t: rate L"] == pytest.approx(PLAIN_RATES[n], abs=0.015)
