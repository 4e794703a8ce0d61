"""The hostile and lazy judges against the whole default gate; `tests/gate` asks the one suite that finds each."""

import pytest

from tests.gate import adversaries
from tests.gate.test_adversarial_judges import FEW, gate_of

GREEN = {"pair_honest", "score_honest", "rubric_honest"}
BEYOND = {"pair_table", "score_table", "rubric_table"}
"""Found by every variant alone."""
ALL = {"pair_no_links", "pair_bored"}
"""Found with all cases alone."""
SILENT = {"pair_only_known", "score_only_known", "rubric_only_known"}
"""The run of them ends at its first replies."""
JUDGES = {name for name in vars(adversaries) if name.startswith(("pair_", "score_", "rubric_"))}


@pytest.mark.parametrize("name", sorted(JUDGES - GREEN - BEYOND - ALL - SILENT))
def test_a_hostile_or_lazy_judge_is_red(tmp_path, name):
    """The whole gate, on sixty cases, says so."""
    gate = gate_of(name, tmp_path, FEW)

    assert gate.status == 1
    assert gate.failed, gate.output
