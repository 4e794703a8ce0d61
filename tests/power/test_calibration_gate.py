"""The gate's design, 4+2 asks topped up to 4+4: sound judges are green, biased ones fail, limits are kept."""

import pytest

from benchmarks.calibration import DOSES, consistency, doses, green, limits, shifts, small_samples

GREEN = {
    "0": 1.0, "0.02": 1.0, "0.05": 1.0, "0.10": 1.0, "0.15": 0.966,
    "mix20": 1.0, "mix30": 0.996, "mix30 0.05": 0.988, "mix50": 0.950, "beta1": 0.994,
}  # fmt: skip
GREEN_ONCE = {
    "0": 1.0, "0.02": 1.0, "0.05": 0.983, "0.10": 0.487, "0.15": 0.103,
    "mix20": 0.586, "mix30": 0.350, "mix30 0.05": 0.284, "mix50": 0.131, "beta1": 0.296,
}  # fmt: skip
DOSE_FAIL = {
    "0": (0, 0.007, 0.62, 0.991, 1, 1), "0.05": (0, 0.001, 0.31, 0.933, 1, 1),
    "0.15": (0, 0, 0.01, 0.22, 0.71, 0.999), "mix30": (0, 0.001, 0.18, 0.81, 0.991, 1),
}  # fmt: skip
DOSE_GREEN = {
    "0": (0.281, 0.025, 0, 0, 0, 0), "0.05": (0.480, 0.091, 0.0001, 0, 0, 0),
    "0.15": (0.748, 0.393, 0.025, 0.001, 0, 0), "mix30": (0.501, 0.136, 0.001, 0, 0, 0),
}  # fmt: skip
SHIFTS = {
    "0": (0.998, 0.017, 0, 0, 0), "0.05": (0.934, 0.039, 0, 0, 0),
    "0.15": (0.802, 0.094, 0.001, 0, 0), "mix30": (0.954, 0.137, 0, 0, 0),
}  # fmt: skip
SMALL = {
    "80": (0.94, 0.37, 0.02, 0.02), "100": (1, 0.95, 0.33, 0.25), "120": (1, 1, 0.80, 0.58), "150": (1, 1, 0.98, 0.93)
}  # fmt: skip
CONSISTENCY = {
    "0.05, 0.80": (0.995, 1.0), "0.05, 0.85": (0.73, 0.95), "0.08, 0.80": (0.59, 0.86), "0.10, 0.75": (0.73, 0.97),
    "0.10, 0.80": (0.16, 0.21), "mix30, 0.80": (0.85, 0.99), "mix50, 0.75": (0.66, 0.92),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound():
    """Return the table of sound judges."""
    return green(2000)


@pytest.fixture(scope="module")
def dosed():
    """Return the table of biased judges."""
    return doses(8000)


@pytest.mark.parametrize("judge", GREEN)
def test_a_sound_judge_is_green_on_30_probes(sound, judge):
    """P(all 60 claims pass), within .02 of the design's figure."""
    assert sound[judge]["4+2 -> 4+4"] == pytest.approx(GREEN[judge], abs=0.02)


@pytest.mark.parametrize("judge", GREEN_ONCE)
def test_two_asks_an_arm_would_not_do(sound, judge):
    """The same with 2+2 asks: why the clean arm has four. Within .08, as it hangs on how much the probes share."""
    assert sound[judge]["2+2"] == pytest.approx(GREEN_ONCE[judge], abs=0.08)


@pytest.mark.parametrize("judge", GREEN)
def test_the_top_up_is_cheap(sound, judge):
    """A sound judge of noise up to .10 pays at most 4 % more calls, a noisier one at most 10 %."""
    assert sound[judge]["extra calls"] <= (0.10 if judge in ("0.15", "mix50") else 0.04)


def test_fewer_cases_are_fewer_greens():
    """From 150 cases on judges of noise .10 are green; within .05 of the design's figures."""
    table = small_samples(2000)

    for n, expected in SMALL.items():
        assert tuple(table[n].values()) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("judge", DOSE_FAIL)
def test_a_bias_is_found_by_its_dose(dosed, judge):
    """P(any FAIL) and P(green) by the share of cases decided, within .03 of the design's figures."""
    row = dosed[judge]

    assert [row[f"{d:.2f} FAIL"] for d in DOSES] == pytest.approx(DOSE_FAIL[judge], abs=0.03)
    assert [row[f"{d:.2f} green"] for d in DOSES] == pytest.approx(DOSE_GREEN[judge], abs=0.03)


def test_a_bias_of_every_ask_is_found_by_the_gain():
    """P(green) by the share of asks decided, within .03 of the design's figures."""
    table = shifts(8000)

    for judge, expected in SHIFTS.items():
        assert tuple(table[judge].values()) == pytest.approx(expected, abs=0.03)


def test_judges_exactly_at_a_limit_are_rarely_decided():
    """P(PASS) <= .05 and P(FAIL) <= .05 for both claims, whatever the noise."""
    table = limits(8000)

    for _, row in table.rows:
        assert max(row) <= 0.05


def test_consistency_is_proven_with_four_clean_asks():
    """P(PASS) with 2 and 4 clean asks, within .04 of the design's figures; noise .25 always fails."""
    table = consistency(8000)

    for label, (two, four) in CONSISTENCY.items():
        assert (table[label]["2 PASS"], table[label]["4 PASS"]) == pytest.approx((two, four), abs=0.04)
    assert table["0.25, 0.80"]["4 FAIL"] == 1
