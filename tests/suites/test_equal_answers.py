"""What a run records of two equal answers can be read back: as a baseline, and by a comparison of two runs."""

import shutil

import pytest

from calm.commands.cli import main
from tests.suites.gate import run_gate

SUITES = ("--pyargs", "calm.suites.test_position", "calm.suites.test_verbosity")


@pytest.mark.parametrize("judge", ["lexical", "planted:verbosity=1,equal=1,ties=first"])
def test_a_run_can_be_the_baseline_of_the_next(tmp_path, judge):
    """The same judge is not worse than itself, whether a cue decides between equal answers or not."""
    first = run_gate(judge, tmp_path, "--calm-sample=30", what=SUITES)
    kept, accepted = tmp_path / "kept.json", tmp_path / "accepted.json"
    shutil.copy(tmp_path / "results.json", kept)
    assert main(["accept", str(kept), "-o", str(accepted)]) == 0

    again = run_gate(judge, tmp_path, "--calm-sample=30", f"--calm-baseline={accepted}", what=SUITES)

    assert again.status == first.status
    assert not {key for key, outcome in again.outcomes().items() if "worsening" in key and outcome == "FAIL"}
    assert main(["compare", str(kept), str(tmp_path / "results.json")]) == 0


def test_a_run_that_is_red_is_accepted_with_a_word(tmp_path, capsys):
    """What fails is named, as the baseline keeps it."""
    run = run_gate("planted:verbosity=1", tmp_path, "--calm-sample=60", what=SUITES)
    failed = [key for key, outcome in run.outcomes().items() if outcome == "FAIL"]
    capsys.readouterr()

    status = main(["accept", str(tmp_path / "results.json"), "-o", str(tmp_path / "b.json")])

    (line,) = [one for one in capsys.readouterr().out.splitlines() if f"{len(failed)} claim" in one]
    assert (status, "RED" in line, all(key in line for key in failed[:5])) == (0, True, True)
