"""
The plugins of pytest that were tried with the gate, alone and together; `docs/how-to/run-in-ci.md` lists them.

`pytest tests/slow/test_plugins.py` makes an environment with the newest release of each (or takes the interpreter that
`CALM_TEST_PLUGINS` names), and runs a small gate with a sound judge and with one that lets thanks win.
"""

import os
import subprocess
from pathlib import Path

import pytest

from calm.results.audit import read
from tests.pytest_plugin.conftest import Project
from tests.slow.apart import environment

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "xdist": ("pytest-xdist", ["xdist", "xdist.looponfail"], ["-n2"]),
    "randomly": ("pytest-randomly", ["randomly"], ["-p", "randomly"]),
    "random-order": ("pytest-random-order", ["random_order"], ["--random-order", "--random-order-seed=3"]),
    "rerunfailures": ("pytest-rerunfailures", ["rerunfailures"], ["--reruns=2"]),
    "retry": ("pytest-retry", ["pytest-retry"], ["--retries=2"]),
    "timeout": ("pytest-timeout", ["timeout"], ["--timeout=150"]),
    "repeat": ("pytest-repeat", ["repeat"], ["--count=2"]),
    "forked": ("pytest-forked", ["pytest_forked"], ["--forked"]),
    "html": ("pytest-html", ["html", "html_fixtures", "metadata"], ["--html=page.html", "--self-contained-html"]),
    "allure-pytest": ("allure-pytest", ["allure_pytest"], ["--alluredir=allure"]),
    "cov": ("pytest-cov", ["pytest_cov"], ["--cov=judges", "--cov-branch"]),
    "sugar": ("pytest-sugar", ["sugar"], ["--force-sugar"]),
}
"""Each plugin: its package, the names that pytest knows it by, and the options that put it to work."""
SAME = [
    *("xdist", "randomly", "random-order", "rerunfailures", "retry", "timeout", "html", "allure-pytest", "cov"),
    *("sugar", "xdist randomly", "xdist rerunfailures", "xdist retry", "xdist timeout", "xdist html"),
    *("xdist allure-pytest", "xdist cov", "xdist sugar", "randomly rerunfailures", "rerunfailures timeout"),
    *("rerunfailures html sugar", "timeout cov html", "xdist randomly timeout cov"),
    "xdist random-order rerunfailures timeout html allure-pytest cov",
]
"""What decides as without plugins, and asks the same."""
REFUSED = ["forked", "forked xdist", "forked rerunfailures timeout"]
"""What is refused before the first call."""
TWICE = ["repeat", "repeat xdist"]
"""What makes each claim twice: that is refused."""
JUDGES = '''

def asked(case):
    with open("calls.txt", "a") as file:
        file.write(f"{case.question}{[a.text for a in case.answers]}{case.notes}\\n")


def sound(case):
    """Judge without fault, and note each call."""
    asked(case)
    return case.better


def flawed(case):
    """Let thanks win, and note each call."""
    asked(case)
    return thanked(case) or case.better

for judge in (sound, flawed):
    judge.reads, judge.fingerprint = (*KNOWN, "notes"), judge.__name__
'''
SUITE = """
from calm import gain, net_robustness
from edits import flatter, greet, remind


def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(net_robustness >= 0.90, gain <= 0.10)


def test_a_greeting_does_not_win(probe):
    assert probe(greet).proves(net_robustness >= 0.90)


def test_a_note_changes_nothing(probe):
    assert probe(remind).proves(net_robustness >= 0.90)


def test_one_case(verdict_of, cases):
    assert verdict_of(cases[0])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    packages = [package for package, _, _ in PACKAGES.values()]
    return environment("CALM_TEST_PLUGINS", tmp_path_factory.mktemp("plugins") / "env", "-e", str(ROOT), *packages)


class Gate(Project):
    """A small gate with a judge of a name, run with some plugins and without all others."""

    def __init__(self, path, python, judge):
        super().__init__(path)
        self.python, self.judge = python, judge
        self.write("judges.py", (path / "judges.py").read_text() + JUDGES)
        self.write("test_flattery.py", SUITE)

    def ended(self, plugins, *more):
        """Return the exit status of a run that ends in time, its record and its calls in an order of their own."""
        out = [name for one in PACKAGES if one not in plugins for name in PACKAGES[one][1]]
        command = [
            str(self.python),
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            *(w for n in out for w in ("-p", f"no:{n}")),
        ]
        command += [f"--calm-judge=judges:{self.judge}", "--calm-cases=cases.jsonl", "--calm-results=results.json"]
        command += [word for one in plugins for word in PACKAGES[one][2]]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "CALM", "COV"))}
        env = {**kept, "PYTHONPATH": f"{ROOT}{os.pathsep}{self.path}"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
        done = subprocess.run([*command, *more], cwd=self.path, env=env, timeout=180, check=False, **pipes)
        calls = self.path / "calls.txt"
        return done, sorted(calls.read_text().splitlines()) if calls.exists() else []

    def green(self):
        """Whether a record says that the gate is green; one that is not there does not."""
        found = self.path / "results.json"
        return found.exists() and read(found).green()


@pytest.fixture(scope="module")
def plain(python, tmp_path_factory):
    """The status, the decisions and the calls of each judge without any plugin."""
    found = {}
    for judge in ("sound", "flawed"):
        gate = Gate(tmp_path_factory.mktemp(judge), python, judge)
        done, calls = gate.ended(())
        assert (gate.path / "results.json").exists(), done.stdout[-3000:]
        found[judge] = done.returncode, gate.decided(), calls
    return found


@pytest.mark.parametrize("plugins", SAME)
@pytest.mark.parametrize("judge", ["sound", "flawed"])
def test_a_gate_decides_and_asks_the_same(plugins, judge, python, plain, tmp_path):
    """Green stays green, red stays red; nothing is asked twice, and nothing is lost."""
    gate = Gate(tmp_path, python, judge)

    done, calls = gate.ended(plugins.split())

    status, decided, asked = plain[judge]
    assert (status, len(asked) > 0) == ({"sound": 0, "flawed": 1}[judge], True)
    assert done.returncode == status, done.stdout[-3000:]
    assert gate.decided() == decided
    assert calls == asked


@pytest.mark.parametrize("plugins", REFUSED)
def test_a_gate_is_refused_before_its_first_call(plugins, python, tmp_path):
    """Where each test runs in a fork, nothing can be asked."""
    gate = Gate(tmp_path, python, "sound")

    done, calls = gate.ended(plugins.split())

    assert (done.returncode, calls, gate.green()) == (4, [], False), done.stdout[-3000:]
    assert done.stdout.count("--forked:") == 1


@pytest.mark.parametrize("plugins", TWICE)
@pytest.mark.parametrize("judge", ["sound", "flawed"])
def test_claims_that_are_made_twice_are_refused(plugins, judge, python, tmp_path):
    """They are refused before the first call."""
    gate = Gate(tmp_path, python, judge)

    done, calls = gate.ended(plugins.split())

    assert (done.returncode, calls, gate.green()) == (4, [], False), done.stdout[-3000:]


@pytest.mark.parametrize("method", ["signal", "thread"])
@pytest.mark.parametrize("others", ["", "xdist", "rerunfailures"])
def test_a_timeout_is_never_green(method, others, python, tmp_path):
    """A judge that does not answer costs its test, or the process."""
    gate = Gate(tmp_path, python, "sleepy")

    done, _ = gate.ended(["timeout", *others.split()], "--timeout=2", f"--timeout-method={method}")

    assert done.returncode not in (0, 5), done.stdout[-3000:]
    assert not gate.green()
