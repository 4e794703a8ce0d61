"""A process that runs the plugin is somebody else's: its collector of cycles is left as it was found."""

import sys

WATCH = """
import gc

BEFORE = gc.get_threshold()
RAN = []


def pytest_runtest_logreport(report):
    RAN.append(report.nodeid)


def pytest_unconfigure(config):
    assert RAN, "a probe ran"
    print("as it was:", gc.get_threshold() == BEFORE, gc.get_freeze_count())
"""


def test_a_gate_leaves_the_collector_as_it_was(project):
    """After a run the thresholds are what they were, and nothing is frozen."""
    project.write("conftest.py", WATCH)

    done = project.run_alone("-s")

    assert "as it was: True 0" in done.stdout


def test_a_run_whose_modules_were_unloaded_is_followed_by_another(project, monkeypatch):
    """The tests of somebody's plugin run pytest in their own process, and pytester unloads what a run imported."""
    monkeypatch.delitem(sys.modules, "calm.pytest_plugin.hooks")

    first = project.run("--calm-sample=20", "--calm-repeats=1+1")
    monkeypatch.delitem(sys.modules, "calm.pytest_plugin.hooks")
    second = project.run("--calm-sample=20", "--calm-repeats=1+1")

    assert first.ret == second.ret == 1
    assert first.parseoutcomes() == second.parseoutcomes() == {"undecided": 1}
