"""Tests whose questions are asked ahead of them end as they do when each asks for itself."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from time import monotonic, sleep
from xml.etree import ElementTree

import pytest

from tests.lanes import slow

WATCHED = '''
"""A judge whom thanks win over, and who notes each call."""
import os
from dataclasses import replace
from functools import cache


@cache
def own(edit, test):
    """Return the edit under a name that no other test uses, so that all findings have keys of their own."""
    return replace(edit, name=f"{edit.name}_{test}")


def watched(case, send):
    thanks = next((a.id for a in case.answers if "Thank you" in a.text), None)
    with open(os.environ["CALLS"], "a") as file:
        file.write(f"{case.id} {[a.text for a in case.answers]} {case.notes} {send.ask}\\n")
    return thanks or case.better

watched.reads, watched.fingerprint = ("question", "answers", "better", "notes"), "watched"
'''

CONFTEST = '''
import os
import pytest

REPORT = pytest.StashKey()


def note(*_args, **_kwargs):
    """Stand in for a debugger."""
    with open(os.environ["CALLS"] + ".stops", "a") as file:
        file.write("stop\\n")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.stash.setdefault(REPORT, {})[report.when] = report
    return report


@pytest.fixture
def reported(request):
    """The recipe of pytest's own documents: a teardown that asks how the test went."""
    yield
    report = request.node.stash[REPORT].get("call")
    print("in teardown:", report.outcome if report else "set up only")


@pytest.fixture
def asked_in_setup(probe):
    from calm import gain
    from edits import greet
    from watching import own
    return probe(own(greet, "asked_in_setup")).proves(gain <= 0.10)


@pytest.fixture
def asked_in_a_function(probe):
    return lambda edit, *claims: probe(edit).proves(*claims)
'''

BEHAVIOURS = """
import pdb
import random
import warnings

import pytest

from calm import gain, net_robustness, rotate
from edits import flatter, flatter_first, greet, remind
from watching import own

LIMIT = gain <= 0.10
seen = []


@pytest.mark.skip(reason="not now")
def test_skip_mark(probe):
    assert probe(own(greet, "skip_mark")).proves(LIMIT)


@pytest.mark.skipif("True", reason="not here")
def test_skip_condition(probe):
    assert probe(own(greet, "skip_condition")).proves(LIMIT)


def test_skip_before_asking(probe):
    pytest.skip("not today")


def test_skip_after_asking(probe):
    assert probe(own(greet, "skip_after_asking")).proves(LIMIT)
    pytest.skip("enough")


@pytest.mark.xfail(reason="known")
def test_xfail(probe):
    assert probe(own(flatter, "xfail")).proves(LIMIT)


@pytest.mark.xfail(reason="known", run=False)
def test_xfail_not_run(probe):
    assert probe(own(flatter, "xfail_not_run")).proves(LIMIT)


@pytest.mark.xfail(reason="thought so")
def test_xpass(probe):
    assert probe(own(greet, "xpass")).proves(LIMIT)


@pytest.mark.xfail(reason="thought so", strict=True)
def test_strict_xpass(probe):
    assert probe(own(greet, "strict_xpass")).proves(LIMIT)


def test_xfail_called(probe):
    pytest.xfail("gave up")


@pytest.mark.parametrize("edit", [greet, flatter, remind], ids=lambda e: e.name)
def test_parametrized(probe, edit):
    claim = net_robustness >= 0.90 if edit is remind else LIMIT
    assert probe(edit).proves(claim)


def test_two_probes_hold(probe):
    assert probe(own(greet, "two_probes_hold")).proves(LIMIT)
    assert probe(own(remind, "two_probes_hold")).proves(net_robustness >= 0.90)


def test_second_probe_fails(probe):
    assert probe(own(greet, "second_probe_fails")).proves(net_robustness >= 0.90)
    assert probe(own(flatter_first, "second_probe_fails")).proves(LIMIT)


def test_first_probe_fails(probe):
    assert probe(own(flatter, "first_probe_fails")).proves(net_robustness >= 0.90)
    assert probe(own(greet, "first_probe_fails")).proves(LIMIT)


def test_rotation(probe):
    assert probe(rotate(own(flatter, "rotation"), own(flatter_first, "rotation"), name="thanks")).proves(LIMIT)


def test_probe_in_a_fixture(asked_in_setup):
    assert asked_in_setup


def test_probe_behind_a_fixture(asked_in_a_function):
    assert asked_in_a_function(own(flatter, "probe_behind_a_fixture"), LIMIT)


def test_raises_around_a_claim(probe):
    with pytest.raises(AssertionError):
        assert probe(own(flatter, "raises_around_a_claim")).proves(LIMIT)
    assert probe(own(greet, "raises_around_a_claim")).proves(LIMIT)


def test_broad_except(probe):
    try:
        assert probe(own(flatter, "broad_except")).proves(LIMIT)
    except Exception:
        pass


def test_broad_except_around_data(probe):
    try:
        value = probe(own(greet, "broad_except_around_data")).observe(gain)[gain].value
    except Exception:
        value = 1.0
    assert value == 0.0


def test_reads_what_was_found(probe):
    found = probe(own(flatter, "reads_what_was_found")).observe(gain)
    assert found[gain].value > 0.5
    assert len(found) == 1


def test_subtests(probe, subtests):
    for edit in (own(greet, "subtests"), own(flatter, "subtests")):
        with subtests.test(edit.name):
            assert probe(edit).proves(LIMIT)


def test_breakpoint(probe):
    breakpoint()
    assert probe(own(greet, "breakpoint")).proves(LIMIT)


def test_fails_before_asking(probe):
    assert 1 == 2


def test_never_decided(probe):
    probe(own(greet, "never_decided"))


def test_never_asserted(probe):
    probe(own(greet, "never_asserted")).proves(LIMIT)


def test_capture(probe, capsys):
    print("printed once")
    assert probe(own(greet, "capture")).proves(LIMIT)
    assert capsys.readouterr().out.count("printed once") == 1


def test_output(probe, reported):
    print("said once")
    assert probe(own(greet, "output")).proves(LIMIT)


def test_properties(probe, record_property):
    record_property("colour", "green")
    assert probe(own(greet, "properties")).proves(LIMIT)


def test_warnings(probe):
    warnings.warn("warned once", stacklevel=1)
    assert probe(own(greet, "warnings")).proves(LIMIT)


def test_tmp_path(probe, tmp_path):
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    assert probe(own(greet, "tmp_path")).proves(LIMIT)


def test_monkeypatch(probe, monkeypatch):
    monkeypatch.setattr(random, "patched", True, raising=False)
    assert probe(own(greet, "monkeypatch")).proves(LIMIT)


def test_monkeypatch_is_undone(probe):
    assert not hasattr(random, "patched")
    assert probe(own(greet, "monkeypatch_is_undone")).proves(LIMIT)


@pytest.mark.calm(lookahead=False)
def test_marked_to_be_left_out(probe):
    seen.append("left out")
    assert probe(own(greet, "marked_to_be_left_out")).proves(LIMIT)
    assert seen.count("left out") == 1


def test_module_global(probe):
    seen.append("global")
    assert probe(own(greet, "module_global")).proves(LIMIT)
    assert seen.count("global") == 1


def test_without_a_probe():
    assert True
"""

TWICE = "test_module_global"
"""The documented difference: what a body does before it needs data is done twice."""

EXPECTED = {
    "test_skip_mark": "skipped",
    "test_skip_condition": "skipped",
    "test_skip_before_asking": "skipped",
    "test_skip_after_asking": "skipped",
    "test_xfail": "skipped",
    "test_xfail_not_run": "skipped",
    "test_xpass": "passed",
    "test_strict_xpass": "failed",
    "test_xfail_called": "skipped",
    "test_parametrized[greet]": "passed",
    "test_parametrized[flatter]": "failed",
    "test_parametrized[remind]": "passed",
    "test_two_probes_hold": "passed",
    "test_second_probe_fails": "failed",
    "test_first_probe_fails": "failed",
    "test_rotation": "failed",
    "test_probe_in_a_fixture": "passed",
    "test_probe_behind_a_fixture": "failed",
    "test_raises_around_a_claim": "error",
    "test_broad_except": "error",
    "test_broad_except_around_data": "passed",
    "test_reads_what_was_found": "passed",
    "test_subtests": "failed",
    "test_breakpoint": "passed",
    "test_fails_before_asking": "failed",
    "test_never_decided": "error",
    "test_never_asserted": "error",
    "test_capture": "passed",
    "test_output": "passed",
    "test_properties": "passed",
    "test_warnings": "passed",
    "test_tmp_path": "passed",
    "test_monkeypatch": "passed",
    "test_monkeypatch_is_undone": "passed",
    "test_marked_to_be_left_out": "passed",
    TWICE: "passed",
    "test_without_a_probe": "passed",
}

MODES = {
    "test by test": ("--calm-lookahead=0",),
    "test by test, two workers": ("--calm-lookahead=0", "-n2"),
    "ahead": (),
    "ahead, two workers": ("-n2",),
    "ahead, work stealing": ("-n2", "--dist=worksteal"),
}
FEW = ["test by test", "ahead"]


@pytest.fixture(params=[FEW, slow([*MODES])], ids=["few modes", "all modes"])
def modes(request):
    """Return the names of modes: the first one is that with which the others are compared."""
    return request.param


def ended(junit):
    """Return how each test of a JUnit file ended; an error in its teardown counts more than a pass."""
    rank = ["passed", "skipped", "failed", "error"]
    found = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        tags = {child.tag for child in case}
        outcome = "error" if "error" in tags else "failed" if "failure" in tags else "passed"
        outcome = "skipped" if outcome == "passed" and "skipped" in tags else outcome
        found[case.get("name")] = max(found.get(case.get("name"), "passed"), outcome, key=rank.index)
    return found


def told(junit):
    """Return the properties, output and number of entries of each test of a JUnit file."""
    found = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        properties = sorted((p.get("name"), p.get("value")) for p in case.iter("property"))
        output = [out.text for out in case.iter("system-out")]
        found.setdefault(case.get("name"), []).append((properties, output))
    return found


class Runs:
    """One run of the behaviours in each mode, made when it is first looked at."""

    def __init__(self, make):
        self._make, self._done = make, {}

    def __getitem__(self, mode):
        if mode not in self._done:
            project = self._make("behaviours")
            behaving(project)
            self._done[mode] = project, run(project, *MODES[mode])
        return self._done[mode]


def behaving(project):
    project.write("watching.py", WATCHED)
    project.write("conftest.py", CONFTEST)
    project.write("test_flattery.py", "")
    project.write("test_behaviours.py", BEHAVIOURS)
    project.write("cases.jsonl", project.cases(125))


def run(project, *options):
    settings = ("-o", "junit_logging=all", "-o", "junit_family=xunit1")
    outputs = ("--junitxml=junit.xml", *settings, "--calm-results=results.json", "-rA")
    env = {"CALLS": str(project.path / "calls.txt"), "PYTHONBREAKPOINT": "conftest.note", "COLUMNS": "200"}
    return project.run_alone(*outputs, *options, judge="watching:watched", env=env)


@pytest.fixture(scope="module")
def runs(projects):
    return Runs(projects)


def test_outcomes_are_those_of_asking_test_by_test(runs, modes, subtests):
    """All kinds of test end alike but for the documented one, whose body changes what it then looks at."""
    for mode in modes:
        with subtests.test(mode):
            project, done = runs[mode]
            twice = {TWICE: "passed" if "--calm-lookahead=0" in MODES[mode] else "failed"}

            assert ended(project.path / "junit.xml") == EXPECTED | twice, done.stdout
            assert done.returncode == 1
            assert "INTERNALERROR" not in done.stdout


def decided(project):
    """Return the record of a run, without the end of the documented test, which another body decides."""
    body = json.loads(project.decided())
    body["tests"] = [one for one in body["tests"] if TWICE.rpartition("::")[2] not in one["node"]]
    return body


def test_findings_are_those_of_asking_test_by_test(runs, modes, subtests):
    """To the byte, but for the figures of the run."""
    for mode in modes[1:]:
        with subtests.test(repr(mode)):
            assert decided(runs[mode][0]) == decided(runs["test by test"][0])


def test_nothing_is_told_twice(runs, modes, subtests):
    """Properties, output, reports of subtests and their number are those of one run of each test."""
    for mode in modes[1:]:
        with subtests.test(repr(mode)):
            plain, now = (told(runs[name][0].path / "junit.xml") for name in ("test by test", mode))
            for found in (plain, now):
                found.pop(TWICE)

            assert now == plain


def test_every_call_is_made_once(runs, modes, subtests):
    """However many processes foresee it, and however many tests want it."""
    for mode in modes:
        with subtests.test(repr(mode)):
            calls = (runs[mode][0].path / "calls.txt").read_text().splitlines()

            assert len(calls) == len(set(calls))
            assert set(calls) == set((runs["test by test"][0].path / "calls.txt").read_text().splitlines())


def test_a_debugger_opens_once(runs, modes, subtests):
    """`breakpoint()` does nothing while a test is only foreseen."""
    for mode in modes:
        with subtests.test(repr(mode)):
            assert (runs[mode][0].path / "calls.txt.stops").read_text().splitlines() == ["stop"]


def test_a_warning_is_counted_once(runs, modes, subtests):
    """What a test warns of while it is foreseen is not shown."""
    for mode in modes:
        with subtests.test(repr(mode)):
            assert runs[mode][1].stdout.count("UserWarning: warned once") == 1


@pytest.mark.parametrize(
    "steps",
    [
        slow([("-k", "probes or xfail")]),
        [("test_behaviours.py::test_second_probe_fails",)],
        slow([(), ("--lf",)]),
        slow([("--sw",), ("--sw",)]),
        [("--maxfail=3",)],
        slow([("--deselect", "test_behaviours.py::test_xfail")]),
    ],
    ids=lambda steps: " ".join(steps[-1]),
)
def test_a_selection_ends_as_without_looking_ahead(projects, steps):
    """What was chosen, and where the run stops, are the same."""
    outcomes = []
    for options in (("--calm-lookahead=0",), ()):
        project = projects("selection")
        behaving(project)
        project.write("test_behaviours.py", BEHAVIOURS.replace("def test_module_global", "def leave_out"))
        for selected in steps:
            done = run(project, *options, *selected)
        outcomes.append((ended(project.path / "junit.xml"), done.returncode, counted(done.stdout)))

    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0]


def counted(output):
    """Return what the last line of pytest counts."""
    return re.findall(r"\d+ [a-z ]+", output.rstrip().rpartition("\n")[2].partition(" in ")[0])


def test_only_what_was_selected_is_asked(projects):
    """Tests that -k left out are not foreseen."""
    project = projects("selected")
    behaving(project)

    run(project, "-k", "second_probe")

    texts = (project.path / "calls.txt").read_text()
    assert "Hello. It" in texts
    assert "Read both answers" not in texts


def test_what_runs_no_test_asks_nothing(projects, subtests):
    """Nothing is foreseen where nothing will run."""
    for option in ["--collect-only", "--setup-only", "--setup-plan", "--calm-plan"]:
        with subtests.test(repr(option)):
            project = projects("idle")
            behaving(project)

            done = run(project, option, "-k", "not in_a_fixture")  # that one asks while it is set up

            assert done.returncode == 0, done.stdout
            assert not (project.path / "calls.txt").exists()


def test_setup_show_shows_each_fixture_once(projects):
    """The shown lines are those of a run without looking ahead."""
    shown = []
    for options in (("--calm-lookahead=0",), ()):
        project = projects("shown")
        behaving(project)
        output = run(project, "--setup-show", "-k", "parametrized or tmp_path", *options).stdout
        shown.append([line for line in output.splitlines() if re.match(r"\s*(SETUP|TEARDOWN)", line)])

    assert shown[0] == shown[1]
    assert shown[0]


def test_an_exit_ends_the_run(projects, workers):
    """`pytest.exit` in a body ends the real run, not the look ahead; with two workers as well."""
    outcomes = []
    for options in (("--calm-lookahead=0",), ()):
        project = projects("exit")
        behaving(project)
        project.write(
            "test_behaviours.py",
            "import pytest\nfrom calm import gain\nfrom edits import flatter, greet\n\n\n"
            "def test_first(probe):\n    assert probe(greet).proves(gain <= 0.10)\n\n\n"
            "def test_second(probe):\n    pytest.exit('enough', returncode=7)\n\n\n"
            "def test_third(probe):\n    assert probe(flatter).proves(gain <= 0.10)\n",
        )
        done = run(project, *options, *workers)
        outcomes.append((done.returncode, "enough" in done.stdout))

    assert outcomes[0] == outcomes[1]


def test_output_is_shown_once_where_nothing_is_captured(projects):
    """What a test or a fixture prints or logs in a trace is dropped; `-s` and live logs show the run alone."""
    project = projects("printed")
    project.write(
        "conftest.py",
        "import logging, sys\nimport pytest\n\n\n@pytest.fixture\ndef talking():\n"
        "    print('fixture begins')\n    yield\n    print('fixture ends', file=sys.stderr)\n",
    )
    project.write(
        "test_flattery.py",
        "import logging\nfrom calm import gain\nfrom edits import greet\n\n\n"
        "def test_prints(probe, talking):\n    print('body begins')\n    logging.warning('body logs')\n"
        "    assert probe(greet).proves(gain <= 0.10)\n    print('body ends')\n",
    )

    done = project.run_alone("-s", "-o", "log_cli=true")

    words = ("fixture begins", "body begins", "body logs", "body ends", "fixture ends")
    assert {word: done.stdout.count(word) for word in words} == dict.fromkeys(words, 1)
    assert "1 passed" in done.stdout


def test_random_numbers_are_not_drawn_twice(projects):
    """Looking ahead leaves the state of `random` as it was."""
    project = projects("drawn")
    project.write("conftest.py", "import random\n\n\ndef pytest_collection_finish():\n    random.seed(7)\n")
    body = (
        "import random\n\nfrom calm import gain\nfrom edits import greet\n\n\n"
        "def test_draw(probe):\n    drawn = random.random()\n    assert probe(greet).proves(gain <= 0.10)\n"
        "    assert drawn == random.Random(7).random()\n"
    )
    project.write("test_flattery.py", body)

    done = project.run_alone()

    assert done.returncode == 0, done.stdout


def test_fixtures_are_made_as_often_as_the_documents_say(projects):
    """Session fixtures once, all others once more."""
    project = projects("made")
    scopes = ("session", "module", "function")
    made = "@pytest.fixture(scope='{0}')\ndef of_{0}():\n    note('{0}')\n    yield\n    note('end {0}')\n"
    fixtures = "".join(made.format(scope) for scope in scopes)
    note = "def note(text):\n    with open('made.txt', 'a') as file:\n        file.write(text + chr(10))\n"
    project.write("conftest.py", f"import pytest\n{note}{fixtures}")
    body = project.path.joinpath("test_flattery.py").read_text()
    project.write("test_flattery.py", body.replace("(probe)", "(probe, of_session, of_module, of_function)"))

    project.run_alone()

    made = (project.path / "made.txt").read_text().splitlines()
    assert [made.count(scope) for scope in scopes] == [1, 2, 2]
    assert [made.count(f"end {scope}") for scope in scopes] == [1, 2, 2]


def test_a_fixture_can_see_that_a_test_is_only_foreseen(projects):
    """`probe.tracing` is true then."""
    project = projects("tracing")
    project.write(
        "conftest.py",
        "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef note(probe):\n"
        "    with open('seen.txt', 'a') as file:\n        file.write(f'{probe.tracing}\\n')\n",
    )

    project.run_alone()

    assert (project.path / "seen.txt").read_text().splitlines() == ["True", "False"]


SLOW = '''
import asyncio, os

from judges import KNOWN


async def slow(case, send):
    """Note when a call begins and when it ends; what is about greetings takes its time, and waits for a file."""
    late = any("Hello" in a.text for a in case.answers)
    name = f"{case.id} {[a.text for a in case.answers]} {send.ask}"
    with open("begun.txt", "a") as file:
        file.write(name + chr(10))
    while late and "UNTIL" in os.environ and not os.path.exists(os.environ["UNTIL"]):
        await asyncio.sleep(0.01)
    await asyncio.sleep(float(os.environ.get("DELAY", "0.6")) if late else 0.001)
    with open("ended.txt", "a") as file:
        file.write(name + chr(10))
    return next((a.id for a in case.answers if "Thank you" in a.text), None) or case.better

slow.reads, slow.fingerprint, slow.concurrency = KNOWN, "slow", 8
'''

STOPPING = """
from calm import gain
from edits import flatter, greet


def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(gain <= 0.10)


def test_greetings_do_not_win(probe):
    assert probe(greet).proves(gain <= 0.10)
"""


FAILING = """
import time
from dataclasses import replace
from pathlib import Path

from calm import gain
from edits import flatter


def test_fails_at_once():
    assert 1 == 2


def test_fails_once_greetings_are_under_way(probe):
    probe(replace(flatter, name="of_no_case"), cases=[]).proves(gain <= 0.10)
    begun = Path("begun.txt")
    until = time.monotonic() + 60
    while not probe.tracing and not (begun.exists() and "Hello" in begun.read_text()) and time.monotonic() < until:
        time.sleep(0.01)
    assert probe.tracing
"""

NOTING = """
def pytest_runtest_logreport(report):
    if report.failed and "under_way" in report.nodeid:
        open("failed.txt", "w").close()
"""


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def stopping(project):
    project.write("slow.py", SLOW)
    project.write("test_flattery.py", STOPPING)
    return project


def test_the_last_failure_sends_nothing_new_and_keeps_what_is_in_flight(projects):
    """With --maxfail=2 (-x asks nothing ahead): what had begun ends and is kept, nothing else begins."""
    project = stopping(projects("first_failure"))
    project.write("conftest.py", NOTING)
    project.write("test_a_failure.py", FAILING)

    outputs = ("--calm-results=results.json", "--calm-report=report.html")
    done = project.run_alone("--maxfail=2", *outputs, judge="slow:slow", env={"UNTIL": "failed.txt"})

    begun, ended_ = lines(project.path / "begun.txt"), lines(project.path / "ended.txt")
    assert done.returncode == 1, done.stdout
    assert sorted(begun) == sorted(ended_)
    assert 0 < sum("Hello" in line for line in begun) < 200  # that were foreseen, eight at a time
    assert (project.path / "report.html").stat().st_size > 0
    assert set(project.outcomes().values()) == {"NOT_TESTED"}  # of the test that failed
    (project.path / "test_a_failure.py").unlink()
    again = project.run_alone(*outputs, judge="slow:slow", env={"DELAY": "0"})
    assert again.returncode == 1
    assert project.outcomes()["flattery/gain/flatter"] == "FAIL"
    assert len(lines(project.path / "begun.txt")) == len(set(lines(project.path / "begun.txt")))


def pressed(project, sign, *options, times=1, env=None):
    """Start a run, press Ctrl-C when `sign` holds (again after a moment), and return status, output and seconds."""
    command = [sys.executable, "-m", "pytest", "--calm-judge=slow:slow", "--calm-cases=cases.jsonl", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    environment = {**os.environ, **(env or {})}
    with subprocess.Popen(command, cwd=project.path, env=environment, **pipes) as running:
        until = monotonic() + 60
        while not sign() and monotonic() < until:
            sleep(0.01)
        for _ in range(times):
            running.send_signal(signal.SIGINT)
            sleep(0.7)
        began = monotonic()
        try:
            output, _ = running.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    return running.returncode, output, monotonic() - began


def test_an_interrupt_sends_nothing_new_and_keeps_what_is_in_flight(projects, workers):
    """Ctrl-C: exit 2, results and report are written, and a new run pays for nothing twice."""
    project = stopping(projects("interrupted"))
    begun, ended_ = project.path / "begun.txt", project.path / "ended.txt"
    outputs = ("--calm-results=results.json", "--calm-report=report.html")

    status, output, _ = pressed(
        project, lambda: sum("Hello" in line for line in lines(begun)) >= 12, *outputs, *workers
    )

    assert status == 2, output
    assert "INTERNALERROR" not in output
    lost = Counter(lines(begun)) - Counter(lines(ended_))
    # workers go on until the controller, which alone got the signal, has told them; xdist kills them ten seconds later
    assert lost.total() <= (16 if workers else 0)
    # of 200
    assert sum("Hello" in line for line in lines(begun)) < (200 if workers else 100)
    if not workers:  # the controller knows nothing before a test of a worker has ended
        assert (project.path / "report.html").exists()
        assert "the run was interrupted" in (project.path / "results.json").read_text()
    again = project.run_alone(*outputs, judge="slow:slow", env={"DELAY": "0"})
    assert again.returncode == 1
    assert Counter(lines(begun)) - Counter(set(lines(begun))) <= lost


def test_a_second_interrupt_ends_at_once(projects):
    """Nobody has to wait for calls that take minutes."""
    project = stopping(projects("twice"))
    begun = project.path / "begun.txt"

    status, output, seconds = pressed(
        project,
        lambda: sum("Hello" in line for line in lines(begun)) >= 4,
        times=2,
        env={"DELAY": "600"},
    )

    assert status in (2, -signal.SIGINT), output
    assert seconds < 8
