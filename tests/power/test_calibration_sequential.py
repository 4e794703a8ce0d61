"""Looking early: errors stay within .05 over all looks, and calls are what the design says."""

import pytest

from benchmarks.calibration import two_plus_two, two_stage

RUNS = 4000
STAGED = {  # P(PASS), P(FAIL), expected perturbed calls
    "excess 0.05, 0, 0.00": (1, 0, 160), "excess 0.05, 0, 0.05": (0.040, 0.006, 784),
    "excess 0.05, 0, 0.10": (0, 0.62, 591), "excess 0.05, 0, 0.15": (0, 0.993, 254), "excess 0.05, 0, 0.30": (0, 1, 96),
    "excess 0.05, 0.05, 0.00": (1, 0, 202), "excess 0.05, 0.05, 0.05": (0.027, 0.005, 789),
    "excess 0.05, 0.05, 0.10": (0, 0.67, 599), "excess 0.05, 0.05, 0.15": (0, 0.995, 259),
    "excess 0.05, 0.05, 0.30": (0, 1, 98), "excess 0.05, 0.15, 0.00": (0.999, 0, 346),
    "excess 0.05, 0.15, 0.05": (0.025, 0.008, 790), "excess 0.05, 0.15, 0.10": (0, 0.71, 624),
    "excess 0.05, 0.15, 0.15": (0, 0.999, 277), "excess 0.05, 0.15, 0.30": (0, 1, 99),
    "excess 0.05, mix30, 0.00": (1, 0, 285), "excess 0.05, mix30, 0.05": (0.030, 0.007, 789),
    "excess 0.05, mix30, 0.10": (0, 0.63, 622), "excess 0.05, mix30, 0.15": (0, 0.993, 272),
    "excess 0.05, mix30, 0.30": (0, 1, 99),
    "gain 0.10, 0.05, 0.00": (1, 0, 170), "gain 0.10, 0.05, 0.02": (0.994, 0, 236),
    "gain 0.10, 0.05, 0.05": (0.66, 0, 531), "gain 0.10, 0.05, 0.10": (0.027, 0.009, 788),
    "gain 0.10, 0.05, 0.15": (0.001, 0.37, 714), "gain 0.10, 0.05, 0.30": (0, 1, 164),
}  # fmt: skip
ONCE = {  # P(PASS), P(FAIL), expected cases
    "excess 0.05, 0, 0.00": (1, 0, 80), "excess 0.05, 0, 0.02": (0.66, 0, 160),
    "excess 0.05, 0, 0.05": (0.042, 0.004, 197), "excess 0.05, 0, 0.10": (0, 0.57, 171),
    "excess 0.05, 0, 0.15": (0, 0.988, 109), "excess 0.05, 0, 0.30": (0, 1, 48),
    "excess 0.05, 0.05, 0.00": (0.998, 0, 97), "excess 0.05, 0.05, 0.02": (0.55, 0, 170),
    "excess 0.05, 0.05, 0.05": (0.037, 0.007, 198), "excess 0.05, 0.05, 0.10": (0, 0.56, 174),
    "excess 0.05, 0.05, 0.15": (0, 0.984, 114), "excess 0.05, 0.05, 0.30": (0, 1, 49),
    "excess 0.05, 0.15, 0.00": (0.77, 0, 151), "excess 0.05, 0.15, 0.05": (0.033, 0.013, 197),
    "excess 0.05, 0.15, 0.15": (0, 0.924, 129), "excess 0.05, 0.15, 0.30": (0, 1, 55),
    "gain 0.10, 0, 0.00": (1, 0, 80), "gain 0.10, 0, 0.05": (0.74, 0, 148), "gain 0.10, 0, 0.10": (0.038, 0.004, 197),
    "gain 0.10, 0, 0.15": (0, 0.34, 187), "gain 0.10, 0, 0.30": (0, 1, 78),
    "gain 0.10, 0.05, 0.00": (1, 0, 87), "gain 0.10, 0.05, 0.02": (0.975, 0, 114),
    "gain 0.10, 0.05, 0.05": (0.57, 0, 167), "gain 0.10, 0.05, 0.10": (0.031, 0.009, 198),
    "gain 0.10, 0.05, 0.15": (0, 0.32, 188), "gain 0.10, 0.05, 0.30": (0, 1, 79),
    "gain 0.10, 0.15, 0.00": (0.959, 0, 118), "gain 0.10, 0.15, 0.10": (0.026, 0.018, 198),
    "gain 0.10, 0.15, 0.30": (0, 1, 81),
}  # fmt: skip


@pytest.fixture(scope="module")
def staged():
    """Return the table of the gate's own sequential design."""
    return two_stage(RUNS)


@pytest.fixture(scope="module")
def once():
    """Return the table of 2+2 asks."""
    return two_plus_two(RUNS)


@pytest.mark.parametrize("label", STAGED)
def test_two_stages_decide_and_cost_as_designed(staged, label):
    """Shares within .03, expected perturbed calls within 5 %."""
    passes, fails, calls = STAGED[label]

    assert (staged[label]["PASS"], staged[label]["FAIL"]) == pytest.approx((passes, fails), abs=0.03)
    assert staged[label]["calls"] == pytest.approx(calls, rel=0.05)


@pytest.mark.parametrize("label", ONCE)
def test_two_plus_two_decides_and_costs_as_designed(once, label):
    """Shares within .03, expected cases within 5 %."""
    passes, fails, cases = ONCE[label]

    assert (once[label]["PASS"], once[label]["FAIL"]) == pytest.approx((passes, fails), abs=0.03)
    assert once[label]["cases"] == pytest.approx(cases, rel=0.05)


def test_errors_at_a_limit_stay_within_their_total(staged, once):
    """At the limit itself P(PASS) and P(FAIL) over all looks are at most .05 (and a standard error)."""
    at_limit = [
        row
        for table in (staged, once)
        for label, row in table.rows
        if (label.startswith("excess") and label.endswith(" 0.05"))
        or (label.startswith("gain") and label.endswith(" 0.10"))
    ]

    assert len(at_limit) == 14
    assert max(max(row[:2]) for row in at_limit) <= 0.05 + 0.0035
