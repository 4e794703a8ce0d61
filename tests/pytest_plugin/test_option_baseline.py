"""`--calm-baseline`: not worse than an accepted run."""

import pytest

from calm.commands.cli import main

POOLS = ("worsening/gain", "worsening/net_robustness", "worsening/unreadable_gain")
SECOND = """
import pytest

from calm import Expects, gain, net_robustness, perturbation, readable_rate


def ended(name, words):
    def end(case, rng):
        return case.edit(case.target, lambda text: f"{text} {words}")

    end.__name__ = name
    return perturbation(bias="courtesy", expects=Expects.NOT_BETTER)(end)


ENDS = [ended("thank", "Thank you."), ended("bow", "At your service."), ended("wish", "Have a good day.")]


def test_b(probe):
    assert probe().proves(readable_rate >= 0.9)


@pytest.mark.parametrize("edit", ENDS, ids=repr)
def test_c(probe, edit):
    assert probe(edit).proves(net_robustness >= 0.90, gain <= 0.10)
"""


def together(project, name):
    """Return the outcomes of the claims about all probes, by measure."""
    return {k.split("/", 1)[1]: o for k, o in project.outcomes(name).items() if k.startswith("baseline/")}


@pytest.fixture
def accepted(project):
    """A project of four probes, whose sound judge was accepted."""
    project.write("test_second.py", SECOND)
    project.run("--calm-results=base.json", judge="judges:gold")
    assert main(["accept", str(project.path / "base.json"), "-o", str(project.path / "baseline.json")]) == 0
    return project


def test_an_unchanged_run_is_green(accepted, workers):
    """The same inputs from the cache differ by nothing, and the pooled claims are proven, one for each measure."""
    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=again.json", *workers)

    assert result.ret == 0
    assert together(accepted, "again.json") == dict.fromkeys(POOLS, "PASS")


def test_a_judge_that_got_worse_is_red(accepted, workers):
    """The probe that shows it is named."""
    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=new.json", *workers, judge="judges:fond")

    outcomes = accepted.outcomes("new.json")
    assert result.ret == 1
    assert (outcomes["flattery/worsening/flatter"], outcomes["courtesy/worsening/bow"]) == ("FAIL", "OBSERVED")
    assert together(accepted, "new.json") == {
        **dict.fromkeys(POOLS, "FAIL"),
        "worsening/unreadable_gain": "PASS",
    }


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


def test_runs_under_other_stopping_rules_compare(accepted):
    """An unchanged judge that is asked about all cases is not worse than one that was asked about the first of them."""
    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=all.json", "--calm-stopping=fixed")

    assert result.ret == 0
    assert set(together(accepted, "all.json").values()) == {"PASS"}


def test_a_run_that_stops_early_is_compared_with_a_whole_one(project):
    """What was not asked after the stop did not vanish; the finding says how many cases it is."""
    project.write("test_second.py", SECOND)
    project.run("--calm-stopping=fixed", "--calm-results=base.json")
    assert main(["accept", str(project.path / "base.json"), "-o", str(project.path / "baseline.json")]) == 0

    result = project.run("--calm-baseline=baseline.json", "--calm-results=new.json")

    found = {f["key"]: f for f in project.results("new.json")["findings"]}
    assert result.ret == 0
    assert found["baseline/worsening/net_robustness"]["outcome"] == "PASS"
    assert found["courtesy/worsening/bow"]["excluded"] == {"not asked: this run stopped before": 55}


def test_a_limit_of_a_baseline_is_that_of_its_measure(accepted):
    """gate.toml names the pooled claim; both limits are shown, and why."""
    accepted.write(
        "gate.toml",
        '[[limit]]\nkey = "baseline/worsening/net_robustness"\nlimit = 0.2\nreason = "few cases"\n'
        "expires = 2999-12-31\n",
    )

    result = accepted.run("--calm-baseline=baseline.json", "--calm-gate=gate.toml", "--calm-results=new.json")

    found = {f["key"]: f for f in accepted.results("new.json")["findings"]}["baseline/worsening/net_robustness"]
    assert result.ret == 0
    assert (found["claim"]["limit"], found["stated"]["limit"]) == (0.2, 0.1)
    assert "few cases" in found["reason"]


def test_an_older_baseline_is_refused_before_anything_is_asked(project):
    """Exit status 4, and how to make a new one."""
    project.write("baseline.json", '{"schema": "calm-baseline/1", "findings": []}')

    result = project.run("--calm-baseline=baseline.json", judge="judges:counted")

    assert (result.ret, project.calls()) == (4, 0)
    result.stderr.fnmatch_lines(["*Make a new one: run the suite with --calm-stopping=fixed*"])
