"""A judge that sees only length: of the biases one is red, and the others say what moved them."""

from calm.core.claims import Outcome
from calm.core.reasons import Kind
from calm.results.audit import AGREEMENT, CONTROLS, RUN, read
from tests.suites.gate import run_gate


def test_a_judge_of_length_fails_verbosity_and_the_others_say_why(tmp_path):
    """
    What makes an answer longer moves it, with a cue or without one, so nothing is charged to a cue.

    It notices no harm that leaves the length, so controls and what must be noticed may fail.
    """
    gate = run_gate("planted:length=1", tmp_path)

    audit = read(tmp_path / "results.json")
    moved = [f for f in audit.findings if f.bias not in (*CONTROLS, AGREEMENT, RUN) and f.expects != "WORSE"]
    assert {f.bias for f in moved if f.outcome is Outcome.FAIL} == {"verbosity"}, gate.output
    said = {f.bias for f in moved if f.reason.has(Kind.SAME_LENGTH)}
    assert {"authority", "bandwagon", "injection", "sentiment"} <= said
    assert not any(f.reason.has(Kind.SAME_LENGTH) for f in moved if f.bias == "verbosity")
    assert any(note.kind is Kind.TURNS_ON_LENGTH for note in audit.run.notes)
    source = next(f for f in moved if f.key == "authority/gain")
    assert source.outcome is Outcome.PASS
    assert source.control.gain > 0.8
