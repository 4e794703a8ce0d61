"""`--calm-summary FILE.md`: a summary for a job's page or a pull request."""

import pytest


@pytest.mark.parametrize(
    ("judge", "outcome"),
    [("judges:gold", "PASS"), ("judges:fond", "FAIL"), ("judges:torn", "UNDECIDED"), ("judges:broken", "INCOMPLETE")],
)
def test_a_summary_is_written_whatever_the_outcome(project, workers, judge, outcome):
    """A green, a red, an undecided and an incomplete run leave a file that begins with the outcome."""
    result = project.run("--calm-summary=out/summary.md", *workers, judge=judge)

    text = (project.path / "out" / "summary.md").read_text("utf-8")
    assert text.startswith(f"# calm: {outcome}\n")
    assert "`flattery/gain/flatter`" in text
    result.stdout.fnmatch_lines(["summary: out/summary.md"])


def test_escapes_of_a_judge_do_not_reach_it(project):
    """What a judge raised is shown and not obeyed."""
    project.run("--calm-summary=summary.md", judge="judges:broken")

    assert "\x1b" not in (project.path / "summary.md").read_text("utf-8")


def test_a_folder_is_refused_before_any_call(project, workers):
    """A file that could not be written is an error at the start."""
    (project.path / "out").mkdir()

    result = project.run("--calm-summary=out", *workers, judge="judges:counted")

    assert result.ret == 4
    assert project.calls() == 0
    result.stderr.fnmatch_lines(["ERROR: calm: --calm-summary: expected a file, got the folder 'out'"])


def test_no_two_outputs_are_one_file(project):
    """One name for two outputs is refused, whichever they are."""
    result = project.run("--calm-summary=out", "--calm-sarif=out")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--calm-summary and --calm-sarif: expected two files, got 'out' twice"])


def test_tests_that_did_not_run_are_named(project, workers):
    """A run that ended early says what is missing."""
    project.write("test_flattery.py", (project.path / "test_flattery.py").read_text() + "\n")
    project.write(
        "test_zzz.py", (project.path / "test_flattery.py").read_text().replace("def test_t", "def test_last_t")
    )

    project.run("--calm-summary=summary.md", "-x", "-p", "no:randomly", judge="judges:fond")

    text = (project.path / "summary.md").read_text("utf-8")
    assert "Note: 1 of 2 tests did not run: " in text
    assert "test&#95;last" in text


def test_a_whole_run_misses_nothing(project, workers):
    """Nothing is said to be missing where all ran, or where the user chose."""
    project.run("--calm-summary=summary.md", "-k", "thanks", *workers)

    assert "did not run" not in (project.path / "summary.md").read_text("utf-8")


def test_the_ini_setting_does_the_same(project):
    """`calm_summary` in the ini file names the file."""
    project.ini(summary="summary.md")

    project.run()

    assert (project.path / "summary.md").exists()
