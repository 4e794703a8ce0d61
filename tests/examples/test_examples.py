"""Short projects that teach: each is run as its reader would run it, with a plain `pytest`."""

import os
import re
import subprocess
import sys


def run(project, *options):
    """Run pytest as its console script does: without the current folder on the path."""
    command = [sys.executable, "-P", "-m", "pytest", *options]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "CALM"))}
    return subprocess.run(command, cwd=project, env=kept, capture_output=True, text=True, check=False, timeout=120)


def test_a_new_bias_is_two_short_files(request):
    """Adding a bias takes about ten lines of edit and five of suite, and no other file."""
    folder = request.path.parent / "new_bias"

    files = {p.name: len(p.read_text("utf-8").splitlines()) for p in folder.rglob("*.*") if p.suffix != ".pyc"}
    assert files.keys() == {"pytest.ini", "politeness.py", "test_politeness.py"}
    assert files["politeness.py"] <= 10
    assert files["test_politeness.py"] <= 7


def test_a_new_bias_is_found_and_decided(example):
    """A plain `pytest` with the default judge finds the new suite beside the user's own tests."""
    done = run(example("new_bias"))

    assert "\nGREEN (exit 0): " in done.stdout
    assert "\ntested: 1 of 1 bias" in done.stdout
    assert "test_politeness.py" in done.stdout
    assert "test_reports.py" in done.stdout
    assert "judge lexical (pairwise), 200 of 240 cases" in done.stdout


def test_a_judge_with_the_new_bias_fails(example):
    """A judge that thanks can win fails the new suite, by name."""
    done = run(example("new_bias"), "--calm-judge=courtesy:fond")

    assert done.returncode == 1
    assert "\nRED (exit 1): " in done.stdout
    assert re.search(r"^FAIL politeness \(thank\): .* 100 of 100 cases \(.*; allowed 10\)", done.stdout, re.MULTILINE)


def test_a_note_that_the_judge_never_reads_is_not_tested(example):
    """An edit that cannot reach the judge proves nothing: the reason is said, and the run is not green."""
    done = run(example("unseen_note"), "--calm-judge=courtesy:fond")

    assert done.returncode == 1
    assert re.search(r"\nbiases: 1 not tested; not tested: \w", done.stdout)
    assert "no claim passed" in done.stdout
