"""`--calm-results FILE.json`: the results for machines."""

import json

import pytest


def test_results_hold_the_schema_and_every_claim(project, workers):
    """One finding a claim, with the claim that the engine adds, and the run's own figures apart."""
    project.run("--calm-results=results.json", *workers)

    body = project.results()
    assert body["schema"] == "calm-results/1"
    assert body["outcome"] == "PASS"
    assert sorted(project.outcomes()) == [
        "flattery/gain/flatter",
        "flattery/net_robustness/flatter",
        "flattery/unreadable_gain/flatter",
    ]
    assert body["run"]["calls"]["made"] == 700


def test_texts_lie_beside_the_results(project, workers):
    """The results hold codes; what was shown and said is in a file of its own."""
    project.run("--calm-results=results.json", *workers, judge="judges:fond")

    lines = (project.path / "results.texts.jsonl").read_text("utf-8").splitlines()
    assert "Thank you" in lines[0]
    assert "Thank you" not in (project.path / "results.json").read_text("utf-8")
    assert len(lines) == 60


def test_texts_that_no_encoding_can_hold_survive(project, workers):
    """Half a character in a judged text breaks neither the workers nor the files."""
    torn = project.cases(100).replace("It is", "\\\\ud83d It is".replace("\\\\", "\\"))
    project.write("cases.jsonl", torn)

    result = project.run("--calm-results=results.json", *workers, judge="judges:fond")

    assert result.ret in (1, 4)
    assert "INTERNALERROR" not in f"{result.stdout}{result.stderr}"
    assert "Traceback" not in f"{result.stdout}{result.stderr}"


def test_the_results_of_the_last_run_stand(project):
    """A second run replaces the first one's file as a whole."""
    project.run("--calm-results=results.json", judge="judges:fond")
    project.run("--calm-results=results.json", judge="judges:gold")

    assert project.results()["outcome"] == "PASS"
    assert not list(project.path.glob(".results.json.*"))


def test_two_judges_in_one_run_are_said(project, workers):
    """The record names one judge, always the same one, and notes that there were others."""
    project.write("conftest.py", "")
    for name, judge in (("one", "gold"), ("two", "noisy")):
        project.write(f"{name}/__init__.py", "")
        project.write(
            f"{name}/conftest.py",
            "import pytest, judges\nfrom calm.judges.python import PythonJudge\n\n\n"
            f"@pytest.fixture(scope='session')\ndef judge():\n    return PythonJudge(judges.{judge})\n",
        )
        project.write(
            f"{name}/test_read_{name}.py",
            "from calm import readable_rate\n\n\n"
            "def test_read(probe):\n    assert probe().proves(readable_rate >= 0.90)\n",
        )

    project.run("--calm-results=results.json", "one", "two", *workers, judge=None)

    body = project.results()
    assert body["judge"]["name"] == "judges:gold"
    assert any("other cases or another judge" in note for note in body["run"]["notes"])


@pytest.mark.parametrize("ended", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_a_worker_that_dies_does_not_take_the_record_with_it(project, ended):
    """What was decided before a worker crashed is written, and the run is red."""
    project.write("test_later.py", f"import os\n\n\ndef test_crash():\n    {ended}\n")

    result = project.run_apart("--calm-results=results.json", "-n1")

    assert result.ret == 1
    assert project.outcomes()["flattery/gain/flatter"] == "PASS"
    assert "INTERNALERROR" not in f"{result.stdout}{result.stderr}"


def test_the_ini_setting_does_the_same(project):
    """`calm_results` in the ini file names the file."""
    project.ini(results="results.json")

    project.run()

    assert json.loads((project.path / "results.json").read_text("utf-8"))["outcome"] == "PASS"
