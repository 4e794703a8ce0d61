"""With `-x` one red test ends the run: what a cue does between two equal answers is asked first, as the cheapest."""

import json

import pytest

from tests.lanes import slow

FOUR = """
from calm import gain, pull, readable_rate
from edits import flatter, flatter_first, greet


def test_replies_can_be_read(probe):
    assert probe().proves(readable_rate >= 0.90)


def test_greetings_do_not_win(probe):
    assert probe(greet).proves(pull <= 0.25, gain <= 0.10)


def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(pull <= 0.25, gain <= 0.10)


def test_thanks_beforehand_do_not_win(probe):
    assert probe(flatter_first).proves(gain <= 0.10)
"""

TORN = '''

@known
def half(case):
    """Let thanks win a half of the equal pairs, and no other."""
    return (thanked(case) if case.better == "tie" and number(case) % 2 else None) or case.better


@known
def swayed(case):
    """Let thanks win where one answer is better, and between equal ones nothing."""
    return case.better if case.better == "tie" else thanked(case) or case.better
'''


@pytest.fixture
def four(project):
    """Return a project in which the third test of four fails for judges whom thanks win over."""
    project.write("judges.py", (project.path / "judges.py").read_text("utf-8") + TORN)
    project.write("test_flattery.py", FOUR)
    return project


def ran(result):
    """Return the tests that ran, in their order."""
    return [line.split("::")[1].split()[0] for line in result.outlines if "::test_" in line and "%]" in line]


def made(project):
    """Return how many calls a run made."""
    return project.results()["run"]["calls"]["made"]


@pytest.mark.parametrize("judge", ["judges:fond", "judges:half"])
def test_the_test_that_equal_answers_turn_red_runs_first(four, judge):
    """Nothing else runs, and few calls are made: 16 pilots and as many asks find where to look."""
    result = four.run("-x", "-v", "--calm-results=results.json", judge=judge)

    assert result.ret == 1
    assert ran(result) == ["test_thanks_do_not_win"]
    assert four.outcomes()["flattery/pull/flatter"] == "FAIL"
    assert not any("greet" in key for key in four.outcomes())
    asked = made(four)
    four.run("--calm-results=results.json", "--calm-cache=off", judge=judge)
    assert asked < made(four)


def test_the_finding_is_the_one_of_a_whole_run(four):
    """What was asked beforehand decides nothing by itself: claim, value, bounds and rows are the same."""
    found = []
    for options in (["-x"], []):
        four.run(*options, "--calm-results=results.json", "--calm-cache=off", judge="judges:half")
        found.append(next(f for f in four.results()["findings"] if f["key"] == "flattery/pull/flatter"))

    assert found[0] == found[1]


def test_the_order_stays_where_no_equal_answers_are_decided(four):
    """A judge without fault passes all of it, and one that a gain alone shows is stopped where the file does."""
    sound = four.run("-x", "-v")
    swayed = four.run("-x", "-v", judge="judges:swayed")

    names = [line.partition("(")[0].removeprefix("def ") for line in FOUR.splitlines() if line.startswith("def ")]
    assert (sound.ret, ran(sound)) == (0, names)
    assert (swayed.ret, ran(swayed)) == (1, names[:3])


@pytest.mark.parametrize("options", [slow([]), ["--maxfail=2"]])
def test_the_order_stays_where_more_than_one_test_may_fail(four, options):
    """All tests run, as they are written."""
    assert ran(four.run(*options, "-v", judge="judges:fond"))[0] == "test_replies_can_be_read"


def test_workers_keep_their_order(four):
    """Each has a part of the tests; the failure ends the run as ever."""
    result = four.run("-x", "-n2", "--calm-results=results.json", judge="judges:fond")

    assert result.ret != 0
    assert "FAIL" in four.outcomes().values()


def test_an_expected_failure_at_the_front_ends_nothing(four):
    """The test runs first and is no failure, so the others run, too, up to the one that is."""
    marked = FOUR.replace("def test_thanks_do", "@pytest.mark.xfail(reason='known')\ndef test_thanks_do")
    four.write("test_flattery.py", f"import pytest\n{marked}")

    result = four.run("-x", "-v", judge="judges:fond")

    assert ran(result)[0] == "test_thanks_do_not_win"
    assert ran(result)[-1] == "test_thanks_beforehand_do_not_win"
    assert result.ret == 1


def test_a_bias_between_equal_answers_costs_at_most_400_calls_to_find(pytester):
    """The default gate on 200 cases that ship, with a judge that pads its way to a win in six of ten equal pairs."""
    options = ("--calm-judge=planted:verbosity=0.6,equal=1", "--calm-cache=off", "--calm-results=results.json")

    result = pytester.runpytest_inprocess("--pyargs", "calm.suites", "-x", "-v", "--tb=no", *options)

    body = json.loads((pytester.path / "results.json").read_text("utf-8"))
    assert result.ret == 1
    assert ran(result) == ["test_padding_does_not_win"]
    assert {f["key"]: f["outcome"] for f in body["findings"]}["verbosity/pull"] == "FAIL"
    assert body["run"]["calls"]["made"] <= 400
