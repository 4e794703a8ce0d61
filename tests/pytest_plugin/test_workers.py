"""Workers of pytest-xdist share the work of a run: each question of a test is foreseen and decided by one of them."""

import json
from collections import defaultdict

import pytest

from tests.lanes import slow

EDITS = '''
import os
from calm import Expects, perturbation


def greeting(number):
    def greet(case, rng):
        """Greet the reader in the weaker answer."""
        with open("edited.txt", "a") as file:
            file.write(f"{number} {case.id} {os.getpid()}\\n")
        return case.edit(case.target, lambda text: f"Hello {number}. {text}")

    greet.__name__ = f"greet_{number}"
    return perturbation(bias="flattery", expects=Expects.NOT_BETTER)(greet)


GREETINGS = [greeting(number) for number in range(10)]
'''

SUITE = """
import pytest
from calm import gain
from greetings import GREETINGS


@pytest.mark.parametrize("edit", GREETINGS, ids=lambda edit: edit.name)
def test_a_greeting_does_not_win(probe, edit):
    assert probe(edit).proves(gain <= 0.10)
"""

JUDGES = '''
import os
import signal


def counted(case, send):
    """Judge without fault, and note each call."""
    with open("calls.txt", "a") as file:
        file.write(f"{case.id} {[a.text for a in case.answers]} {send.ask}\\n")
    return case.better

counted.reads, counted.fingerprint = ("question", "answers", "better"), "counted"


def deadly(case, send):
    """Kill the first worker, once, over a question of its own share."""
    mine = any("Hello 2." in a.text for a in case.answers) and os.environ.get("PYTEST_XDIST_WORKER") == "gw0"
    if mine:
        open("killed.txt", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return counted(case, send)

deadly.reads, deadly.fingerprint = ("question", "answers", "better"), "counted"
'''

SPREAD = [
    pytest.param(("-n2",), id="load"),
    slow(("-n2", "--dist=loadfile"), id="by file"),
    slow(("-n2", "--dist=worksteal"), id="work stealing"),
    slow(("-n3",), id="three workers"),
    slow(("-n3", "--dist=worksteal"), id="three workers, work stealing"),
]


def greeted(projects, name):
    project = projects(name)
    project.write("greetings.py", EDITS)
    project.write("counting.py", JUDGES)
    project.write("test_flattery.py", SUITE)
    return project


def ran(project, *options, judge="counting:counted", env=None):
    return project.run_alone("--calm-results=results.json", "-rA", *options, judge=judge, env=env)


def edited(project):
    """Return which processes edited cases for each probe, and all that was edited, each with how often."""
    by, often = defaultdict(set), defaultdict(int)
    for line in (project.path / "edited.txt").read_text().splitlines():
        number, case, process = line.split()
        by[number].add(process)
        often[number, case] += 1
    return by, dict(often)


def billed(project):
    """Return what the run asked, and what it says of that."""
    run = project.results()["run"]
    calls = (project.path / "calls.txt").read_text().splitlines()
    return sorted(calls), run["calls"], run["usd"], run["tokens"]


@pytest.fixture(scope="module")
def alone(projects):
    """Return a run in one process."""
    project = greeted(projects, "alone")
    done = ran(project)
    assert done.returncode == 0, done.stdout
    return project


@pytest.mark.parametrize("options", [*SPREAD, pytest.param(("-n2", "--calm-cache=off"), id="no cache")])
def test_each_question_is_worked_on_by_one_worker(projects, alone, options):
    """
    However tests are dealt: no case is edited in a second worker, and none of them has all the work.

    Findings and bill are those of one process, to the byte, and each call is made once; with a cache of the run alone,
    too. The folder in which they meet is gone when the run is over.
    """
    project = greeted(projects, "spread")
    place = project.path / "t"
    place.mkdir()
    done = ran(project, *options, env={"TMPDIR": str(place)})
    by, often = edited(project)

    assert done.returncode == 0, done.stdout
    assert often == dict.fromkeys(edited(alone)[1], 1)  # alone, the first line of the run tries them, too
    assert {len(processes) for processes in by.values()} == {1}
    assert len(set.union(*by.values())) == int(options[0][2:])
    assert project.decided() == alone.decided()
    assert billed(project) == billed(alone)
    assert not list(place.glob("calm-*"))


def test_what_is_not_foreseen_is_asked_by_the_worker_that_has_the_test(projects):
    """A test that is left out of the look-ahead, and one whose edit is made anew, are asked there; calls stay one."""
    suite = SUITE + (
        "\n\n@pytest.mark.calm(lookahead=False)\ndef test_left_out(probe):\n"
        "    assert probe(greeting('late')).proves(gain <= 0.10)\n"
        "\n\ndef test_made_anew(probe):\n    assert probe(greeting('anew')).proves(gain <= 0.10)\n"
    )
    runs = []
    for options in ((), ("-n2",)):
        project = greeted(projects, "unforeseen")
        project.write("test_flattery.py", suite.replace("import GREETINGS", "import GREETINGS, greeting"))
        done = ran(project, *options)
        assert done.returncode == 0, done.stdout
        runs.append((project.decided(), billed(project)[0]))

    assert runs[0] == runs[1]
    assert len(runs[0][1]) == len(set(runs[0][1]))


@pytest.mark.parametrize("dealt", [("-n2",), slow(("-n2", "--dist=worksteal"))], ids=" ".join)
def test_an_error_arises_in_the_test_that_asked(projects, dealt):
    """Whichever worker met it first."""
    wrong = (
        "\n\n@perturbation(bias='flattery', expects=Expects.NOT_BETTER)\ndef nothing(case, rng):\n"
        '    """Change nothing."""\n    return case\n'
    )
    suite = SUITE + "\n\ndef test_nothing(probe):\n    assert probe(nothing).proves(gain <= 0.10)\n"
    told = []
    for options in ((), dealt):
        project = greeted(projects, "wrong")
        project.write("greetings.py", EDITS + wrong)
        project.write("test_flattery.py", suite.replace("import GREETINGS", "import GREETINGS, nothing"))
        done = ran(project, *options)
        assert done.returncode == 1, done.stdout
        told.append((project.decided(), [line for line in done.stdout.splitlines() if line.startswith("E  ")]))

    assert told[0] == told[1]
    assert any("EditError" in line for line in told[0][1])


def test_a_dead_worker_keeps_nobody_waiting(projects, alone):
    """What it was to find is found by others: of its tests only the one that it ran is lost."""
    project = greeted(projects, "dead")
    done = ran(project, "-n2", judge="counting:deadly")

    assert (project.path / "killed.txt").exists()
    assert done.returncode == 1, done.stdout
    states = [one["state"] for one in project.results()["tests"]]
    assert sorted(states) == ["crashed", *["decided"] * 9]
    found, wanted = (
        {one["key"]: one for one in run.results()["findings"] if "greet_" in one["key"]} for run in (project, alone)
    )
    assert len(found) == 9
    assert all(json.dumps(wanted[key]) == json.dumps(finding) for key, finding in found.items())


@pytest.mark.slow
def test_what_cannot_be_sent_is_found_anew(projects):
    """Ids that no other process can read: each test is decided all the same, where it runs."""
    conftest = (
        "import pytest\nfrom dataclasses import replace\nfrom calm.cases import read_cases\n\n\n"
        "def closed():\n    class Id(str):\n        pass\n    return Id\n\n\n"
        "@pytest.fixture(scope='session')\ndef cases():\n"
        "    return [replace(case, id=closed()(case.id)) for case in read_cases('cases.jsonl')]\n"
    )
    runs = []
    for options in ((), ("-n2",)):
        project = greeted(projects, "closed")
        project.write("conftest.py", conftest)
        done = ran(project, *options)
        assert done.returncode == 0, done.stdout
        runs.append(project)

    assert runs[0].decided() == runs[1].decided()
    assert billed(runs[0])[0] == billed(runs[1])[0]
    once, again = (edited(project)[1] for project in runs)
    assert set(once) == set(again)
    assert sum(again.values()) > len(again)  # nothing else shows that they were not sent
