"""
The suites of passages on the cases that ship: which planted judge fails which. Sound ones: `test_sound_on_shapes.py`.
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
