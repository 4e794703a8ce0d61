"""`--calm-baseline`: not worse than an accepted run."""

import pytest

from calm.commands.cli import main
from tests.lanes import slow

POOLS = ("worsening/gain", "worsening/net_robustness", "worsening/unreadable_gain")
LEFT_OUT = "baseline/claims"
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


def claims(audit):
    """Return the keys of what a run claims of its probes."""
    return sorted(f["key"] for f in audit["findings"] if f["claim"] and not f["key"].startswith(("run/", "baseline/")))


def test_a_probe_that_vanished_is_red(accepted):
    """A suite that lost a test does not become green by it."""
    (accepted.path / "test_flattery.py").unlink()

    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=new.json")

    assert result.ret == 1
    assert accepted.outcomes("new.json")[LEFT_OUT] == "INCOMPLETE"


@pytest.mark.parametrize(
    "choice",
    [
        ("-k", "bow"),
        ("-m", "only"),
        ("test_second.py",),
        ("test_second.py::test_b",),
        ("--deselect", "test_second.py::test_c"),
        ("--ignore", "test_flattery.py"),
        ("--lf", "-p", "cacheprovider"),
    ],
    ids=" ".join,
)
def test_a_part_is_not_green_against_a_whole_baseline_and_is_against_its_own(accepted, choice):
    """Whatever chose the part, what it left out is counted and named. A baseline of the part is compared on purpose."""
    accepted.write("pytest.ini", (accepted.path / "pytest.ini").read_text() + "markers =\n    only: some tests\n")
    accepted.write("test_second.py", SECOND.replace("def test_b", "@pytest.mark.only\ndef test_b"))
    if choice[0] == "--lf":
        accepted.run("test_second.py", "-p", "cacheprovider", judge="judges:fond")

    part = accepted.run("--calm-baseline=baseline.json", "--calm-results=part.json", *choice)
    assert main(["accept", str(accepted.path / "part.json"), "-o", str(accepted.path / "own.json")]) == 0
    again = accepted.run("--calm-baseline=own.json", "--calm-results=again.json", *choice)

    whole, made = claims(accepted.results("base.json")), claims(accepted.results("part.json"))
    lost = sorted({*whole} - {*made})
    found = {f["key"]: f for f in accepted.results("part.json")["findings"]}[LEFT_OUT]
    assert lost
    assert made
    assert (part.ret, again.ret) == (1, 0)
    assert found["outcome"] == "INCOMPLETE"
    assert found["reason"].startswith(f"{len(lost)} of {len(whole)} claims")
    assert ", ".join(lost[:5]) in found["reason"]
    assert lost[0] in part.stdout.str()
    assert LEFT_OUT not in accepted.outcomes("again.json")


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
        '[[limit]]\nkey = "baseline/worsening/net_robustness"\nlimit = 0.12\nreason = "few cases"\n'
        "expires = 2999-12-31\n",
    )

    result = accepted.run("--calm-baseline=baseline.json", "--calm-gate=gate.toml", "--calm-results=new.json")

    found = {f["key"]: f for f in accepted.results("new.json")["findings"]}["baseline/worsening/net_robustness"]
    assert result.ret == 0
    assert (found["claim"]["limit"], found["stated"]["limit"]) == (0.12, 0.2828)
    assert "few cases" in found["reason"]


def test_an_older_baseline_is_refused_before_anything_is_asked(project):
    """Exit status 4, and how to make a new one."""
    project.write("baseline.json", '{"schema": "calm-baseline/1", "findings": []}')

    result = project.run("--calm-baseline=baseline.json", judge="judges:counted")

    assert (result.ret, project.calls()) == (4, 0)
    result.stderr.fnmatch_lines(["*Make a new one: run the suite with --calm-stopping=fixed*"])


def test_a_baseline_of_another_judge_or_other_cases_is_refused_before_anything_is_asked(accepted):
    """Exit status 4, and nothing is asked: nothing of the run could be compared."""
    accepted.write("others.jsonl", accepted.cases(40, prefix="other"))

    single = '{"id": "c001", "question": "What is 1 + 1?", "answers": [{"id": "a", "text": "It is 2."}]}\n'
    accepted.write("singles.jsonl", single)

    for judge, cases in (("counted", "others.jsonl"), ("marked", "singles.jsonl")):
        result = accepted.run("--calm-baseline=baseline.json", judge=f"judges:{judge}", cases=cases)

        assert (result.ret, accepted.calls()) == (4, 0)
        result.stderr.fnmatch_lines(["*baseline.json: *calm accept*"])


@pytest.mark.parametrize("how", [(), slow(("--calm-lookahead=0",)), ("-n2",)], ids=" ".join)
@pytest.mark.parametrize("prefix", ["other", "c"])
def test_a_baseline_without_a_common_case_is_refused_before_anything_is_asked_however_it_is_run(accepted, how, prefix):
    """Also where the cases have other texts under the same ids, test by test, and in workers."""
    texts = accepted.cases(40, prefix=prefix).replace("What", "Pray, what")
    assert texts != accepted.cases(40, prefix=prefix)
    accepted.write("others.jsonl", texts)

    result = accepted.run("--calm-baseline=baseline.json", *how, judge="judges:counted", cases="others.jsonl")

    assert (result.ret, accepted.calls()) == (4, 0)
    assert "nothing can be compared" in result.stdout.str() + result.stderr.str()


def test_a_run_that_lacks_a_case_is_not_green_and_not_worse(accepted):
    """It is said before the first question; the cases that are left are compared, and the new set can be accepted."""
    lines = (accepted.path / "cases.jsonl").read_text().splitlines(keepends=True)
    accepted.write("fewer.jsonl", "".join(lines[1:]))

    result = accepted.run("--calm-baseline=baseline.json", "--calm-results=new.json", cases="fewer.jsonl")
    assert main(["accept", str(accepted.path / "new.json"), "-o", str(accepted.path / "own.json")]) == 0
    again = accepted.run("--calm-baseline=own.json", "--calm-results=again.json", cases="fewer.jsonl")

    outcomes = accepted.outcomes("new.json")
    assert (result.ret, again.ret) == (1, 0)
    assert outcomes["baseline/cases"] == "INCOMPLETE"
    assert "FAIL" not in outcomes.values()
    assert "baseline/cases" not in accepted.outcomes("again.json")
    out = result.stdout.str()
    assert 0 < out.index("calm: 1 of the ") < out.index("= calm =")


def test_claims_of_a_baseline_that_a_run_leaves_out_are_named_before_anything_is_asked(accepted):
    """Each of them would be missing at the end."""
    result = accepted.run("--calm-baseline=baseline.json", "-k", "thanks")

    result.stdout.fnmatch_lines(["calm: 7 of 9 claims of the baseline are not in this run: *courtesy*"])
