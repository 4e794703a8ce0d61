"""
The suite of layouts, which is in the default gate: what it finds, and how often it blames a sound judge.

Each is asked with 20 seeds in each task, the suite alone; the whole gate: `test_sound_judge.py`. By the calibration of
the design all 20 sound judges pass: that 2 of them fail has a probability far below one in a million.
"""

import pytest

from tests.suites.gate import run_gate

SUITE = ("--pyargs", "calm.suites.test_formatting::test_a_layout_does_not_win")
SEEDS = range(20)


def outcomes(judge, folder):
    """What each claim of the suite came to."""
    return run_gate(judge, folder, what=SUITE).outcomes()


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric", "listwise"])
def test_a_planted_judge_is_red_with_every_seed(tmp_path, task):
    """A judge that falls for a layout in 80 % of the cases fails, whatever it is asked about."""
    seen = {seed: outcomes(f"planted:formatting=0.8,seed={seed},task={task}", tmp_path) for seed in SEEDS}

    assert [seed for seed, found in seen.items() if "FAIL" not in found.values()] == []


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric", "listwise"])
def test_a_sound_judge_is_green_with_19_of_20_seeds(tmp_path, task):
    """A judge that errs in 5 % of its asks proves each claim."""
    seen = {seed: outcomes(f"planted:noise=0.05,seed={seed},task={task}", tmp_path) for seed in SEEDS}
    red = {seed: found for seed, found in seen.items() if set(found.values()) != {"PASS"}}

    assert len(red) <= 1, red
