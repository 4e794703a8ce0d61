"""`--calm-sample N`: at most N cases, the same for all probes."""

import json
from html import unescape


def test_a_sample_is_that_many_cases(project, workers):
    """The record counts the sample, not the file."""
    project.run("--calm-sample=85", "--calm-results=results.json", *workers)

    assert project.results()["cases"]["n"] == 85


def test_all_probes_get_the_same_sample(project):
    """Two tests of a run have trials on the same cases."""
    project.write(
        "test_more.py",
        "from calm import gain\nfrom edits import greet\n\n\n"
        "def test_greetings_do_not_win(probe):\n    assert probe(greet).proves(gain <= 0.20)\n",
    )

    project.run("--calm-sample=50", "--calm-stopping=fixed", "--calm-results=results.json")

    asked = {frozenset(t["case"] for t in f["trials"]) for f in project.results()["findings"]}
    (cases,) = asked
    assert len(cases) == 50


def test_the_default_is_two_hundred(project):
    """Of more cases two hundred are drawn."""
    project.write("many.jsonl", project.cases(230))

    project.run("--calm-results=results.json", cases="many.jsonl")

    cases = project.results()["cases"]
    assert (cases["n"], cases["of"]) == (200, 230)


def test_a_sample_is_not_told_as_all_cases(project, workers):
    """The terminal, the record and every report say of how many cases those asked are a sample."""
    project.write("many.jsonl", project.cases(230))
    files = {"results": "r.json", "report": "r.html", "summary": "r.md", "sarif": "r.sarif"}

    given = [f"--calm-{name}={file}" for name, file in files.items()]
    project.run("--calm-sample=60", *given, *workers, cases="many.jsonl")

    told = {"n": 60, "of": 230, "questions": 60, "gold": 60, "people": 0, "sha256": ""}
    assert project.results("r.json")["cases"] | {"sha256": ""} == told
    assert "60 of 230 (--calm-sample)" in (project.path / "r.html").read_text()
    assert "60 of 230 cases (--calm-sample)" in unescape((project.path / "r.md").read_text())
    sarif = json.loads((project.path / "r.sarif").read_text())["runs"][0]["properties"]
    assert (sarif["cases"], sarif["casesSampledFrom"]) == (60, 230)


def test_the_ini_setting_does_the_same(project):
    """`calm_sample` in the ini file limits the sample."""
    project.ini(sample="85")

    project.run("--calm-results=results.json")

    cases = project.results()["cases"]
    assert (cases["n"], cases["of"]) == (85, 100)


def test_too_few_cases_are_said_before_they_are_asked(project):
    """How often a sound judge is green is said above the tests' outcomes, and what it lacks; they are asked anyway."""
    result = project.run("--calm-sample=20", judge="judges:counted")

    result.stdout.fnmatch_lines(
        [
            "*calm: 20 cases are too few for these limits: a judge without bias passes in under 1 % of runs; "
            "these claims pass least often: flattery/flatter: net_robustness >= 0.90 (under 1 %), "
            "flattery/flatter: gain <= 0.10 (under 1 %); take more cases, or "
            "--calm-limits attainable"
        ]
    )
    assert project.calls() > 0
