"""
Every block of every page is run, or `not_run.toml` says why not.

The commands of a page run one after another in a folder of their own, with what the page has its reader write, and
with stand-ins (`stand_ins.py`) for what it does not: a server on loopback for a provider, a few cases for a thousand.
What the commands decide is not looked at here, but that they run as they stand: no wrong usage, no wrong
configuration, no traceback.
"""

import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from datetime import date
from itertools import pairwise
from pathlib import Path

# pytester unloads what an inner run imported, and modules with C extensions cannot be imported twice in one process
import aiohttp  # noqa: F401
import numpy as np  # noqa: F401
import pytest
import scipy.cluster.hierarchy
import scipy.optimize
import scipy.special  # noqa: F401

from calm import perturbations
from calm.commands import cli
from calm.judges.judgefile import read_judge
from calm.results import gatefile
from tests.docs.pages import DOCS, PAGES, ROOT, load_generator, name
from tests.docs.stand_ins import MADE, models

BLOCK = re.compile(r"^( *)(`{3,})(sh|console|python|toml)\n(.*?)^\1\2$", re.DOTALL | re.MULTILINE)
NOT_RUN = tomllib.loads(Path(__file__).with_name("not_run.toml").read_text("utf-8"))
TALES = [page for page in PAGES if page.parent != DOCS / "decisions" and page.name != "CHANGELOG.md"]
"""The pages that say what to do; the others say what was decided and changed."""
FEWER = "--calm-sample=60 -k test_a_source --ignore-glob=*/suites/test_[!aipvc]* --ignore-glob=*/papers/*"
"""Sixty cases and one test stand for all: what a command of a page says comes after this, and counts."""


def blocks_of(page):
    """Return the blocks of a page that can be run: language and text."""
    return [(found[3], textwrap.dedent(found[4])) for found in BLOCK.finditer(page.read_text("utf-8"))]


def lines_of(language, text):
    """Return a block without what a shell shows before a command."""
    lines = text.splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")] if language == "console" else lines


def reasons(page):
    """Return the lines of a page that are not run, with the reasons."""
    return NOT_RUN.get(name(page), {})


RUN = [page for page in TALES if any(lines_of(*one)[0].strip() not in reasons(page) for one in blocks_of(page))]


def test_each_reason_is_about_a_line_that_is_there():
    """A reason stays no longer than its block, and says something."""
    there = {name(page): {line.strip() for block in blocks_of(page) for line in lines_of(*block)} for page in TALES}

    stale = [(page, line) for page, lines in NOT_RUN.items() for line in lines if line not in there.get(page, ())]

    assert stale == []
    assert [why for lines in NOT_RUN.values() for why in lines.values() if len(why.split()) < 3] == []


@pytest.mark.parametrize("page", RUN, ids=name)
def test_each_block_of_a_page_runs(page, pytester, monkeypatch, capfd):
    """As it stands, after the ones above it."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    monkeypatch.setenv("COLUMNS", "100")
    folder = pytester.path
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {FEWER}\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-p no:hypothesispytest {FEWER}")  # `calm audit` reads no ini file
    for linked in ("suites", "docs", "benchmarks"):
        if page.name != "test-self-preference.md" or linked != "suites":
            (folder / linked).symlink_to(ROOT / linked)
    files = load_generator().files_in(page)
    for file, body in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(body, "utf-8")
    with models(folder) as point:
        for language, text in blocks_of(page):
            lines = lines_of(language, text)
            if lines[0].strip() in reasons(page):
                continue
            if text not in files.values():
                runner = {"python": script, "toml": settings}.get(language)
                if runner:
                    runner(page, folder, text)
                    continue
            elif language == "python":
                file = next(file for file, body in files.items() if body == text)
                if not any(Path(file).stem in line for _, one in blocks_of(page) for line in lines_of("sh", one)):
                    module(pytester, folder, file)
                continue
            else:
                continue
            left = [line for line in lines if line.strip() not in reasons(page)]
            commands(pytester, folder, point, left, capfd)


def script(page, folder, text):
    """Run a script of a page."""
    done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def module(pytester, folder, file):
    """Run a file of tests on a sound judge, or load any other one."""
    if Path(file).name.startswith("test_"):
        asked(pytester, [file, "--calm-judge=planted:noise=0.02"], "")
    else:
        script(None, folder, f"import runpy; runpy.run_path({file!r})")


def settings(page, folder, text):
    """Read a file of settings as calm does; one that says what it is called is written for the commands below it."""
    read = tomllib.loads(text)
    if "judge" in read:
        path = folder / ("judge.toml" if not (folder / "judge.toml").exists() else "another.toml")
        path.write_text(text, "utf-8")
        read_judge(path, {"OPENAI_API_KEY": "not-a-key"})
    elif "writer" in read:
        (folder / "writer.toml").write_text(text, "utf-8")
    elif read.keys() <= {"limit", "waive", "not_tested"}:
        (folder / "gate.toml").write_text(text, "utf-8")
        gatefile.read_gate(folder / "gate.toml", date(2026, 11, 1))
    else:
        pytest.fail(f"nothing reads this block: {text}\nname its first line in not_run.toml, with the reason")


def commands(pytester, folder, point, lines, capfd):
    """Run lines of a shell: those of calm and pytest in this process, and what only a shell can run in one."""
    plain = [shlex.split(line, comments=True) for line in lines] if not has_syntax(lines) else []
    words = [words for words in plain if words]
    for each in words or [word for line in lines for word in [shlex.split(line, comments=True)] if word]:
        stand_in(folder, each)
    point(sorted(folder.glob("*.toml")))
    if not words or any(each[0] not in ("calm", "pytest") for each in words):
        shell(folder, "\n".join(lines))
        return
    for each in words:
        line = shlex.join(each)
        if each[0] == "pytest":
            asked(pytester, each[1:], line)
        else:
            status = cli.main(each[1:])
            out, err = capfd.readouterr()
            allowed = (0, 1) if each[1] in DECIDE else (0,)
            assert status in allowed, f"{line}: exit status {status}\n{out[-2000:]}{err[-2000:]}"
            assert "Traceback" not in out + err, f"{line}\n{out[-3000:]}{err[-3000:]}"
        point([path for path in folder.glob("*.toml") if path.name in MADE])
        forget(folder)


def has_syntax(lines):
    """Return whether lines are more than commands: loops, pipes, variables."""
    return any(re.search(r"[|;<>$]|&&|^(?:for|while|do|done|export) ?", line.partition(" #")[0]) for line in lines)


def stand_in(folder, words):
    """Make each file that a command reads, that is not there and that we know how to make."""
    written = {after for before, after in pairwise(words) if before in ("-o", "--write", "--report")}
    for word in words:
        for part in re.split(r"[=,+:]", word):
            if part in MADE and part not in written and not (folder / part).exists():
                MADE[part](folder / part)


def asked(pytester, arguments, line):
    """Run pytest; a gate that is not green is a result."""
    own = not any(one.startswith(("suites", "--pyargs", "-k")) for one in arguments)
    result = pytester.runpytest_inprocess(*arguments, *(["-k", "test"] if own else []))  # all tests of a page's own
    told = f"{line}\n{result.outlines[-40:]}\n{result.errlines[-20:]}"
    assert result.ret in (0, 1), told
    assert result.parseoutcomes().get("errors", 0) == 0, told


DECIDE = {"audit", "watch"}
"""The commands that end with 1 where a judge is not as it should be."""
SHELL = {"calm", "pytest", "shuf", "head", "tail", "for", "while", "do", "done", "true"}
"""What a shell may be given: nothing here installs, compiles or reaches another machine."""


def shell(folder, text):
    """Run lines by a shell in which `calm` and `pytest` are those of this Python."""
    begins = re.findall(r"(?:^|;|\bdo\b)[ \t]*([\w./-]+)", text, re.MULTILINE)
    other = sorted(set(begins) - SHELL)
    assert not other, (
        f"{', '.join(other)} is not for a test to run:\n{text}\nname the line in not_run.toml, with the reason"
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), f"{text}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    assert "command not found" not in done.stderr, done.stderr


def forget(folder):
    """Forget the modules of a page: the next page may call its own the same."""
    for key, loaded in list(sys.modules.items()):
        if str(getattr(loaded, "__file__", "") or "").startswith(str(folder)):
            del sys.modules[key]


def test_the_two_files_of_contributing_run(pytester, monkeypatch):
    """The new bias of the page, at its place among those of calm, on a sound judge: one test, and it is decided."""
    edit, suite = (text for language, text in blocks_of(ROOT / "CONTRIBUTING.md") if language == "python")
    (pytester.path / "politeness.py").write_text(edit)
    (pytester.path / "test_politeness.py").write_text(suite)
    monkeypatch.setattr(perturbations, "__path__", [*perturbations.__path__, str(pytester.path)])

    result = pytester.runpytest_inprocess("test_politeness.py", "--calm-judge=planted:noise=0.01")

    assert result.ret == 0, result.outlines[-20:]
    assert any(line == "1 of 1 biases tested; all 2 claims proven" for line in result.outlines)
