"""
A judge without bias and with noise .05 passes the whole gate in at least 19 of 20 seeds, for each task.

By the calibration of the design it does in every one: that 2 of 20 fail has a probability far below one in a million.
"""

import pytest

from tests.suites.gate import run_gate


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric", "label"])
def test_a_sound_judge_passes_in_19_of_20_seeds(tmp_path, task):
    """Count the green runs of twenty seeds."""
    red = [seed for seed in range(20) if run_gate(f"planted:noise=0.05,seed={seed},task={task}", tmp_path).status]

    assert len(red) <= 1, f"red at seeds {red}"
