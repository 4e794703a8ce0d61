"""
The core stands without any of its plug-ins: a copy of the repository that lacks one, or all of them.

`pytest tests/slow/test_without_plugins.py` takes away the folder of a plug-in, its tests and its line in the project
file.
Then the help, an audit, a report, and a few tests of the core go on, and all of them can be collected; without any
plug-in all of them run.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copy2, rmtree

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(path.parent.name for path in (ROOT / "calm" / "plugins").glob("*/__init__.py"))
CORE = "tests", *(f"--ignore=tests/{name}" for name in ("plugins", "docs", "papers"))
"""The tests of the core: all but those of plug-ins, of pages, which name them, and of papers, which they recompute."""
PART = (
    "tests/commands/test_parsing.py",
    "tests/commands/test_help.py",
    "tests/core/test_items.py",
    "tests/test_layout.py",
)
"""Those of them that are quick and ask which commands exist."""


@pytest.fixture
def without(tmp_path):
    """Return a function that makes a copy without some plug-ins, and returns how a command is run in it."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (to := tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            copy2(ROOT / name, to)

    def take_away(plugins):
        said = (tmp_path / "pyproject.toml").read_text("utf-8")
        for plugin in plugins:
            for folder in ("calm/plugins", "tests/plugins"):
                rmtree(tmp_path / folder / plugin, ignore_errors=True)
            said, count = re.subn(rf'^\w+ = "calm\.plugins\.{plugin}"\n', "", said, flags=re.MULTILINE)
            assert count == 1
        (tmp_path / "pyproject.toml").write_text(said, "utf-8")

        def run(*words):
            env = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "120"}
            command = [sys.executable, "-m", *words]
            return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

        return run

    return take_away


def goes_on(run):
    """Ask for help, audit a planted judge in two suites, render the record, collect the core's tests, and run some."""
    helped = run("calm", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "\n  audit " in helped.stdout
    assert "cannot be imported" not in helped.stdout
    audited = run(*["calm", "audit", "planted:noise=0.02", "-o", "out", "--", "-k"], "test_position or test_verbosity")
    assert audited.returncode == 0, audited.stdout + audited.stderr
    reported = run("calm", "report", "out/results.json", "-o", "again.html")
    assert reported.returncode == 0, reported.stderr
    for words in ((*CORE, "--collect-only"), PART):
        done = run("pytest", *words, "-q")
        assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_core_goes_on_without_a_plugin(plugin, without):
    """Its command is unknown then, and nothing else changes."""
    goes_on(without([plugin]))


def test_the_core_goes_on_without_any_plugin(without):
    """What cannot be done then is said before the first call, and all tests of the core pass."""
    run = without(PLUGINS)
    gate = "pytest", "suites/test_position.py", "--calm-judge=planted:noise=0.02", "-q"

    goes_on(run)
    needs = {"--calm-batch": "gives 'batches.batcher'", "--calm-cache-url=x://h/d": "a URL needs a plug-in"}
    for option, missing in needs.items():
        refused = run(*gate, option)
        assert refused.returncode == 4, refused.stdout
        assert missing in " ".join((refused.stdout + refused.stderr).split())
    tested = run("pytest", *CORE, "-q")
    assert tested.returncode == 0, tested.stdout[-3000:]
