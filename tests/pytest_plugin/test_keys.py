"""Each finding of a run has a key of its own: tests that make one twice are refused before the first call."""

import pytest

from tests.lanes import slow

HEAD = """
import pytest
from dataclasses import replace

from calm import gain, net_robustness, own_pull, readable_rate, rotate
from edits import flatter, greet, remind


"""
SAME_EDIT = """
def test_a(probe):
    assert probe(flatter).proves(gain <= 0.10)


def test_b(probe):
    assert probe(flatter).allows(gain <= 0.20)
"""
OBSERVED = """
def test_a(probe):
    assert probe(flatter).proves(gain <= 0.10)


def test_b(probe):
    probe(flatter).observe(gain)
"""
NO_EDIT = """
def test_a(probe):
    probe().observe(readable_rate)


def test_b(probe):
    probe().observe(readable_rate)
"""
PARAMETERS = """
@pytest.mark.parametrize("count", [40, 60])
def test_of_parameters(probe, cases, count):
    assert probe(flatter, cases=cases[:count]).proves(gain <= 0.10)
"""
CROSSED = """
def test_a(probe):
    assert probe.cross().proves(own_pull <= 0.15)


def test_b(probe):
    assert probe.cross().proves(own_pull <= 0.20)
"""
IN_ONE_TEST = """
def test_both(probe, cases):
    assert probe(flatter, cases=cases[:40]).proves(gain <= 0.10)
    assert probe(flatter).proves(gain <= 0.10)
"""
CLASHES = {
    name: text
    for name, text in globals().items()
    if name in ("SAME_EDIT", "OBSERVED", "NO_EDIT", "PARAMETERS", "CROSSED", "IN_ONE_TEST")
}
VARIANT = """
def test_a(probe):
    assert probe(rotate(flatter, greet)).proves(gain <= 0.10)


def test_b(probe):
    assert probe({}).proves(gain <= 0.10)
"""
RENAMED = 'replace(greet, name="greet_alone")'


@pytest.mark.parametrize("name", CLASHES)
def test_a_finding_that_two_questions_make_is_refused_before_the_first_call(project, name):
    """By two tests with one edit, or none, by one test with several parameters, by a cross, or within one test."""
    project.write("test_flattery.py", HEAD + CLASHES[name])

    result = project.run(judge="judges:counted")

    assert (result.ret, project.calls()) == (4, 0), result.stdout.str()


def test_it_is_refused_in_workers_too(project):
    """No worker makes a call."""
    project.write("test_flattery.py", HEAD + SAME_EDIT)

    result = project.run("-n2", judge="judges:counted")

    assert (result.ret, project.calls()) == (4, 0), result.stdout.str()


@pytest.mark.parametrize("how", [slow(("--calm-lookahead=0",)), "lookahead"], ids=["option", "marker"])
def test_without_a_look_ahead_the_second_question_is_not_asked(project, how):
    """What no trace could tell is known before it is asked: the run is red, and a record holds one finding."""
    text = SAME_EDIT if how != "lookahead" else SAME_EDIT.replace("def ", "@pytest.mark.calm(lookahead=False)\ndef ")
    project.write("test_flattery.py", HEAD + text)

    result = project.run("--calm-results=results.json", *(how if how != "lookahead" else ()), judge="judges:counted")

    asked = project.calls()
    project.run("-k", "test_a", "--calm-cache=off", judge="judges:counted")
    assert result.ret == 1
    assert project.calls() == 2 * asked
    assert project.outcomes()["flattery/gain/flatter"] == "PASS"


def test_one_of_two_that_is_chosen_runs(project):
    """What `-k` leaves out makes no finding."""
    project.write("test_flattery.py", HEAD + SAME_EDIT)

    assert project.run("-k", "test_a").ret == 0


def test_the_same_question_put_twice_in_one_test_makes_one_finding(project):
    """What is found is the same."""
    project.write("test_flattery.py", HEAD + IN_ONE_TEST.replace(", cases=cases[:40]", ""))

    result = project.run("--calm-results=results.json")

    assert (result.ret, list(project.outcomes())) == (0, ["flattery/gain/flatter"])


def test_a_variant_that_another_test_probes_is_refused_where_each_is_asked(project):
    """By default both run; with every variant the second has to bear a name of its own, and then both run."""
    project.write("test_flattery.py", HEAD + VARIANT.format("greet"))
    assert project.run().ret == 0

    refused = project.run("--calm-every-variant", "--calm-cache=off", judge="judges:counted")
    calls = project.calls()
    project.write("test_flattery.py", HEAD + VARIANT.format(RENAMED))
    renamed = project.run("--calm-every-variant", "--calm-results=results.json")

    assert (refused.ret, calls, renamed.ret) == (4, 0, 0)
    assert {"flattery/gain", "flattery/gain/greet", "flattery/gain/greet_alone"} <= set(project.outcomes())


def test_files_of_one_name_make_findings_of_one_suite(project):
    """Where there is no edit, the name of the file is that of the suite, whatever its folder."""
    for folder in ("one", "two"):
        project.write(f"{folder}/__init__.py", "")
        body = f"def test_{folder}(probe):\n    probe().observe(readable_rate)\n"
        project.write(f"{folder}/test_tone.py", HEAD + body)

    one, both = (project.run(*folders, "--calm-results=results.json").ret for folders in (["one"], ["one", "two"]))

    assert (list(project.outcomes()), one, both) == (["tone/readable_rate"], 1, 4)  # nothing was claimed, so not green


@pytest.mark.parametrize("taken", ["run", "baseline"])
def test_a_bias_does_not_bear_the_name_of_what_is_said_of_all(project, taken):
    """The keys of claims about all tests together begin so: by an edit, or by the name of a file."""
    edit = f'replace(flatter, bias="{taken}")'
    project.write("test_flattery.py", f"{HEAD}def test_a(probe):\n    assert probe({edit}).proves(gain <= 0.1)\n")
    by_edit = project.run(judge="judges:counted").ret
    project.write("test_flattery.py", "")
    project.write(f"test_{taken}.py", f"{HEAD}def test_a(probe):\n    probe().observe(readable_rate)\n")
    by_file = project.run(judge="judges:counted").ret

    assert (by_edit, by_file, project.calls()) == (4, 4, 0)


def test_a_plan_refuses_it_as_the_run_does(project):
    """What a run would refuse has no price."""
    project.write("test_flattery.py", HEAD + SAME_EDIT)

    assert project.run("--calm-plan").ret == 4


def test_an_entry_about_a_finding_still_holds(project):
    """The key of a finding is what it was: gate.toml of earlier runs names it."""
    project.write("test_flattery.py", f"{HEAD}{SAME_EDIT.partition('def test_b')[0]}")
    project.write("gate.toml", '[[waive]]\nkey = "flattery/gain/flatter"\nreason = "known"\nexpires = 2999-01-01\n')

    project.run("--calm-gate=gate.toml", "--calm-results=results.json", judge="judges:fond")

    [found] = project.results()["findings"]
    assert (found["outcome"], bool(found["accepted"])) == ("FAIL", True)
