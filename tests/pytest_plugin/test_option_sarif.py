"""`--calm-sarif FILE`: what is red or accepted, for a code scanner."""

import json
from pathlib import Path

import jsonschema
import pytest

SCHEMA = json.loads((Path(__file__).parents[1] / "reports" / "sarif-2.1.0-part.schema.json").read_text("utf-8"))


def run_of(project, name="results.sarif"):
    """Return the one run of a valid log."""
    log = json.loads((project.path / name).read_text("utf-8"))
    jsonschema.validate(log, SCHEMA)
    return log["runs"][0]


@pytest.mark.parametrize(
    ("judge", "levels"),
    [("gold", set()), ("fond", {"error"}), ("torn", {"warning"}), ("broken", {"error"})],
)
def test_a_valid_log_is_written_whatever_the_outcome(project, workers, judge, levels):
    """A green run has no results; an undecided claim is a warning."""
    result = project.run("--calm-sarif=results.sarif", *workers, judge=f"judges:{judge}")

    assert {r["level"] for r in run_of(project)["results"]} == levels
    result.stdout.fnmatch_lines(["sarif: results.sarif"])


def test_a_result_stands_at_its_test(project):
    """A viewer opens the test's file at its line."""
    project.run("--calm-sarif=results.sarif", judge="judges:fond")

    place = run_of(project)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "test_flattery.py"
    assert place["region"]["startLine"] == 6


def test_an_accepted_failure_is_suppressed(project, workers):
    """An xfail's reason is the justification."""
    suite = (project.path / "test_flattery.py").read_text()
    marked = suite.replace("def test", "@pytest.mark.xfail(reason='known since May')\ndef test")
    project.write("test_flattery.py", f"import pytest\n{marked}")

    project.run("--calm-sarif=results.sarif", *workers, judge="judges:fond")

    found = run_of(project)["results"]
    assert found
    assert {r["suppressions"][0]["justification"] for r in found} == {"xfail: known since May"}


def test_the_ini_setting_does_the_same(project):
    """`calm_sarif` in the ini file names the file."""
    project.ini(sarif="results.sarif")

    project.run()

    assert run_of(project)["results"] == []
