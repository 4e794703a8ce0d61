"""The first disproved claim is shown while a run goes on, in the words of the report."""

import pytest

from tests.lanes import slow

TESTS = """
import pytest
from calm import accuracy, gain
from edits import flatter, greet


def test_a_greeting(probe):
    assert probe(greet).proves(gain <= 0.10)


{mark}
def test_thanks(probe):
    assert probe(flatter).proves(gain <= 0.10)


def test_the_last(probe):
    assert probe().proves(accuracy >= 0.5)
"""
FIRST = "calm: first finding: FAIL "


@pytest.fixture
def shown(project):
    """Return the lines of a run of three tests, of which the second fails; it is marked as given."""

    def run(*options, mark=""):
        project.write("test_flattery.py", TESTS.format(mark=mark))
        done = project.run_here("-v", *options, judge="judges:fond")
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("ahead", ["500", slow("0")])
def test_it_comes_before_a_later_test(shown, ahead):
    """Once, and in the words of the report."""
    lines = shown(f"--calm-lookahead={ahead}")

    said = [place for place, line in enumerate(lines) if line.startswith(FIRST)]
    last = next(place for place, line in enumerate(lines) if "::test_the_last" in line)
    assert len(said) == 1, lines
    assert said[0] < last
    sentence = lines[said[0]].removeprefix(FIRST).split(": ", 1)[1]
    assert any(sentence in line for line in lines[last:])


@pytest.mark.slow
def test_a_worker_tells_its_controller(shown):
    """It is there once, before the report."""
    lines = shown("-n2")

    said = [place for place, line in enumerate(lines) if line.startswith(FIRST)]
    assert len(said) == 1, lines
    assert said[0] < next(place for place, line in enumerate(lines) if "= calm =" in line)


def test_what_is_expected_to_fail_is_none(shown):
    """A test that is marked so makes no finding that is red."""
    assert not any(line.startswith(FIRST) for line in shown(mark="@pytest.mark.xfail"))


def test_what_comes_to_be_expected_is_none(project):
    """The mark may come from a fixture, or from the test itself before it asks."""
    text = TESTS.format(mark="").replace("def test_thanks(probe):", "def test_thanks(probe, request):")
    asks = "    assert probe(flatter).proves"
    project.write("test_flattery.py", text.replace(asks, f"    request.applymarker(pytest.mark.xfail)\n{asks}"))

    done = project.run_here("-v", judge="judges:fond")

    assert not any(line.startswith(FIRST) for line in done.stdout.splitlines())


OPEN = """
from calm import gain
from edits import flatter, flatter_first


def test_both(probe):
    assert probe(flatter).proves(gain <= {limit})
    assert probe(flatter_first).proves(gain <= 0.10)
"""
MOODY = """
from judges import known, number, thanked

@known
def moody(case):
    first = next((a.id for a in case.answers if a.text.startswith("Thank you")), None)
    return first or (thanked(case) if number(case) % 15 == 0 else None) or case.better
"""


@pytest.mark.parametrize(("limit", "said"), [("0.05", 0), ("0.3", 1)])
def test_what_a_test_never_gets_to_is_none(project, limit, said):
    """What is asked ahead of an open answer is a finding once its test gets there."""
    project.write("moody.py", MOODY)
    project.write("test_flattery.py", OPEN.format(limit=limit))

    done = project.run_here("-v", "--calm-results=results.json", judge="moody:moody")

    assert sum(line.startswith(FIRST) for line in done.stdout.splitlines()) == said
    assert any("flatter_first" in key for key in project.outcomes()) == bool(said)


def test_without_a_terminal_there_is_nothing_to_say(project):
    """A run without pytest's terminal reporter ends as any other."""
    project.write("test_flattery.py", TESTS.format(mark=""))

    assert project.run_here("-p", "no:terminal", judge="judges:fond").returncode == 1
