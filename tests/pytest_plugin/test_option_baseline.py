"""`--calm-baseline`: not worse than an accepted run."""

import pytest

from calm.commands.cli import main

SECOND = "from calm import readable_rate\n\n\ndef test_b(probe):\n    assert probe().proves(readable_rate >= 0.9)\n"


@pytest.fixture
def accepted(project):
    """A project whose sound judge was accepted."""
    project.write("test_second.py", SECOND)
    project.run("--calm-results=base.json", judge="judges:gold")
    assert main(["accept", str(project.path / "base.json"), "-o", str(project.path / "baseline.json")]) == 0
    return project


def test_an_unchanged_run_is_green(accepted, workers):
    """The same inputs from the cache differ by nothing, and the pooled claim is proven."""
    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=again.json", *workers)

    assert result.ret == 0
    assert accepted.outcomes("again.json")["baseline/worsening"] == "PASS"


def test_a_judge_that_got_worse_is_red(accepted, workers):
    """The probe that shows it is named."""
    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=new.json", *workers, judge="judges:fond")

    outcomes = accepted.outcomes("new.json")
    assert result.ret == 1
    assert (outcomes["flattery/worsening/flatter"], outcomes["baseline/worsening"]) == ("FAIL", "FAIL")


def test_a_probe_that_vanished_is_red(accepted):
    """A suite that lost a test does not become green by it."""
    (accepted.path / "test_flattery.py").unlink()

    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=new.json")

    assert result.ret == 1
    assert accepted.outcomes("new.json")["flattery/worsening/flatter"] == "FAIL"


def test_what_was_left_out_by_choice_did_not_vanish(accepted):
    """`-k` leaves the other probes alone."""
    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=new.json", "-k", "thanks")

    assert "FAIL" not in accepted.outcomes("new.json").values()
    assert "second/worsening" not in str(accepted.outcomes("new.json"))
    assert result.ret in (0, 1)  # one probe alone may be too little for the pooled claim


def test_a_run_that_is_not_decided_cannot_be_accepted(project, capsys):
    """`calm accept` refuses with the reason, and writes nothing."""
    project.run("--calm-results=results.json", judge="judges:torn")

    status = main(["accept", str(project.path / "results.json"), "-o", str(project.path / "b.json")])

    assert status == 1
    assert "flattery/gain/flatter" in capsys.readouterr().err
    assert not (project.path / "b.json").exists()


def test_it_does_not_go_with_stopping_early(accepted):
    """A comparison case by case needs all cases: exit status 4."""
    result = accepted.run_apart("--calm-baseline=baseline.json", "--calm-sequential")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--calm-baseline: it is compared case by case*"])
