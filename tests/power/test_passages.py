"""
The suites of passages on the cases that ship: which planted judge fails which, and that sound ones are green.

A judge without bias and with noise .05 is green in at least 19 of 20 seeds, as on the default gate.
"""

import pytest

from benchmarks.planted_biases import INNOCENT_TEST, SUITES
from tests.suites.gate import run_gate

BIASES = (
    *("passage-order", "passage-ids", "passage-noise", "passage-conflict", "passage-injection", "passage-citations"),
    "grounding",
)
TASKS = ("pairwise", "score", "rubric")
FILES = tuple(f"{SUITES}/test_{bias.replace('-', '_')}.py" for bias in BIASES)
CONTROLS = (*(f"{SUITES}/test_{name}.py" for name in ("consistency", "sensitivity", "neutral")),)
PLANTED = [(bias, task) for task in TASKS for bias in BIASES if (bias, task) != ("grounding", "pairwise")]


@pytest.mark.parametrize(("bias", "task"), PLANTED)
def test_a_planted_bias_fails_its_own_suite_of_passages_and_no_other(tmp_path, bias, task):
    """Nor does it fail a control: on pairs `grounding` is not asked, so it is planted for the other tasks."""
    what = (*FILES, *CONTROLS, f"{SUITES}/{INNOCENT_TEST}")

    gate = run_gate(f"planted:{bias}=0.8,task={task}", tmp_path, what=what, timeout_s=1800)

    assert gate.failed == {bias}, gate.output


@pytest.mark.parametrize("task", TASKS)
def test_a_sound_judge_passes_the_suites_of_passages_in_19_of_20_seeds(tmp_path, task):
    """Count the green runs of twenty seeds."""
    spec = f"planted:noise=0.05,task={task}"

    red = [seed for seed in range(20) if run_gate(f"{spec},seed={seed}", tmp_path, what=FILES, timeout_s=1800).status]

    assert len(red) <= 1, f"red at seeds {red}"
