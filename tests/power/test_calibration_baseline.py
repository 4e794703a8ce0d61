"""The pilot takes the bias out of choosing a target; a baseline is proven and its errors kept."""

import pytest

from benchmarks.calibration import MARGINS, baseline, baseline_errors, pilot, pooled

BIASED = {
    "0.02": (0.039, 0.020),
    "0.05": (0.095, 0.048),
    "0.10": (0.180, 0.090),
    "0.15": (0.255, 0.128),
    "mix30": (0.127, 0.064),
}
POWER = {
    "0.02": ((0.96, 1, 1, 1), (0.97, 1, 1, 1), (1, 1, 1, 1)),
    "0.05": ((0.64, 0.99, 1, 1), (0.78, 0.999, 1, 1), (0.95, 1, 1, 1)),
    "0.10": ((0.33, 0.79, 0.99, 1), (0.44, 0.94, 1, 1), (0.69, 0.999, 1, 1)),
    "0.15": ((0.21, 0.54, 0.93, 0.99), (0.29, 0.75, 0.99, 1), (0.52, 0.98, 1, 1)),
    "mix30": ((0.29, 0.71, 0.98, 1), (0.40, 0.88, 1, 1), (0.66, 0.996, 1, 1)),
}
POOLED = {"0.05": 0.998, "0.10": 0.915, "0.15": 0.77, "mix30": 0.89}


@pytest.fixture(scope="module")
def chosen():
    """Return the table of ways to choose a target."""
    return pilot(4000)


@pytest.mark.parametrize("judge", BIASED)
def test_the_pilot_is_unbiased(chosen, judge):
    """An edit that does nothing has a gain of 0 within .005, and passes; a positive gain is found in at most .05."""
    row = chosen[judge]

    assert row["a0-a1a2 gain"] == pytest.approx(0, abs=0.005)
    assert row["a0-a1a2 PASS"] >= 0.96
    assert row["a0-a1a2 found"] <= 0.05


@pytest.mark.parametrize("judge", BIASED)
def test_choosing_by_a_measured_ask_is_biased(chosen, judge):
    """The gain that is not there: 2 E[theta (1 - theta)] with one clean ask, half of that with two; within .005."""
    one, two = BIASED[judge]

    assert chosen[judge]["a1-a1 gain"] == pytest.approx(one, abs=0.005)
    assert chosen[judge]["a1-a1a2 gain"] == pytest.approx(two, abs=0.005)
    assert chosen[judge]["a1-a2 gain"] == pytest.approx(0, abs=0.005)


def test_an_unchanged_judge_is_proven_not_worse():
    """Power per probe by asks and margin, within .04 of the design's figures."""
    table = baseline(4000)

    for judge, expected in POWER.items():
        for asks, powers in zip(("2+2", "4+2", "4+4"), expected, strict=True):
            assert [table[judge][f"{asks} {margin:.2f}"] for margin in MARGINS] == pytest.approx(powers, abs=0.04)


def test_a_judge_worse_by_the_margin_is_rarely_called_not_worse():
    """Type-I error at most .035 with the padded t; up to .13 with a plain one."""
    table = baseline_errors(8000)
    padded = [row[name] for row in map(table.__getitem__, dict(table.rows)) for name in ("0.05 padded", "0.10 padded")]
    plain = [row[name] for row in map(table.__getitem__, dict(table.rows)) for name in ("0.05 plain", "0.10 plain")]

    assert max(padded) <= 0.035
    assert max(plain) >= 0.08


def test_one_pooled_proof_has_power_and_worse_probes_are_found():
    """Pooled power within .05; of single probes, none is found falsely and one worse by .15 nearly always."""
    table = pooled(1000)

    assert {judge: table[judge]["pooled"] for judge in POOLED} == pytest.approx(POOLED, abs=0.05)
    assert max(table[judge]["found 0"] for judge in POOLED) <= 0.002
    assert table["0.05"]["found 0.15"] >= 0.97
