"""
The suites about runs of agents, on the cases that ship: the planted diagonal. Sound ones: `test_sound_on_shapes.py`.

    .venv/bin/pytest tests/power/test_runs_of_agents.py
"""

import pytest

from tests.suites.gate import run_gate

BIASES = ("agent-thoughts", "run-summary", "failed-calls", "result-injection", "run-length")
TASKS = ("pairwise", "score", "rubric")
WHAT = (
    "--pyargs",
    *(f"calm.suites.test_{bias.replace('-', '_')}" for bias in BIASES),
    "calm.suites.test_sensitivity_runs",
)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("bias", BIASES)
def test_a_planted_bias_fails_its_own_suite_and_no_other(tmp_path, bias, task):
    gate = run_gate(f"planted:{bias}=0.8,task={task}", tmp_path, what=WHAT)

    assert gate.failed == {bias}, gate.output
