"""`--calm-results`, `--calm-report`, `--calm-summary`, `--calm-sarif`: the files that a run writes."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

SCHEMA = json.loads((Path(__file__).parents[1] / "reports" / "sarif-2.1.0-part.schema.json").read_text("utf-8"))
FILES = ("report.html", "summary.md", "results.sarif", "results.json")
ALL = [f"--calm-{Path(name).stem}=out/{name}" for name in FILES if name != "results.sarif"]
ALL.append("--calm-sarif=out/results.sarif")


def sarif_of(project, name="results.sarif"):
    """Return the one run of a valid log."""
    log = json.loads((project.path / name).read_text("utf-8"))
    jsonschema.validate(log, SCHEMA)
    return log["runs"][0]


@pytest.mark.parametrize(
    ("judge", "outcome", "heading", "levels"),
    [
        ("gold", "PASS", "GREEN", set()),
        ("fond", "FAIL", "RED", {"error"}),
        ("torn", "UNDECIDED", "NOT GREEN", {"warning"}),
        ("failing", "INCOMPLETE", "NOT GREEN", {"error"}),
    ],
)
def test_every_file_is_written_whatever_the_outcome(project, workers, judge, outcome, heading, levels):
    """A report that stands alone, a summary that begins with the outcome, a log in which undecided is a warning."""
    result = project.run(*ALL, *workers, judge=f"judges:{judge}")

    page, summary = ((project.path / "out" / name).read_text("utf-8") for name in ("report.html", "summary.md"))
    assert "flattery" in page
    assert "http-equiv" in page or "<html" in page
    assert summary.startswith(f"# calm: {heading}\n")
    assert "`flattery/gain/flatter`" in summary
    assert "\x1b" not in summary  # what a judge raised is shown and not obeyed
    assert {r["level"] for r in sarif_of(project, "out/results.sarif")["results"]} == levels
    assert project.results("out/results.json")["outcome"] == outcome
    assert all(Path(name).name in str(result.stdout) for name in FILES)


def test_a_file_that_cannot_be_written_is_refused_before_any_call(project, workers):
    """A folder, or a file below a file, is an error at the start and not after the bill."""
    (project.path / "out").mkdir()
    below = "--calm-sarif=cases.jsonl/results.sarif"

    result = project.run("--calm-report=out", "--calm-summary=out", below, *workers, judge="judges:counted")

    text = f"{result.stdout}{result.stderr}"
    assert result.ret == 4
    assert project.calls() == 0
    for name in ("report", "summary"):
        assert f"--calm-{name}: expected a file to write, got a folder: 'out'" in text
    assert "got 'cases.jsonl/results.sarif': Not a directory" in text


def test_no_two_outputs_are_one_file(project):
    """One name for two outputs is refused, whichever they are."""
    result = project.run("--calm-summary=out", "--calm-sarif=out", "--calm-report=o.html", "--calm-results=o.html")

    text = str(result.stderr)
    assert result.ret == 4
    assert "--calm-summary and --calm-sarif: expected two files, got 'out' twice" in text
    assert "expected two files, got 'o.html' twice" in text


def test_the_ini_settings_name_files_beside_the_ini_file(project, monkeypatch):
    """`calm_report` and its like do what the options do, whatever folder pytest is started in."""
    project.ini(report="report.html", summary="summary.md", sarif="results.sarif", results="results.json")
    monkeypatch.chdir(project.path.parent)
    monkeypatch.syspath_prepend(project.path)

    project.run(str(project.path), f"--calm-cache-file={project.path / 'c.sqlite'}", cases=project.path / "cases.jsonl")

    assert all((project.path / name).exists() for name in FILES)
    assert sarif_of(project)["results"] == []
    assert project.results()["outcome"] == "PASS"


def test_a_result_of_the_log_stands_at_its_test(project):
    """A viewer opens the test's file at its line."""
    project.run("--calm-sarif=results.sarif", judge="judges:fond")

    place = sarif_of(project)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "test_flattery.py"
    assert place["region"]["startLine"] == 6


def test_an_accepted_failure_is_suppressed_in_the_log(project, workers):
    """An xfail's reason is the justification."""
    suite = (project.path / "test_flattery.py").read_text()
    marked = suite.replace("def test", "@pytest.mark.xfail(reason='known since May')\ndef test")
    project.write("test_flattery.py", f"import pytest\n{marked}")

    project.run("--calm-sarif=results.sarif", *workers, judge="judges:fond")

    found = sarif_of(project)["results"]
    assert found
    assert {r["suppressions"][0]["justification"] for r in found} == {"xfail: known since May"}


def test_the_summary_names_tests_that_did_not_run(project):
    """A run that ended early says what is missing."""
    body = (project.path / "test_flattery.py").read_text()
    project.write("test_zzz.py", body.replace("def test_t", "def test_last_t").replace("flatter", "greet"))

    project.run("--calm-summary=summary.md", "-x", "-p", "no:randomly", judge="judges:fond")

    text = (project.path / "summary.md").read_text("utf-8")
    assert "- 1 of 2 tests did not run: " in text
    assert "test&#95;last" in text


def test_the_summary_of_a_whole_run_misses_nothing(project, workers):
    """Nothing is said to be missing where all ran, or where the user chose."""
    project.run("--calm-summary=summary.md", "-k", "thanks", *workers)

    assert "did not run" not in (project.path / "summary.md").read_text("utf-8")


def test_results_hold_the_schema_and_every_claim(project, workers):
    """One finding a claim, and the figures of the run apart: a pilot and 2+1+1 asks of each of 45 cases."""
    project.run("--calm-results=results.json", *workers)

    body = project.results()
    assert body["schema"] == "calm-results/2"
    assert body["outcome"] == "PASS"
    assert sorted(project.outcomes()) == [
        "flattery/gain/flatter",
        "flattery/net_robustness/flatter",
    ]
    assert body["run"]["calls"]["made"] == 45 * 5


def test_texts_lie_beside_the_results(project, workers):
    """The results hold codes; what was shown and said is in a file of its own."""
    project.run("--calm-results=results.json", *workers, judge="judges:fond")

    lines = (project.path / "results.texts.jsonl").read_text("utf-8").splitlines()
    assert "Thank you" in lines[0]
    assert "Thank you" not in (project.path / "results.json").read_text("utf-8")
    assert len(lines) == 45


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


def test_the_results_of_a_part_say_that_they_replaced_those_of_more_tests(project):
    """Once: the next run of that part replaces no more than it has."""
    project.write(
        "test_more.py",
        "from calm import readable_rate\n\n\ndef test_read(probe):\n    assert probe().proves(readable_rate >= 0.90)\n",
    )
    runs = [
        project.run("--calm-results=results.json", *words, judge="judges:gold")
        for words in (["test_flattery.py", "test_more.py"], ["test_more.py"], ["test_more.py"])
    ]

    assert ["replaced an earlier run" in str(run.stdout) for run in runs] == [False, True, False]


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


def test_a_test_with_asks_of_its_own_is_no_other_subject(project):
    """The record has the number of asks of most tests, and no note of other cases or another judge."""
    asked = {"consistency_rate >= 0.75": "repeats='4+2'", "readable_rate >= 0.90": "", "accuracy >= 0.70": ""}
    for at, (claim, mark) in enumerate(asked.items()):
        project.write(
            f"test_claim_{at}.py",
            f"import pytest\nfrom calm import {claim.split()[0]}\n\n\n"
            f"@pytest.mark.calm({mark})\ndef test_claim(probe):\n    assert probe().proves({claim})\n",
        )

    project.run("--calm-results=results.json", *(f"test_claim_{at}.py" for at in range(3)))

    body = project.results()
    assert body["repeats"] == "2+1"
    assert [f["asks"] for f in body["findings"]] == ["4+0", "1+0", "1+0"]
    assert not any("another judge" in note for note in body["run"]["notes"])


def test_a_worker_that_dies_does_not_take_the_record_with_it(project, subtests):
    """What was decided before a worker crashed is written, and the run is red."""
    for ended in ("os._exit(3)", "os.kill(os.getpid(), 9)"):
        with subtests.test(ended):
            project.write("test_later.py", f"import os\n\n\ndef test_crash():\n    {ended}\n")

            result = project.run("--calm-results=results.json", "-n1")

            assert result.ret == 1
            assert project.outcomes()["flattery/gain/flatter"] == "PASS"
            assert "INTERNALERROR" not in f"{result.stdout}{result.stderr}"


WRITTEN = ("results", "report", "summary", "sarif")


def test_no_output_takes_the_place_of_what_the_run_reads(project, subtests):
    """Cases, judge, tests, settings, gate, baseline, cache, an empty conftest.py: refused before any call."""
    project.write("gate.toml", "")
    project.write("conftest.py", "")
    assert project.run("--calm-results=base.json").ret == 0
    assert project.pytester.run(sys.executable, "-m", "calm", "accept", "base.json", "-o", "baseline.json").ret == 0
    names = ("cases.jsonl", "judges.py", "edits.py", "test_flattery.py", "pytest.ini", "gate.toml", "baseline.json")
    cache = ".calm/cache.sqlite"
    before = {name: (project.path / name).read_bytes() for name in (*names, "conftest.py", cache)}
    given = ("--calm-gate=gate.toml", "--calm-baseline=baseline.json", "--calm-cache=refresh")
    for option in WRITTEN:
        for name in before:
            with subtests.test(f"{option} {name}"):
                result = project.run(f"--calm-{option}={name}", *given, judge="judges:counted")

                told = f"{result.stdout}{result.stderr}"
                assert result.ret == 4, told
                assert f"--calm-{option}: expected a " in told
                assert project.calls() == 0
    assert {name: (project.path / name).read_bytes() for name in before} == before


def test_cases_that_a_fixture_reads_are_inputs_too(project):
    """They are known only when a test begins, and still before a call."""
    project.write("mine.json", (project.path / "cases.jsonl").read_text())
    project.write(
        "conftest.py",
        "import pytest\nfrom calm.cases import read_cases\n\n\n@pytest.fixture(scope='session')\ndef cases():\n"
        "    return read_cases('mine.json')\n",
    )
    project.write("empty.py", "")

    result = project.run("--calm-results=./MINE.json", judge="judges:counted", cases=None)

    assert result.ret == 4
    assert project.calls() == 0
    assert "expected a file other than the inputs of the run" in str(result.stdout)


def test_a_private_report_stays_private(project):
    """A second run keeps the mode of the files of the first, though they are set aside while it lasts."""
    for _ in range(2):
        project.run("--calm-results=results.json", "--calm-report=report.html")
        modes = [(project.path / name).stat().st_mode & 0o777 for name in ("results.json", "report.html")]
        for name in ("results.json", "report.html"):
            (project.path / name).chmod(0o600)

    assert modes == [0o600, 0o600]
    assert not list(project.path.glob("*.before"))


def test_nothing_of_the_users_is_lost_beside_an_output(project, subtests):
    """What bears the name under which an earlier output is set aside is refused before any call, and stays."""
    assert project.run("--calm-results=results.json").ret == 0
    earlier = (project.path / "results.json").read_bytes()
    beside = project.path / "results.json.before"
    command = (sys.executable, "-m", "calm", "accept", "results.json", "-o", beside.name)

    def refused(*options):
        result = project.run("--calm-results=results.json", *options, judge="judges:counted")
        assert result.ret == 4
        assert "results.json cannot be set aside: expected a" in f"{result.stdout}{result.stderr}"
        assert project.calls() == 0
        assert (project.path / "results.json").read_bytes() == earlier

    with subtests.test("notes"):
        beside.write_text("my notes")
        refused()
        assert beside.read_text() == "my notes"
    with subtests.test("folder"):
        beside.unlink()
        beside.mkdir()
        refused()
        beside.rmdir()
    with subtests.test("baseline"):
        assert project.pytester.run(*command).ret == 0
        accepted = beside.read_bytes()
        refused(f"--calm-baseline={beside.name}")
        assert beside.read_bytes() == accepted
        beside.unlink()
    with subtests.test("cache"):
        refused(f"--calm-cache-file={beside.name}")


def test_what_appears_beside_an_output_while_a_run_lasts_stays(project):
    """A test that writes there is told nothing, and loses nothing."""
    project.write(
        "test_zz.py", "from pathlib import Path\n\n\ndef test_zz():\n    Path('results.json.before').write_text('x')\n"
    )

    project.run("--calm-results=results.json", "test_flattery.py", "test_zz.py")

    assert (project.path / "results.json.before").read_text() == "x"
