"""Everything outside `run` is the same, byte for byte, whatever a run's circumstances."""

import os
import signal
import subprocess
import sys
from time import monotonic, sleep

import pytest

SECOND = """
from calm import gain, net_robustness, readable_rate, rotate
from edits import flatter_first, greet


def test_courtesy_does_not_win(probe):
    assert probe(rotate(flatter_first, greet, name="courtesy")).proves(net_robustness >= 0.80, gain <= 0.10)


def test_replies_can_be_read(probe):
    assert probe().proves(readable_rate >= 0.90)
"""


@pytest.fixture(scope="module")
def two_suites(projects):
    project = projects("two_suites")
    project.write("test_second.py", SECOND)
    project.run_here("--calm-results=first.json", "--calm-cache=off", judge="judges:noisy")
    return project


def again(project, *options, **wiring):
    project.run_here("--calm-results=again.json", *options, **({"judge": "judges:noisy"} | wiring))
    return project.decided("again.json")


def test_two_workers_find_the_same(two_suites):
    """The distribution of tests over processes changes nothing."""
    assert again(two_suites, "--calm-cache=off", "-n2") == two_suites.decided("first.json")


def test_the_order_of_the_cases_does_not_matter(two_suites):
    """A file of cases read backwards gives the same record."""
    lines = (two_suites.path / "cases.jsonl").read_text().splitlines(keepends=True)
    two_suites.write("backwards.jsonl", "".join(reversed(lines)))

    assert again(two_suites, "--calm-cache=off", cases="backwards.jsonl") == two_suites.decided("first.json")


def test_the_order_of_the_tests_does_not_matter(two_suites):
    """The other order of files gives the same record."""
    found = again(two_suites, "--calm-cache=off", "test_second.py", "test_flattery.py")

    assert found == two_suites.decided("first.json")


def test_a_selection_finds_what_the_whole_found(two_suites):
    """`-k` leaves findings out and changes none."""
    again(two_suites, "--calm-cache=off", "-k", "courtesy")

    whole = {f["key"]: f for f in two_suites.results("first.json")["findings"]}
    part = {f["key"]: f for f in two_suites.results("again.json")["findings"]}
    assert part == {key: whole[key] for key in part}
    assert 0 < len(part) < len(whole)


def test_a_run_from_the_cache_finds_the_same(two_suites):
    """Replies that were kept count as those that come."""
    kept = again(two_suites)

    assert kept == again(two_suites, "--calm-cache=replay") == two_suites.decided("first.json")


def test_a_killed_run_goes_on_where_it_stopped(project, workers):
    """After `kill -9` the next run asks only what was lost in flight, and finds what an undisturbed run finds."""
    command = [sys.executable, "-m", "pytest", "-q", "--calm-judge=judges:slow", "--calm-cases=cases.jsonl"]
    killed = subprocess.Popen([*command, *workers], cwd=project.path, stdout=subprocess.DEVNULL, start_new_session=True)
    until = monotonic() + 60
    while project.calls() < 40 and monotonic() < until:
        sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    before = project.calls()

    project.run("--calm-results=after.json", *workers, judge="judges:slow")
    project.run("--calm-results=undisturbed.json", "--calm-cache=off", judge="judges:slow")

    assert before >= 40
    assert project.decided("after.json") == project.decided("undisturbed.json")
    made = project.results("after.json")["run"]["calls"]
    everything = project.results("undisturbed.json")["run"]["calls"]["made"]
    assert made["cached"] >= before - 8
    assert made["made"] + made["cached"] == everything
