"""The fixture `verdict_of`: tests that are no probes ask the judge through the engine of the run."""

import re
import shutil

import pytest

PLAIN = """
from calm import Preferred


def test_the_first_case_is_judged_well(verdict_of, cases):
    assert verdict_of(cases[0]) == Preferred("good")
    assert verdict_of(cases[0], 2) == Preferred("good")
"""
PROPERTY = """
from hypothesis import given, settings

from calm.strategies import cases, edits

EDITS = ["edits:flatter", "edits:greet", "edits:remind"]


@settings(deadline=None, max_examples=40, derandomize=True, database=None)
@given(case=cases(), edit=edits(names=EDITS))
def test_no_edit_flips_the_verdict(verdict_of, case, edit):
    assert not verdict_of.flips(case, edit(case))
"""
COUNTING = (
    PROPERTY
    + """
ENTERED = []


@settings(deadline=None, max_examples=40, derandomize=True, database=None)
@given(case=cases(), edit=edits(names=EDITS))
def test_it_counts_how_often_it_is_entered(verdict_of, case, edit):
    with open("entered.txt", "a") as file:
        file.write(".")
    verdict_of(edit(case))
"""
)


@pytest.fixture
def properties(project):
    """A project with a property in place of a probe."""
    (project.path / "test_flattery.py").unlink()
    project.write("test_property.py", PROPERTY)
    return project


def said(result):
    """Return what a run printed."""
    return str(result.stdout)


def test_a_sound_judge_passes_and_the_calls_are_counted(properties, always_workers):
    """Noise of 5 % flips nothing; the line at the end says what was asked, and no gate is decided."""
    result = properties.run(*always_workers, judge="judges:noisy")

    assert result.ret == 0
    found = re.search(r"judge judges:noisy \(pairwise\), 100 cases; (\d+) calls\b", said(result))
    assert int(found[1]) > 40
    assert "no claim passed" not in said(result)
    assert "tested: " not in said(result)


def test_a_judge_with_a_bias_fails_on_the_smallest_example(properties, workers):
    """The earliest case, the one edit that it falls for, and what that edit changed."""
    result = properties.run(*workers, judge="judges:fond")

    assert result.ret == 1
    assert "case=Case(id='c000'" in said(result)
    assert "edit=edits:flatter," in said(result)
    assert "edits:flatter: answer bad: It is 2. {+Thank you for asking.+}" in said(result).replace("2.{+ ", "2. {+")
    assert re.search(r"\d+ calls\b", said(result))
    assert "crashed" not in said(result)


def test_it_can_be_asked_plainly(properties):
    """No Hypothesis is needed; each repeat index is a call."""
    properties.write("test_property.py", PLAIN)

    result = properties.run(judge="judges:counted")

    assert result.ret == 0
    assert properties.calls() == 2


def test_an_example_that_comes_again_is_not_asked_again(properties):
    """In one run with `--calm-cache=off`, too: a second property over the same examples makes no call."""
    once = PROPERTY.replace("@settings", "@seed(1)\n@settings").replace("derandomize=True, ", "")
    once = once.replace("import given", "import given, seed")
    again = once.partition("@seed(1)")[2].replace("no_edit", "again_no_edit")
    properties.write("test_property.py", once)
    properties.run("--calm-cache=off", judge="judges:counted")
    needed = properties.calls()
    (properties.path / "calls.txt").unlink()
    properties.write("test_property.py", f"{once}\n\n@seed(1){again}")

    result = properties.run("--calm-cache=off", judge="judges:counted")

    result.assert_outcomes(passed=2)
    assert properties.calls() == needed > 40


def test_what_is_cached_is_free(properties):
    """A second run makes no call."""
    properties.run(judge="judges:counted")
    once = properties.calls()

    result = properties.run(judge="judges:counted")

    assert result.ret == 0
    assert properties.calls() == once
    assert "; 0 calls" in said(result)


@pytest.mark.parametrize("cap", [1, 25])
def test_a_cap_ends_the_test_at_once(properties, cap, workers):
    """It is incomplete, no failure of the property: it is neither replayed nor shrunk, and one paragraph says why."""
    properties.write("test_property.py", PROPERTY)

    result = properties.run(f"--calm-max-calls={cap}", *workers, judge="judges:counted")

    assert result.ret == 1
    assert properties.calls() == cap
    assert "1 incomplete" in said(result)
    assert f"no reply about case c0{'00' if cap == 1 else ''}" in said(result)
    assert f"a cap was reached: --calm-max-calls {cap}" in said(result)
    for word in ("Traceback", "Falsifying", "Failing test case", "You can reproduce", "Flaky"):
        assert word not in said(result)


def test_after_a_cap_each_further_property_ends_with_its_first_example(properties):
    """No property goes on asking for what nobody answers."""
    properties.write("test_property.py", COUNTING)

    result = properties.run("--calm-max-calls=10", judge="judges:counted")

    assert "2 incomplete" in said(result)
    assert 1 <= len((properties.path / "entered.txt").read_text()) <= 11  # those of the 10 answers are free


def test_a_capped_run_goes_on_where_it_stopped(properties):
    """Started again and again it comes to its end, and nothing is paid twice."""
    whole = properties.run(judge="judges:counted")
    needed = properties.calls()
    shutil.rmtree(properties.path / ".calm")
    (properties.path / "calls.txt").unlink()

    statuses = [properties.run("--calm-max-calls=40", judge="judges:counted").ret for _ in range(-(-needed // 40))]

    assert whole.ret == statuses[-1] == 0
    assert set(statuses[:-1]) == {1}
    assert properties.calls() == needed


def test_a_judge_that_fails_ends_the_test(properties):
    """Its error is told once, and as no failure of the property."""
    result = properties.run(judge="judges:broken")

    assert result.ret == 1
    assert "1 incomplete" in said(result)
    assert "no answer \\x1b[31m today" in said(result)
    assert "Failing test case" not in said(result)


def test_a_wrong_setting_is_refused_before_the_test(properties, workers):
    """As for a probe: exit status 4, and no traceback."""
    for option, words in (("--calm-judge=nowhere:judge", "nowhere"), ("--calm-repeats=many", "--calm-repeats")):
        result = properties.run(option, *workers, judge=None)

        assert result.ret == 4
        assert words in said(result) + str(result.stderr)
        assert "Traceback" not in said(result)


def test_a_plan_says_that_it_cannot_plan_it(properties):
    """Nothing is asked."""
    result = properties.run("--calm-plan", judge="judges:counted")

    assert properties.calls() == 0
    assert "not planned: test_property.py::test_no_edit_flips_the_verdict: it asks while it runs" in said(result)


def test_a_plan_of_probes_names_it_too(project):
    """Beside what it can plan."""
    project.write("test_property.py", PROPERTY)

    result = project.run("--calm-plan", judge="judges:counted")

    assert project.calls() == 0
    assert "test_no_edit_flips_the_verdict" in said(result)


def test_it_stands_beside_a_probe_in_one_run(project, workers):
    """The gate decides about the probe; the calls of both are counted; a failing property is not green."""
    project.write("test_property.py", PROPERTY)

    good = project.run("--calm-results=good.json", *workers)
    bad = project.run("--calm-results=bad.json", *workers, judge="judges:fond")

    assert good.ret == 0
    assert project.results("good.json")["outcome"] == "PASS"
    assert bad.ret == 1
    ends = {one["node"].partition("::")[2]: one["state"] for one in project.results("bad.json")["tests"]}
    assert ends["test_no_edit_flips_the_verdict"] == "crashed"


def test_a_test_with_both_is_traced_up_to_its_first_ask(project):
    """The look-ahead asks what the probe will; the test itself decides and asks as ever."""
    project.write(
        "test_flattery.py",
        "from calm import Preferred, gain\nfrom edits import flatter\n\n\n"
        "def test_both(probe, verdict_of, cases):\n"
        "    assert verdict_of(cases[0]) == Preferred('good')\n"
        "    assert probe(flatter).proves(gain <= 0.10)\n",
    )

    result = project.run("--calm-results=results.json")

    assert result.ret == 0
    assert project.outcomes() == {"flattery/gain/flatter": "PASS"}


def test_no_text_is_shown_where_texts_are_left_out(properties):
    """`--calm-texts=none` holds for what Hypothesis prints, too."""
    result = properties.run("--calm-texts=none", judge="judges:fond")

    assert result.ret == 1
    assert "What is" not in said(result)
    assert "Thank you" not in said(result)


def test_each_folder_asks_its_own_judge(properties):
    """One fixture serves the session, and asks the judge that the test's own folder has."""
    conftest = "import pytest\n\nimport judges\n\n\n@pytest.fixture(scope='session')\ndef judge():\n    return {}\n"
    test = "def test_{0}(verdict_of, cases):\n    edited = cases[0].edit('bad', lambda t: t + ' Thank you')\n"
    for name, wins in (("gold", "good"), ("fond", "bad")):
        made = f"__import__('calm.judges.python').judges.python.PythonJudge(judges.{name})"
        properties.write(f"{name}/conftest.py", conftest.format(made))
        properties.write(
            f"{name}/test_{name}.py", f"{test.format(name)}    assert verdict_of(edited).answer == '{wins}'\n"
        )

    result = properties.run("gold", "fond", judge=None)

    result.assert_outcomes(passed=2)


def test_what_is_no_case_is_refused(properties):
    """The message says what to do."""
    properties.write(
        "test_property.py",
        "import pytest\n\nfrom calm import ClaimError, ConfigError\n\n\n"
        "def test_refused(verdict_of, cases):\n"
        "    with pytest.raises(ClaimError, match='expected a case, got str'):\n"
        "        verdict_of('a text')\n"
        "    with pytest.raises(ConfigError, match='repeat index from 1, got ask=0'):\n"
        "        verdict_of(cases[0], 0)\n",
    )

    assert properties.run().ret == 0


def test_a_fixture_of_ones_own_is_left_alone(properties):
    """A project may have a fixture of this name that has nothing to do with calm."""
    properties.write(
        "test_property.py",
        "import pytest\n\n\n@pytest.fixture\ndef verdict_of():\n    return 3\n\n\n"
        "def test_mine(verdict_of):\n    assert verdict_of == 3\n",
    )

    result = properties.run(judge=None, cases=None)

    assert result.ret == 0
    assert "= calm =" not in said(result)


MORTAL = '''
import os, signal

from judges import KNOWN, counted


def mortal(case):
    """Judge without fault, and die with its process at the 30th call, once."""
    counted(case)
    if len(open("calls.txt").readlines()) == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    return case.better

mortal.reads, mortal.fingerprint, mortal.concurrency = KNOWN, "mortal", 1
'''


def test_a_killed_run_goes_on_and_pays_nothing_twice(properties):
    """What was answered before kill -9 is in the cache; the call that it fell into is the only one made again."""
    properties.write("mortal.py", MORTAL)
    properties.run(judge="judges:counted")
    needed = properties.calls()
    (properties.path / "calls.txt").unlink()

    killed = properties.run_alone(judge="mortal:mortal")
    again = properties.run_alone(judge="mortal:mortal")

    assert killed.returncode == -9
    assert again.returncode == 0, again.stdout
    assert properties.calls() == needed + 1
