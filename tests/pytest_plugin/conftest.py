"""A small project with a judge for each outcome, in which the plugin is run as its user would run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.inside import run_inside
from tests.lanes import slow

JUDGES = '''
"""Judges that know the gold label, each with a weakness of its own."""
import asyncio, hashlib, os, time

from calm import JudgeError

KNOWN = ("question", "answers", "better")


def known(judge):
    judge.reads, judge.quick, judge.fingerprint = KNOWN, True, judge.__name__
    return judge


def thanked(case):
    return next((a.id for a in case.answers if "Thank you" in a.text), None)


def number(case):
    return int(case.question.split()[2])


@known
def gold(case):
    """Judge without fault."""
    return case.better


@known
def fond(case):
    """Let thanks win."""
    return thanked(case) or case.better


@known
def torn(case):
    """Let thanks win in seven cases of a hundred: not surely within a limit of 0.10, nor beyond it."""
    return (thanked(case) if number(case) % 15 == 0 else None) or case.better


def noisy(case, send):
    """Err in one ask of twenty, the same ones in every run."""
    text = f"{case.question}{[a.text for a in case.answers]}{send.ask}"
    wrong = hashlib.sha256(text.encode()).digest()[0] < 13
    return next(a.id for a in case.answers if a.id != case.better) if wrong else case.better

noisy.reads, noisy.fingerprint = KNOWN, "noisy"


def counted(case):
    """Judge without fault, and note each call."""
    with open("calls.txt", "a") as file:
        file.write(f"{case.id}\\\\n")
    return case.better

counted.reads, counted.fingerprint = KNOWN, "counted"


def forgetful(case):
    """The same, without a fingerprint: nothing can be kept."""
    return counted(case)

forgetful.reads = KNOWN


async def slow(case, send):
    """Take a while, and err as the noisy one does."""
    await asyncio.sleep(0.02)
    with open("calls.txt", "a") as file:
        file.write(f"{case.id}\\\\n")
    return noisy(case, send)

slow.reads, slow.fingerprint, slow.concurrency = KNOWN, "slow", 4


def sleepy(case):
    """Take longer than anybody waits."""
    open("asleep", "a").close()
    time.sleep(60)
    return case.better

sleepy.reads = KNOWN


@known
def broken(case):
    """Fail."""
    raise RuntimeError("no answer \\\\x1b[31m today")


@known
def failing(case):
    """Fail in every other case, so that the run goes on."""
    if number(case) % 2:
        raise RuntimeError("no answer \\\\x1b[31m today")
    return case.better


@known
def marked(case):
    """Score by gold, and never above 9."""
    return 9 if case.better else 3

marked.task = "score"
'''

EDITS = '''
from calm import Expects, perturbation


@perturbation(bias="flattery", expects=Expects.NOT_BETTER)
def flatter(case, rng):
    """Thank the reader in the weaker answer."""
    return case.edit(case.target, lambda text: f"{text} Thank you for asking.")


@perturbation(bias="flattery", expects=Expects.NOT_BETTER)
def flatter_first(case, rng):
    """Thank the reader before the weaker answer."""
    return case.edit(case.target, lambda text: f"Thank you for asking. {text}")


@perturbation(bias="flattery", expects=Expects.NOT_BETTER)
def greet(case, rng):
    """Greet the reader in the weaker answer."""
    return case.edit(case.target, lambda text: f"Hello. {text}")


@perturbation(bias="reminder", expects=Expects.SAME)
def remind(case, rng):
    """Add a note to the task."""
    return case.present(notes=("Read both answers.",))
'''

SUITE = """
from calm import gain, net_robustness
from edits import flatter


def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(net_robustness >= 0.90, gain <= 0.10)
"""


class Project:
    """A folder with judges, edits, cases and a suite, and pytest to run in it."""

    def __init__(self, path, pytester=None):
        self.pytester, self.path = pytester, path
        self.write("pytest.ini", "[pytest]\npythonpath = .\n")
        self.write("judges.py", JUDGES.replace("\\\\", "\\"))
        self.write("edits.py", EDITS)
        self.write("cases.jsonl", self.cases(100))
        self.write("test_flattery.py", SUITE)

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def ini(self, **settings):
        lines = "".join(f"calm_{name} = {value}\n" for name, value in settings.items())
        self.write("pytest.ini", f"[pytest]\npythonpath = .\n{lines}")

    @staticmethod
    def cases(count, *, prefix="c"):
        texts = [
            {
                "id": f"{prefix}{i:03}",
                "question": f"What is {i} + 1?",
                "answers": [{"id": "good", "text": f"It is {i + 1}."}, {"id": "bad", "text": f"It is {i + 2}."}],
                "better": "good",
            }
            for i in range(count)
        ]
        return "".join(f"{json.dumps(text)}\n" for text in texts)

    def run(self, *options, judge="judges:gold", cases="cases.jsonl"):
        """Run pytest in this process."""
        return self.pytester.runpytest_inprocess(*self._wired(judge, cases), *options)

    def run_here(self, *options, judge="judges:gold", cases="cases.jsonl", env=None):
        """Run pytest in this process, whoever made this project."""
        return run_inside(self.path, [*self._wired(judge, cases), *options], env)

    def run_apart(self, *options, judge="judges:gold", cases="cases.jsonl"):
        """Run pytest in a process of its own."""
        return self.pytester.runpytest_subprocess(*self._wired(judge, cases), *options)

    def run_alone(self, *options, judge="judges:gold", cases="cases.jsonl", env=None):
        """Run pytest in a process of its own, whoever made this project."""
        command = [sys.executable, "-m", "pytest", *self._wired(judge, cases), *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
        environment = {**os.environ, **(env or {})}
        return subprocess.run(command, cwd=self.path, env=environment, timeout=120, check=False, **pipes)

    @staticmethod
    def _wired(judge, cases):
        return [*([f"--calm-judge={judge}"] if judge else []), *([f"--calm-cases={cases}"] if cases else [])]

    def results(self, name="results.json"):
        return json.loads((self.path / name).read_text("utf-8"))

    def decided(self, name="results.json"):
        """Return the results as text, without the figures of the run."""
        body = self.results(name)
        body.pop("run")
        return json.dumps(body)

    def outcomes(self, name="results.json"):
        return {f["key"]: f["outcome"] for f in self.results(name)["findings"]}

    def calls(self):
        """Return how many calls a judge noted."""
        path = Path(self.path / "calls.txt")
        return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture
def project(pytester, inner_options, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", inner_options)
    return Project(pytester.path, pytester)


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """Make a project that several tests of a module share; it can only be run with `run_here` and `run_alone`."""
    return lambda name: Project(tmp_path_factory.mktemp(name))


@pytest.fixture(params=[(), slow(("-n2",))], ids=["one-process", "two-workers"])
def workers(request):
    """Options: in one process, and in the slow lane with two workers of xdist."""
    return request.param


@pytest.fixture(params=[(), ("-n2",)], ids=["one-process", "two-workers"])
def always_workers(request):
    """Options: in one process, and with two workers of xdist, at every change."""
    return request.param
