"""`--calm-report FILE.html`: a report for people."""

import pytest


@pytest.mark.parametrize("judge", ["judges:gold", "judges:fond", "judges:torn", "judges:broken"])
def test_a_report_is_written_whatever_the_outcome(project, workers, judge):
    """A green, a red, an undecided and an incomplete run leave one file that stands alone."""
    result = project.run("--calm-report=out/report.html", *workers, judge=judge)

    text = (project.path / "out" / "report.html").read_text("utf-8")
    assert "flattery" in text
    assert "http-equiv" in text or "<html" in text
    result.stdout.fnmatch_lines(["report: out/report.html"])


def test_a_folder_is_refused_before_any_call(project, workers):
    """A report that could not be written is an error at the start, not after the bill."""
    (project.path / "out").mkdir()

    result = project.run("--calm-report=out", *workers, judge="judges:counted")

    assert result.ret == 4
    assert project.calls() == 0
    result.stderr.fnmatch_lines(["ERROR: calm: --calm-report: expected a file, got the folder 'out'"])


def test_a_file_below_a_file_is_refused_before_any_call(project):
    """No folder can be made where a file stands."""
    result = project.run("--calm-report=cases.jsonl/report.html", judge="judges:counted")

    assert result.ret == 4
    assert project.calls() == 0
    result.stderr.fnmatch_lines(["*cases.jsonl' is no folder to write in"])


def test_report_and_results_are_two_files(project):
    """One name for both outputs is refused."""
    result = project.run("--calm-report=out.html", "--calm-results=out.html")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*expected two files, got 'out.html' twice"])


def test_the_ini_setting_is_relative_to_the_ini_file(project, monkeypatch):
    """`calm_report` is written beside the ini file."""
    project.ini(report="report.html")
    monkeypatch.chdir(project.path.parent)
    monkeypatch.syspath_prepend(project.path)

    project.run(str(project.path), f"--calm-cache-file={project.path / 'c.sqlite'}", cases=project.path / "cases.jsonl")

    assert (project.path / "report.html").exists()
