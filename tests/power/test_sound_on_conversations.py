"""
A judge without bias and with noise .05 passes the suites of conversations in at least 19 of 20 seeds, for each task.

By the calibration of the design it does in every one: that 2 of 20 fail has a probability far below one in a million.
"""

import pytest

from calm.cases import bundled, lines, shaped_cases
from tests.suites.gate import run_gate

NAMES = [
    "small_talk",
    "user_persona",
    "role_names",
    "user_feedback",
    "false_memory",
    "turn_injection",
    "late_correction",
]


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric"])
def test_a_sound_judge_passes_the_suites_of_conversations_in_19_of_20_seeds(tmp_path, task):
    """Count the green runs of twenty seeds, on the conversations as a user's own cases."""
    file = tmp_path / "talks.jsonl"
    cases = shaped_cases("turns", task, bundled(task))
    file.write_text("".join(f"{lines.line(case)}\n" for case in cases), "utf-8")
    what = ("--pyargs", *(f"calm.suites.test_{name}" for name in NAMES))

    red = [
        seed
        for seed in range(20)
        if run_gate(f"planted:noise=0.05,seed={seed},task={task}", tmp_path, f"--calm-cases={file}", what=what).status
    ]

    assert len(red) <= 1, f"red at seeds {red}"
