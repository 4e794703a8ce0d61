"""Ctrl-C ends a run soon, with pytest's own status, and what was decided is kept."""

import signal
import subprocess
import sys
from time import monotonic, sleep

import pytest


def interrupted(project, judge, sign, *options):
    """Start a run, press Ctrl-C when `sign` holds, and return its exit status and output."""
    command = [sys.executable, "-m", "pytest", f"--calm-judge={judge}", "--calm-cases=cases.jsonl", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=project.path, **pipes) as running:
        until = monotonic() + 60
        while not sign() and monotonic() < until:
            sleep(0.02)
        running.send_signal(signal.SIGINT)
        try:
            output, _ = running.communicate(timeout=20)  # a call that is under way would take much longer
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    return running.returncode, output


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one-process", "two-workers"])
def test_an_async_judge_is_left_at_once(project, workers):
    """The run ends with status 2; what was answered is in the cache."""
    status, output = interrupted(project, "judges:slow", lambda: project.calls() >= 20, *workers)

    assert status == 2
    assert "INTERNALERROR" not in output
    again = project.run("--calm-results=results.json", judge="judges:slow")
    assert again.ret in (0, 1)
    assert project.results()["run"]["calls"]["cached"] >= 10


def test_a_sync_judge_does_not_hold_the_run(project):
    """A function that is under way in its thread cannot be stopped, and is not waited for."""
    status, output = interrupted(project, "judges:sleepy", (project.path / "asleep").exists)

    assert status == 2
    assert "INTERNALERROR" not in output


def test_an_interrupted_run_is_never_recorded_as_a_whole(project):
    """The results of a run that was cut short say so."""
    project.write(
        "test_zzz.py", "import time\n\n\ndef test_wait():\n    open('asleep', 'a').close()\n    time.sleep(30)\n"
    )

    status, output = interrupted(
        project, "judges:gold", (project.path / "asleep").exists, "--calm-results=results.json"
    )

    assert status == 2
    assert "the run was interrupted: the record holds only what was decided before" in output
    assert project.results()["outcome"] == "INCOMPLETE"
