"""The helper process: it answers, is stopped at each limit, keeps no secret and outlives nobody."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calm.core.helper import Helper, Stopped

ROOT = Path(__file__).parents[2]


def work(asked):
    """Do what is asked of a helper."""
    kind, value = asked
    match kind:
        case "say":
            return value
        case "print":
            print("to nobody", flush=True)
            return value
        case "spin":
            while True:
                pass
        case "fill":
            return len(b"x" * value)
        case "long":
            return "x" * value
        case "die":
            os._exit(3)
        case "where":
            return os.getpid(), dict(os.environ)


def made():
    """Return a helper that does `work`."""
    return Helper(f"{__name__}:work", seconds=1, memory=300_000_000, most=1_000_000)


@pytest.fixture
def helper():
    one = made()
    yield one
    one.close()


def test_a_helper_answers_and_is_one_process(helper):
    """Values come back whole, also large ones and after something was printed; one process answers all."""
    assert helper.ask(("say", ("a", None, {"ü": "x" * 200_000}))) == ("a", None, {"ü": "x" * 200_000})
    assert helper.ask(("print", 1)) == 1
    assert helper.ask(("where", 0))[0] == helper.ask(("where", 0))[0] != os.getpid()


@pytest.mark.parametrize(
    ("asked", "why"),
    [(("spin", 0), "time"), (("fill", 10**10), "memory"), (("long", 2_000_000), "size"), (("die", 0), "crash")],
)
def test_what_reaches_a_limit_is_stopped_and_the_next_question_is_answered(helper, asked, why):
    """Time, memory and length are limits, and a death is told from them; a new process takes over."""
    first = helper.ask(("where", 0))[0]

    with pytest.raises(Stopped) as stopped:
        helper.ask(asked)

    assert stopped.value.why == why
    assert helper.ask(("where", 0))[0] != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


@pytest.mark.parametrize("size", [10, 10**7])
def test_a_process_that_stands_still_is_not_waited_for(helper, monkeypatch, size):
    """Whether it has read the question or not: neither the writing nor the wait is endless."""
    first = helper.ask(("where", 0))[0]
    os.kill(first, signal.SIGSTOP)

    with monkeypatch.context() as hurried:
        hurried.setattr("calm.core.helper._PATIENCE", 0.2)
        with pytest.raises(Stopped):
            helper.ask(("say", "x" * size))

    assert helper.ask(("where", 0))[0] != first


def test_a_helper_has_no_keys(helper, monkeypatch):
    """What leaves the sandbox of a template finds no key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "canary-1")

    assert "canary-1" not in str(helper.ask(("where", 0))[1])


def test_a_helper_ends_with_its_process_however_that_ends():
    """A killed run leaves no process behind: the helper's questions end."""
    code = (
        "import os, signal\nfrom calm.core.helper import Helper\n"
        "made = Helper('tests.core.test_helper:work', seconds=1, memory=10**8, most=10**6)\n"
        "print(made.ask(('where', 0))[0], flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    pid = int(done.stdout)

    assert done.returncode == -signal.SIGKILL
    waited = subprocess.run(["tail", f"--pid={pid}", "-f", "/dev/null"], check=False, timeout=30)
    assert waited.returncode == 0


FORKING = """
from multiprocessing import get_context
from tests.core.test_helper import made

helper = made()
mine = helper.ask(("where", 0))[0]
context = get_context("fork")
told = context.SimpleQueue()
child = context.Process(target=lambda: (told.put(helper.ask(("where", 0))[0]), helper.close()))
child.start()
theirs = told.get()
child.join()
print(theirs != mine, helper.ask(("where", 0))[0] == mine)
helper.close()
"""


def test_a_fork_starts_its_own_helper():
    """Two processes never read the answers of one helper; the fork is of a process without threads."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.split() == ["True", "True"], done.stderr
