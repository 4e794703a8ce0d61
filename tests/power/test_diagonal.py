"""
The whole of the gate's proof: every planted bias, in each task that it serves, against the default gate and controls.

`tests/suites/test_diagonal.py` has the part of it that is fast. There, too, each bias beyond the default gate is held
against its own suite and the controls alone: one in eight at every change, the others with `--slow`.
"""

import pytest

from benchmarks import planted_biases
from calm.perturbations.planted import biases

ROWS = [row for row in planted_biases.rows() if row.planted.partition("=")[0] in biases()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.planted}-{row.task}")
def test_a_planted_bias_fails_its_own_suite_and_no_other_nor_a_control(row):
    """Of all columns of the table in the docs only those of the bias itself say FAIL."""
    bias = row.planted.partition("=")[0]

    run = planted_biases.run_row(row, 0)

    own = {planted_biases.OWN, *({bias} & set(planted_biases.columns()))}
    assert {name for name, cell in run.suites.items() if cell == "FAIL"} == own
