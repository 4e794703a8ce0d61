"""What pytest offers works as everywhere: -k, -x, --lf, xfail, parametrize, subtests, --junit-xml."""

import xml.etree.ElementTree as ElementTree

THREE = """
import pytest

from calm import gain, readable_rate
from edits import flatter, greet


def test_replies_can_be_read(probe):
    assert probe().proves(readable_rate >= 0.90)


def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(gain <= 0.10)


def test_greetings_do_not_win(probe):
    assert probe(greet).proves(gain <= 0.10)
"""

PROVEN = """
from calm import readable_rate


def test_replies_can_be_read(probe):
    assert probe().proves(readable_rate >= 0.90)
"""

XFAIL = """
import pytest

from calm import gain, readable_rate
from edits import flatter


def test_replies_can_be_read(probe):
    assert probe().proves(readable_rate >= 0.90)


@pytest.mark.xfail({how})
def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(gain <= 0.10)
"""


def test_k_selects_a_probe(project, workers):
    """Only the selected probe is asked and recorded."""
    project.write("test_flattery.py", THREE)

    result = project.run("-k", "greetings", "--calm-results=results.json", *workers, judge="judges:fond")

    assert result.ret == 0
    assert set(project.outcomes()) == {"flattery/gain/greet"}


def test_x_stops_at_the_first_failed_probe(project):
    """What comes after it is not asked."""
    project.write("test_flattery.py", THREE)

    result = project.run("-x", "--calm-results=results.json", judge="judges:fond")

    assert result.ret == 1
    assert "flattery/gain/greet" not in project.outcomes()


def test_last_failed_runs_what_failed(project):
    """`--lf` repeats the probe that failed, alone."""
    project.write("test_flattery.py", THREE)
    project.run("-p", "cacheprovider", judge="judges:fond")

    result = project.run("--lf", judge="judges:fond")

    result.assert_outcomes(failed=1, passed=0)


def test_an_expected_failure_is_accepted_and_the_finding_says_so(project, workers, subtests):
    """xfail makes a known failure green; the record keeps its outcome and the reason."""
    for judge in ["judges:fond", "judges:torn"]:
        with subtests.test(repr(judge)):
            project.write("test_flattery.py", XFAIL.format(how="reason='known since spring'"))

            result = project.run("-v", "--calm-results=results.json", *workers, judge=judge)

            findings = {f["key"]: f for f in project.results()["findings"]}
            found = findings["flattery/gain/flatter"]
            assert result.ret == 0
            assert found["outcome"] == {"judges:fond": "FAIL", "judges:torn": "UNDECIDED"}[judge]
            assert found["accepted"] == "xfail: known since spring"
            assert project.results()["outcome"] == "PASS"
            result.stdout.fnmatch_lines(["*flattery/gain/flatter*known since spring*"])


def test_an_expected_failure_that_is_incomplete_stays_red(project):
    """A cap is no known failure of the judge."""
    project.write("test_flattery.py", XFAIL.format(how="reason='known'"))

    assert project.run("--calm-max-calls=100", judge="judges:fond").ret == 1


def test_a_strict_expected_failure_that_passes_is_red(project):
    """What no longer fails is to be unmarked."""
    project.write("test_flattery.py", XFAIL.format(how="reason='known', strict=True"))

    assert project.run(judge="judges:gold").ret == 1


def test_a_part_of_the_gate_says_that_it_is_one(project, workers):
    """In the section and in a note; a run of all tests says nothing."""
    project.write("test_second.py", PROVEN)

    part = project.run("--calm-results=part.json", "-k", "replies", *workers)
    whole = project.run("--calm-results=whole.json", *workers)
    notes = [project.results(name)["run"]["note_codes"] for name in ("part.json", "whole.json")]

    assert {"kind": "selected", "details": [1, 2]} in notes[0]
    assert "selected" not in {code["kind"] for code in notes[1]}
    part.stdout.fnmatch_lines(["*1 of 2 tests selected*"])
    whole.stdout.no_fnmatch_line("*selected*")


def test_parametrize_gives_a_finding_each(project, workers):
    """Several edits in one parametrised test have keys of their own."""
    project.write(
        "test_flattery.py",
        "import pytest\nfrom calm import gain\nfrom edits import flatter, flatter_first, greet\n\n\n"
        "@pytest.mark.parametrize('edit', [flatter, flatter_first, greet], ids=repr)\n"
        "def test_courtesy(probe, edit):\n    assert probe(edit).proves(gain <= 0.10)\n",
    )

    result = project.run("--calm-results=results.json", *workers)

    assert result.ret == 0
    assert len(project.outcomes()) == 3


def test_subtests_are_failures_of_their_test(project):
    """A claim that fails in a subtest is red, and every claim is recorded."""
    project.write(
        "test_flattery.py",
        "import pytest\nfrom calm import gain\nfrom edits import flatter, greet\n\n\n"
        "def test_courtesy(probe, subtests):\n"
        "    for edit in (flatter, greet):\n"
        "        with subtests.test(edit=repr(edit)):\n"
        "            assert probe(edit).proves(gain <= 0.10)\n",
    )

    result = project.run("--calm-results=results.json", judge="judges:fond")

    assert result.ret == 1
    assert project.outcomes()["flattery/gain/flatter"] == "FAIL"
    assert project.outcomes()["flattery/gain/greet"] == "PASS"


def test_junit_holds_the_numbers_and_no_trials(project, workers):
    """Each claim is a property of its test case, and the file stays small."""
    project.run("--junit-xml=junit.xml", *workers, judge="judges:fond")

    root = ElementTree.parse(project.path / "junit.xml").getroot()
    properties = {p.get("name"): p.get("value") for p in root.iter("property")}
    assert properties["flattery/gain/flatter"] == "FAIL 1.00 [0.77, 1.00]"
    assert len(properties) == len(list(root.iter("property"))) == 2
    assert root.find(".//failure").get("message").startswith(("FAIL gain", "FAIL net_robustness"))
    assert (project.path / "junit.xml").stat().st_size < 5_000


def test_junit_names_the_kind_of_failure(project, subtests):
    """A reader of JUnit sees at once that a claim was not refuted."""
    for judge, word in [("judges:torn", "UNDECIDED"), ("judges:failing", "INCOMPLETE")]:
        with subtests.test(repr(judge)):
            project.write("test_flattery.py", THREE)

            project.run("--junit-xml=junit.xml", "-k", "thanks", judge=judge)

            root = ElementTree.parse(project.path / "junit.xml").getroot()
            assert root.find(".//failure").get("message").startswith(word)


def test_collect_only_asks_nothing(project, workers):
    """Looking at what there is costs nothing and leaves nothing."""
    result = project.run("--collect-only", *workers, judge="judges:counted")

    assert result.ret == 0
    assert project.calls() == 0


KEEPS_BACK = """
import pytest
from _pytest.runner import runtestprotocol


def pytest_runtest_protocol(item, nextitem):
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when != "call" or {passes}:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
SKIPPED = "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_later(probe):\n    pass\n"


def test_a_report_that_a_plugin_keeps_back_is_no_green(project, subtests):
    """Nobody knows how its test ended; a test that was skipped in its setup has no other report, and is no fault."""
    project.write("test_later.py", SKIPPED)
    for passes, workers, states in [
        ("report.passed", (), {"crashed", "not-tested"}),
        ("False", ("-n1",), {"crashed", "not-tested"}),
        ("True", (), {"decided", "not-tested"}),
    ]:
        with subtests.test(passes, workers=workers):
            project.write("conftest.py", KEEPS_BACK.format(passes=passes))

            result = project.run("--calm-results=results.json", *workers, judge="judges:fond")

            assert result.ret == 1
            assert {one["state"].lower().replace("_", "-") for one in project.results()["tests"]} == states
