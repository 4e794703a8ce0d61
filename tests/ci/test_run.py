"""`.ci/run` checks a clean checkout of what is committed, whatever an earlier run left behind."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOWN = 'echo "checked: $PWD"; git status --porcelain --ignored; find . -name "*.py*" -not -path "*/.git/*" | sort'
"""What stands in the place of the checks."""


@pytest.fixture
def project(tmp_path):
    """Return what runs the script on a small repository, whose checks only show the checkout."""
    folder = tmp_path / "project"
    (folder / ".ci").mkdir(parents=True)
    script = (ROOT / ".ci/run").read_text("utf-8")
    assert script.count("\nall 9>&-") == 1
    (folder / ".ci/run").write_text(script.replace("\nall 9>&-", f"\n{SHOWN} #"), "utf-8")
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / ".gitignore").write_text(".venv/\n__pycache__/\n", "utf-8")
    (folder / "gone").mkdir()
    for name in ("stays.py", "gone/module.py"):
        (folder / name).write_text("X = 1\n", "utf-8")
    git(folder, "init", "--quiet")
    commit(folder)

    def run():
        env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run(["bash", ".ci/run"], cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (place,) = (tmp_path / "cache/calm-ci").iterdir()
        return place, done.stdout

    return folder, run


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "-m", "one")


def leave(place):
    """Leave what a run does: an environment, and what Python compiled."""
    (place / "calm/.venv").mkdir()
    (place / "calm/.venv/kept").touch()
    (place / "whole").touch()
    for name in ("", "gone/"):
        (place / f"calm/{name}__pycache__").mkdir()
        (place / f"calm/{name}__pycache__/module.pyc").touch()
    (place / "calm/litter.py").touch()
    (place / "calm/stays.py").write_text("X = 2\n", "utf-8")


def test_what_an_earlier_run_left_is_cleaned_but_its_environment_and_what_is_compiled(project):
    """A package that was removed is gone with its folder; a file that did not change keeps its time."""
    folder, run = project
    place, _ = run()
    before = (place / "calm/pyproject.toml").stat().st_mtime_ns
    leave(place)
    shutil.rmtree(folder / "gone")
    commit(folder)

    again, shown = run()

    assert again == place
    assert (place / "calm/.venv/kept").exists()
    assert (place / "calm/pyproject.toml").stat().st_mtime_ns == before
    assert (place / "calm/stays.py").read_text("utf-8") == "X = 1\n"
    assert shown.splitlines()[1:] == ["!! .venv/", "!! __pycache__/", "./__pycache__/module.pyc", "./stays.py"]


def test_a_run_that_was_killed_stops_no_later_one(project):
    """Neither a lock of git, nor a checkout that is no repository any more."""
    _, run = project
    place, _ = run()
    leave(place)
    (place / "calm/.git/index.lock").touch()
    assert "litter" not in run()[1]
    assert (place / "calm/.venv/kept").exists()

    (place / "calm/.git/HEAD").unlink()

    assert "litter" not in run()[1]
    assert not (place / "calm/.venv").exists()  # it is made anew
