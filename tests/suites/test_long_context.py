"""A judge that gives up where much is to be read fails the suite that makes it read more: length is what that tests."""

from benchmarks.planted_biases import suite_of
from tests.suites.gate import run_gate

JUDGE = '''
"""A judge that knows the better answer, and calls a tie where the passages are long."""


def gives_up(case):
    return "tie" if sum(len(passage.text.split()) for passage in case.context) > 300 else case.better


gives_up.quick, gives_up.reads = True, ("question", "answers", "context", "better")
'''


def test_a_judge_that_gives_up_on_a_long_context_is_found(tmp_path):
    """Words that say nothing, as long as the passages that are added, would make it give up as well."""
    (tmp_path / "judges.py").write_text(JUDGE)

    gate = run_gate("judges:gives_up", tmp_path, what=(str(suite_of("passage-noise")),))

    assert gate.outcomes()["passage-noise/net_robustness/add_many_passages@2000"] == "FAIL", gate.output
    assert gate.outcomes()["passage-noise/net_robustness/add_stray_passage"] == "PASS", gate.output
