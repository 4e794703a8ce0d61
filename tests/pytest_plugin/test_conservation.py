"""No test is lost: each that was collected is in the record, and no record calls a run green that is not whole."""

import json
import shutil
from hashlib import sha256

import pytest

from calm.commands.cli import main
from calm.core.reasons import Kind
from calm.results.audit import read
from tests.lanes import one_in, slow
from tests.pytest_plugin.breaking import LAST, OUTPUTS, PLACES, WRITES, green_before, greens, plant

UNRECORDED = ("the test file", "pytest_collection_modifyitems", "the record", "a judge")
"""Places at which a run breaks before its tests are known, that write the record itself, or where the run ends."""
RESULTS = "--calm-results=results.json"


@pytest.fixture(scope="module")
def green(projects, tmp_path_factory):
    """The outputs of a run that is green, which lie where the next one writes."""
    project = projects("green")
    project.write("test_zzz.py", LAST)
    assert project.run_here(*WRITES).returncode == 0
    assert sorted(greens(project.path)) == ["accept", "junit", "report", "results", "sarif", "summary"]
    kept = tmp_path_factory.mktemp("kept")
    for name in (*OUTPUTS, "results.texts.jsonl"):
        shutil.copy(project.path / name, kept / name)
    return kept


def endings(project, name="results.json"):
    """Return how each test of the record ended, by the name of its function."""
    return {one["node"].rpartition("::")[2]: one["state"] for one in project.results(name)["tests"]}


@pytest.mark.parametrize("place", one_in(3, PLACES))
def test_whatever_breaks_no_record_is_green(project, green, place):
    """An error at any place, over green files of an earlier run: exit status not 0, and no form says PASS."""
    plant(project, place, "raises")
    green_before(project, green)

    result = project.run(*WRITES)

    assert result.ret != 0
    assert greens(project.path) == []
    if place not in UNRECORDED:
        record = project.results()
        asked = any(f["trials"] for f in record["findings"])  # a run that asked no case has none in common
        assert len(record["tests"]) == 2
        status = main(["compare", str(green / "results.json"), str(project.path / "results.json")])
        assert status == (0 if asked else 4)


@pytest.mark.parametrize(
    ("place", "act", "options"),
    [
        slow("the body", "leaves", ()),
        ("the page", "is killed", ()),
        slow("the fixture cases", "is killed", ()),
        slow("a judge", "exits", ()),
        ("a judge", "is interrupted", ()),
        ("the body", "is killed", ("-n2",)),
        slow("the body", "raises", ("-n2",)),
        slow("pytest_runtest_teardown", "leaves", ("-n2",)),
        slow("pytest_collection_modifyitems", "is killed", ("-n2", "--max-worker-restart=0")),
    ],
)
def test_whoever_dies_no_record_is_green(project, green, place, act, options):
    """A process that ends without a word, alone or as a worker of xdist."""
    plant(project, place, act)
    green_before(project, green)

    project.run_alone(*WRITES, *options)

    assert greens(project.path) == []


SEVERAL = """
from dataclasses import replace

import pytest

from calm import Expects, gain, perturbation
from edits import flatter, greet, remind


@perturbation(bias="flattery", expects=Expects.NOT_BETTER)
def idle(case, rng):
    return case


@pytest.fixture
def early():
    raise RuntimeError("no key for example.org")


@pytest.fixture
def late():
    yield
    raise RuntimeError("it cannot be closed")


def test_decided(probe):
    assert probe(flatter).proves(gain <= 0.10)


def test_refuted(probe):
    assert probe(greet).proves(gain <= -0.90)


def test_other_judge(probe):
    assert probe(remind).proves(gain <= 0.10)


@pytest.mark.skip(reason="next week")
def test_skipped(probe):
    assert probe(flatter).proves(gain <= 0.10)


@pytest.mark.xfail(reason="known", raises=KeyError)
def test_known_error(probe):
    raise KeyError("known")


@pytest.mark.xfail(reason="known")
def test_unknown_error(probe):
    raise KeyError("not known")


@pytest.mark.xfail(reason="known", strict=True)
def test_fixed(judge):
    pass


def test_broken_edit(probe):
    assert probe(idle).proves(gain <= 0.10)


def test_own_assertion(probe):
    assert probe(replace(flatter, name="watched")).observe(gain)[gain].value > 2


def test_setup(early, probe):
    assert probe(flatter).proves(gain <= 0.10)


def test_teardown(late, probe):
    assert probe(replace(flatter, name="closed_late"), cases=probe.setup.cases[:50]).proves(gain <= 0.90)


def test_unasserted(probe):
    probe(flatter)


def test_judge_alone(judge):
    assert judge.task == "pairwise"


def test_of_something_else():
    raise RuntimeError("no probe")
"""
ENDS = {
    "test_decided": ("decided", ""),
    "test_refuted": ("decided", ""),
    "test_other_judge": ("not-tested", "the judge is not shown the notes"),
    "test_skipped": ("not-tested", "skipped: next week"),
    "test_known_error": ("not-tested", "xfail: known"),
    "test_unknown_error": ("crashed", "it failed in its body: KeyError: 'not known'"),
    "test_fixed": ("crashed", "it failed in its body: [XPASS(strict)] known"),
    "test_broken_edit": ("crashed", "it failed in its body: EditError: perturbation idle returned case"),
    "test_own_assertion": ("crashed", "it failed in its body: AssertionError: "),
    "test_setup": ("crashed", "it failed in its setup: RuntimeError: no key for example.org"),
    "test_teardown": ("crashed", "it failed in its teardown: RuntimeError: it cannot be closed"),
    "test_unasserted": ("crashed", "it failed in its teardown: Failed: probe(flatter) was never decided"),
    "test_judge_alone": ("decided", ""),
}


def test_each_test_with_a_probe_is_in_the_record_with_its_end_and_why(project, always_workers):
    """Decided, not tested or crashed; in every form that people read, and the same with always_workers."""
    project.write("test_flattery.py", SEVERAL)

    result = project.run("-v", *WRITES, *always_workers)

    found = {one["node"].rpartition("::")[2]: one for one in project.results()["tests"]}
    assert result.ret == 1
    assert {name: one["state"] for name, one in found.items()} == {name: state for name, (state, _) in ENDS.items()}
    for name, (_, why) in ENDS.items():
        assert found[name]["reason"].startswith(why), name
        assert bool(found[name]["reason"]) == bool(why), name
    assert Kind.CRASHED in {gap.kind for gap in read(project.path / "results.json").gaps}
    crashed = {name for name, state in endings(project).items() if state == "crashed"}
    assert {line.partition(" crashed: ")[0] for line in result.outlines if " crashed: " in line} == {
        f"test_flattery.py::{name}" for name in crashed
    }
    for name in ("report.html", "summary.md", "results.sarif"):
        assert "no key for example.org" in (project.path / name).read_text("utf-8"), name
    assert main(["report", str(project.path / "results.json"), "-o", str(project.path / "junit.xml")]) == 0
    assert (project.path / "junit.xml").read_text("utf-8").count("<error ") == 7


def test_a_private_record_names_the_crash_and_not_what_it_said(project):
    """An error may quote a case."""
    project.write("test_flattery.py", SEVERAL)

    project.run(RESULTS, "--calm-texts=none")

    assert endings(project) == {name: state for name, (state, _) in ENDS.items()}
    assert "example.org" not in (project.path / "results.json").read_text("utf-8")


STOPS = """
import os
import time
import pytest

from calm import gain
from edits import flatter, flatter_first, greet


def test_one(probe):
    assert probe(flatter).proves(gain <= 0.10)


@pytest.mark.calm(lookahead=False)
def test_two(probe):
    {stop}


def test_three(probe):
    assert probe(greet).proves(gain <= 0.10)


def test_plain():
    pass
"""


@pytest.mark.parametrize(
    ("stop", "options", "second", "third"),
    [
        ("raise ValueError", (), "crashed", "decided"),
        ("raise ValueError", ("-x",), "crashed", "not-run"),
        slow("raise ValueError", ("--maxfail=1",), "crashed", "not-run"),
        ("raise KeyboardInterrupt", (), "not-run", "not-run"),
        ("pytest.exit('enough', returncode=0)", (), "not-run", "not-run"),
        slow("raise SystemExit(0)", (), "crashed", "decided"),
        slow("os._exit(0)", ("-n1", "--max-worker-restart=1"), "crashed", "decided"),
        ("os._exit(0)", ("-n1", "--max-worker-restart=0"), "crashed", "not-run"),
    ],
)
def test_tests_that_did_not_run_are_named_and_keep_the_gate_from_being_green(project, stop, options, second, third):
    """The first one is green, so that the run would be."""
    project.write("test_flattery.py", STOPS.format(stop=stop))

    if "_exit" in stop or "Keyboard" in stop:  # pytest ends, too, in which this test runs
        status = project.run_alone(RESULTS, *options).returncode
    else:
        status = project.run(RESULTS, *options).ret

    assert status != 0
    assert endings(project) == {"test_one": "decided", "test_two": second, "test_three": third}
    assert project.results()["outcome"] == "INCOMPLETE"
    assert project.outcomes()["flattery/gain/flatter"] == "PASS"


def test_what_the_user_did_not_choose_is_not_missed(project, workers):
    """With -k only the chosen tests are on the roll, and a run of them can be green."""
    project.write("test_flattery.py", STOPS.format(stop="raise ValueError"))

    result = project.run(RESULTS, "-k", "one or plain", *workers)

    assert result.ret == 0
    assert endings(project) == {"test_one": "decided"}
    assert project.results()["outcome"] == "PASS"


def test_a_file_that_cannot_be_collected_keeps_the_gate_from_being_green(project, workers):
    """Nobody knows which probes were in it."""
    project.write("test_broken.py", "import no_such_module\n")

    result = project.run(RESULTS, "--continue-on-collection-errors", *workers)

    assert result.ret != 0
    assert project.results()["outcome"] == "INCOMPLETE"
    assert "test_broken.py" in json.dumps(project.results()["faults"])


def test_a_crashed_test_that_runs_again_and_is_decided_is_decided(project):
    """As with pytest-rerunfailures: its last run counts."""
    project.write(
        "conftest.py",
        "from _pytest.runner import runtestprotocol\n\n\ndef pytest_runtest_protocol(item, nextitem):\n"
        "    item.config.turn = 1\n    for report in runtestprotocol(item, nextitem=nextitem, log=False):\n"
        "        report.outcome = 'rerun' if report.failed else report.outcome\n"
        "        item.ihook.pytest_runtest_logreport(report=report)\n"
        "    item.config.turn = 2\n    item._initrequest()\n    runtestprotocol(item, nextitem=nextitem)\n"
        "    return True\n",
    )
    suite = (project.path / "test_flattery.py").read_text()
    project.write(
        "test_flattery.py",
        suite.replace("(probe):\n", "(probe, pytestconfig):\n    assert getattr(pytestconfig, 'turn', 2) == 2\n"),
    )

    result = project.run(RESULTS)

    assert result.ret == 0
    assert set(endings(project).values()) == {"decided"}


def test_an_earlier_record_is_kept_beside_one_that_tells_nothing(project, green):
    """And removed by the next run that tells something."""
    green_before(project, green)
    before = {name: (project.path / name).read_bytes() for name in OUTPUTS}
    plant(project, "the fixture cases", "raises")

    first, second = project.run(*WRITES), project.run(*WRITES)

    assert {name: (project.path / f"{name}.before").read_bytes() for name in before} == before
    for result in (first, second):
        assert all(f"{name}.before" in str(result.stdout) for name in before)
    (project.path / "conftest.py").unlink()

    assert project.run(*WRITES).ret == 0
    assert not list(project.path.glob("*.before"))


@pytest.mark.parametrize("options", [("--calm-sample=none",), ("-k", "nothing"), ("--collect-only",), ("--calm-plan",)])
def test_a_run_that_does_not_begin_leaves_everything_where_it_is(project, green, options):
    """A wrong option, no test chosen, and looks at what would run."""
    green_before(project, green)

    project.run(*WRITES, *options)

    assert {name.name for name in green.iterdir()} == {f.name for f in project.path.glob("re*.*")} | {"summary.md"}
    assert project.results()["outcome"] == "PASS"


def test_a_record_from_before_the_roll_says_what_its_notes_say(project, green):
    """It has no list of tests: that it was cut short stands in its notes."""
    body = json.loads((green / "results.json").read_text("utf-8"))
    del body["tests"], body["faults"]
    body["run"]["notes"], codes = ["the run was interrupted"], [{"kind": "interrupted", "details": []}]
    body["run"]["note_codes"] = codes
    del body["run"]["digest"]
    body["run"]["digest"] = sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    old = project.write("old.json", json.dumps(body))

    audit = read(old)

    assert audit.outcome == "INCOMPLETE"
    assert [gap.kind for gap in audit.gaps] == [Kind.INTERRUPTED]


def test_a_comparison_says_which_run_is_not_whole(project, green, capsys):
    """What a run lacks may be what a crash took."""
    plant(project, "the body", "raises")
    project.run(RESULTS)
    capsys.readouterr()

    main(
        ["compare", str(green / "results.json"), str(project.path / "results.json"), "-o", str(project.path / "c.html")]
    )

    assert "The new run is not whole (1)" in capsys.readouterr().out
    assert "1 of 2 tests crashed" in (project.path / "c.html").read_text("utf-8")


SWALLOWED = """
import contextlib
import threading
from dataclasses import replace

from calm import Expects, gain, perturbation
from calm.perturbations.authority import cite_url


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def broken(case, rng):
    raise ValueError("an edit of a test")


def asked(probe, name):
    assert probe(replace(broken, name=name)).proves(gain <= 0.15)


def test_caught(probe):
    try:
        asked(probe, "caught")
    except Exception:
        pass


def test_suppressed(probe):
    assert probe(cite_url).proves(gain <= 0.15)
    with contextlib.suppress(ValueError):
        asked(probe, "suppressed")


def test_in_a_thread(probe):
    thread = threading.Thread(target=asked, args=(probe, "threaded"))
    thread.start()
    thread.join()
"""


@pytest.mark.parametrize("options", [(), slow(("--calm-lookahead=0",))])
def test_an_error_of_a_probe_that_a_test_swallows_is_a_crash(project, options):
    """Whether it is caught, suppressed, or raised in a thread: the claim was never decided."""
    project.write("test_swallowed.py", SWALLOWED)
    project.write("test_zzz.py", LAST)

    done = project.run_alone(*WRITES, "-p", "no:threadexception", *options)

    assert done.returncode == 1
    assert {name: state for name, state in endings(project).items() if name in SWALLOWED} == {
        "test_caught": "crashed",
        "test_suppressed": "crashed",
        "test_in_a_thread": "crashed",
    }
    assert greens(project.path) == []


LATE = """
import os

import pytest

from calm import gain
from calm.perturbations.authority import cite_url


@pytest.fixture
def mine(request):
    return request.getfixturevalue("probe")


def test_early(probe):
    assert probe(cite_url).proves(gain <= 0.15)


def test_late(request):
    probe = request.getfixturevalue("probe")
    {act}


def test_by_a_fixture(mine):
    {act}


def test_without():
    {act}
"""


@pytest.mark.parametrize(
    ("act", "options", "crashed"),
    [
        ("raise ValueError('of a test')", (), {"test_late", "test_by_a_fixture"}),
        slow("raise ValueError('of a test')", ("-n2",), {"test_late", "test_by_a_fixture"}),
        slow("os._exit(3)", ("-n2",), {"test_late", "test_by_a_fixture", "test_without"}),
    ],
)
def test_a_probe_that_is_asked_for_while_a_test_runs_is_on_the_roll(project, act, options, crashed):
    """By `request.getfixturevalue`; and of a test that died nobody knows whether it had asked."""
    project.write("test_late.py", LATE.replace("{act}", act))

    done = project.run_here(*WRITES, *options)

    found = endings(project)
    assert done.returncode == 1
    assert {name for name, state in found.items() if state == "crashed"} == crashed
    assert found["test_early"] == "decided"
    assert greens(project.path) == []
