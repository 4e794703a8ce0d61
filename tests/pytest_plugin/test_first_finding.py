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
