"""
A judge without bias and with noise .05 passes the whole gate in at least 19 of 20 seeds, on cases of each shape.

The cases are those that ship, taken as a user's own, so that the suites of the shape are part of the default gate. By
the calibration of the design it passes in every seed: that 2 of 20 fail has a probability far below one in a million.

    .venv/bin/pytest tests/power/test_sound_on_shapes.py            # three hours
"""

import pytest

from calm.cases import bundled, lines, shaped_cases
from tests.suites.gate import run_gate

SEEDS = range(20)


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric"])
@pytest.mark.parametrize("part", ["turns", "context", "steps"])
def test_a_sound_judge_passes_in_19_of_20_seeds(tmp_path, part, task):
    """Count the green runs of twenty seeds."""
    cases = shaped_cases(part, task, bundled(task))
    (tmp_path / "own.jsonl").write_text("".join(f"{lines.line(case)}\n" for case in cases), "utf-8")

    runs = {
        seed: run_gate(
            f"planted:noise=0.05,seed={seed},task={task}", tmp_path, "--calm-cases=own.jsonl", timeout_s=1800
        )
        for seed in SEEDS
    }

    red = {seed: run.outcomes() for seed, run in runs.items() if run.status}
    said = {
        seed: {key: one for key, one in found.items() if one not in ("PASS", "OBSERVED")} for seed, found in red.items()
    }
    assert len(red) <= 1, said
