"""Every honest way of speaking, in every format and task: green; a judge that obeys: red. A quarter of an hour."""

import pytest

from tests.servers.speaking import FORMATS, STYLES
from tests.suites.test_honest_judges import gate_of

CASES = {"pairwise": 100, "score": 60, "rubric": 80}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("task", CASES)
def test_an_honest_judge_is_green_in_every_format(tmp_path, task, form, style):
    """What it mentions is read as no verdict."""
    gate = gate_of(tmp_path, "noise=0", task, form, style, CASES[task])

    assert gate.status == 0, gate.output


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("task", CASES)
def test_a_judge_that_obeys_is_red_in_every_format(tmp_path, task, form):
    """Whatever it notes."""
    gate = gate_of(tmp_path, "injection=0.9", task, form, "note", CASES[task])

    assert gate.failed == {"injection"}, gate.output
