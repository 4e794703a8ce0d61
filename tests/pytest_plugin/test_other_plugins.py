"""Plugins that fork, rerun or make reports themselves; `tests/slow/test_plugins.py` runs the gate with real ones."""

import pytest

FORKED = """
def pytest_addoption(parser):
    parser.addoption("--forked", action="store_true", dest="forked", default=False)


def pytest_configure(config):
    config.addinivalue_line("markers", "forked: as pytest-forked declares it")
"""
FORGED = """
import pytest
from _pytest.reports import TestReport


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    for when in ("setup", "call", "teardown"):
        report = TestReport(item.nodeid, item.location, {}, "passed", None, when)
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
COUNTED = """
import pytest

RUNS = set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    RUNS.add(item.nodeid)
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item):
    assert item.nodeid in RUNS, "a report of a test that does not run"
    return (yield)
"""
AGAIN = """
import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    for attempt in range(2):
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            if report.failed and not attempt:
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
LOOSER = """
from calm import gain
from edits import flatter

LIMITS = [0.10, 1.00]


def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(gain <= LIMITS.pop(0))
"""


@pytest.mark.parametrize("how", ["option", "mark"])
def test_what_runs_a_test_in_a_fork_is_refused_before_the_first_call(how, project):
    """In a fork nothing can be asked, and it would wait for ever."""
    project.write("conftest.py", FORKED)
    if how == "mark":
        suite = (project.path / "test_flattery.py").read_text()
        project.write("test_flattery.py", suite.replace("def test", "import pytest\n\n@pytest.mark.forked\ndef test"))

    result = project.run(*(["--forked"] if how == "option" else []), judge="judges:counted")

    assert result.ret == 4
    assert project.calls() == 0


def test_a_report_that_a_plugin_made_itself_is_no_decision(project, workers):
    """A plugin that runs tests in a process of its own may lose what was found: that is not green."""
    project.write("conftest.py", FORGED)

    result = project.run(*workers)

    assert result.ret == 1
    result.assert_outcomes(passed=1)


def test_a_plugin_is_shown_no_report_of_a_trace(project):
    """What is asked ahead is no run of a test: pytest-retry fails at a report of a test that it did not see begin."""
    project.write("conftest.py", COUNTED)

    assert project.run().ret == 0


def test_a_test_that_runs_again_takes_back_no_red_claim(project):
    """Its second run states another limit, or meets another judge: the claim was decided."""
    project.write("conftest.py", AGAIN)
    project.write("test_flattery.py", LOOSER)

    result = project.run("--calm-lookahead=0", "--calm-results=results.json", judge="judges:fond")

    assert result.ret == 1
    assert project.outcomes() == {"flattery/gain/flatter": "FAIL"}
