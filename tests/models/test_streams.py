"""What a judge's own code prints loses credentials, and nothing that it prints can hold the run up."""

import subprocess
import sys
from pathlib import Path

import pytest

from calm.models.secrets import HIDDEN

ROOT = Path(__file__).parents[2]
KEY = "zq7-made-up-key-93x81"
WAYS = {
    "print": "print(KEY)",
    "stderr": "print(KEY, file=sys.stderr)",
    "the stream that Python keeps": "sys.__stderr__.write(KEY)",
    "a thread": "t = threading.Thread(target=print, args=(KEY,)); t.start(); t.join()",
    "an error of a thread": "t = threading.Thread(target=lambda: {}[KEY]); t.start(); t.join()",
    "a log": "logging.warning(KEY)",
    "a warning": "warnings.warn(KEY)",
    "several lines": "sys.stdout.writelines([KEY, KEY])",
    "the end of the process": "atexit.register(print, KEY)",
}
JUDGE = """
import atexit, logging, os, subprocess, sys, threading, warnings

KEY = os.environ["A_API_KEY"]


def leaky(case):
{ways}
    return case.better

leaky.reads, leaky.fingerprint = ("question", "answers", "better"), "leaky"
"""


@pytest.fixture(scope="module")
def leaky(tmp_path_factory):
    """A judge that prints a credential in all these ways."""
    folder = tmp_path_factory.mktemp("leaky")
    lines = [f"    print('way {number}')\n    {way}\n" for number, way in enumerate(WAYS.values())]
    (folder / "leaky.py").write_text(JUDGE.replace("{ways}", "".join(lines)))
    (folder / "test_it.py").write_text("def test_it(verdict_of, cases):\n    assert verdict_of(cases[0])\n")
    return folder


def run(folder, *words):
    """Return what a command of Python's prints, both streams together."""
    env = {"A_API_KEY": KEY, "PYTHONPATH": f"{ROOT}:{folder}", "PATH": "/usr/bin:/bin"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, env=env, timeout=120, check=False, **pipes)
    return done.stdout


def test_a_command_prints_no_credential(leaky):
    """Each way is printed, and none shows the key, also while the process ends."""
    said = run(leaky, "calm", "try", "leaky:leaky")

    assert KEY not in said
    assert said.count(HIDDEN) > len(WAYS)


def test_a_run_without_capture_prints_no_credential(leaky):
    """The same with `-s`; what is printed after the run is not calm's to clean."""
    said = run(leaky, "pytest", "-s", "-p", "no:cacheprovider", "--calm-judge=leaky:leaky", "--calm-sample=1")

    assert said.count(KEY) <= 1
    assert said.count(HIDDEN) >= len(WAYS) - 2, "pytest shows neither the log nor the end"
