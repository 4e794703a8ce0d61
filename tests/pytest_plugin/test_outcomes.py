"""What a run reports: categories, the first line of the section, the exit status."""

NOTE = """
from calm import net_robustness
from edits import remind


def test_a_note_does_not_move_the_verdict(probe):
    assert probe(remind).proves(net_robustness >= 0.90)
"""

FOR_SCORES = """
from calm import gain
from edits import flatter


def test_thanks(probe):
    assert probe(flatter).proves(score=[gain <= 0.05])
"""


UNSEEN = "the judge is not shown the notes: add 'notes' to the `reads` of its code"


def test_not_tested_is_skipped_with_the_reason(project, workers):
    """An edit that the judge cannot see is a skip, named with its bias in the section, and with its reason."""
    project.write("test_reminder.py", NOTE)

    result = project.run("-v", "--calm-results=results.json", *workers)

    (left,) = [f for f in project.results()["findings"] if f["outcome"] == "NOT_TESTED"]
    assert result.ret == 0
    assert (left["key"], left["reason_code"]["kind"]) == ("reminder/net_robustness/remind", "not-read")
    result.stdout.fnmatch_lines(["*= calm =*", "GREEN (exit 0): *", "*not tested: reminder*"])
    assert UNSEEN in str(result.stdout)
    result.stdout.fnmatch_lines(["*1 passed*1 not tested*"])


def test_a_run_that_proved_nothing_is_not_green(project, always_workers):
    """If all is NOT_TESTED the exit status is 1."""
    project.write("test_flattery.py", NOTE)

    result = project.run("--calm-results=results.json", *always_workers)

    assert result.ret == 1
    assert project.results()["outcome"] == "INCOMPLETE"
    result.stdout.fnmatch_lines(
        [
            "NOT GREEN (exit 1): no claim passed",
            "*not tested: reminder*",
        ]
    )


def test_a_run_in_which_nothing_was_claimed_is_not_green(project, workers):
    """Claims for another kind of verdict are no claims: exit status 1, and the reason."""
    project.write("test_flattery.py", FOR_SCORES)

    result = project.run(*workers)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*= calm =*", "*no claim passed*"])


def test_a_run_that_only_observes_is_not_green(project):
    """Measuring without a limit proves nothing."""
    project.write(
        "test_flattery.py",
        "from calm import gain\nfrom edits import flatter\n\n\n"
        "def test_dose(probe):\n    assert probe(flatter).observe(gain)[gain].value < 2\n",
    )

    assert project.run().ret == 1


def test_ordinary_tests_beside_the_gate_do_not_make_it_green(project):
    """Green unit tests in the same run do not stand in for a proof."""
    project.write("test_flattery.py", NOTE)
    project.write("test_units.py", "def test_sum():\n    assert 1 + 1 == 2\n")

    assert project.run().ret == 1


def test_a_judge_whose_code_always_fails_ends_the_run_and_says_why(project, workers):
    """After its first cases; its exception reaches the terminal without its escapes."""
    result = project.run("--color=no", *workers, judge="judges:broken")

    text = f"{result.stdout}{result.stderr}"
    assert result.ret == 4
    assert "12 of its first 12 asks gave no verdict" in text
    assert "judges.py, line " in text
    assert "RuntimeError: no answer" in text
    assert "\x1b" not in text
    assert "INTERNALERROR" not in text


def test_controls_that_are_not_decided_keep_the_gate_red(project):
    """Without sensitivity a constant judge could pass."""
    project.write(
        "test_sensitivity.py",
        "from calm import Expects, net_detection, perturbation\n\n\n"
        "@perturbation(bias='sensitivity', expects=Expects.WORSE)\n"
        "def nothing_to_break(case, rng):\n    return None\n\n\n"
        "def test_noticed(probe):\n    assert probe(nothing_to_break).proves(net_detection >= 0.60)\n",
    )

    result = project.run()

    assert result.ret == 1
    result.stdout.fnmatch_lines(["NOT GREEN (exit 1): the control sensitivity *"])


def test_an_edit_that_changes_nothing_is_an_error(project, workers):
    """A bug in an edit is a failed test with the reason, never a green one."""
    project.write(
        "test_flattery.py",
        "from calm import Expects, gain, perturbation\n\n\n"
        "@perturbation(bias='flattery', expects=Expects.NOT_BETTER)\n"
        "def idle(case, rng):\n    return case\n\n\n"
        "def test_idle(probe):\n    assert probe(idle).proves(gain <= 0.10)\n",
    )

    result = project.run(*workers)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*EditError: perturbation idle returned case c*unchanged*"])


MANY = """
from dataclasses import replace

import pytest
from calm import Expects, gain, net_robustness, perturbation, rotate, worst_gain
from edits import flatter, flatter_first, greet


def made(name, words):
    @perturbation(bias="courtesy", expects=Expects.NOT_BETTER)
    def add(case, rng):
        return case.edit(case.target, lambda text: f"{text} {words}")

    return replace(add, name=name)


@pytest.mark.parametrize("name", ["one", "two", "three", "four"])
def test_courtesy_does_not_win(probe, name):
    assert probe(made(name, f"So much for number {name}.")).proves(net_robustness >= 0.90, gain <= 0.15)


def test_thanks_do_not_win(probe):
    assert probe(rotate(flatter, flatter_first, greet, name="thanks")).proves(gain <= 0.15, worst_gain <= 0.30)
"""


def test_all_of_a_run_goes_from_all_probes_to_variants(project, workers):
    """With -v: what fails first, of all probes, of a probe, of its worst variant; then what holds of all probes."""
    project.write("test_flattery.py", MANY)

    options = ("-v", "--color=no", "--calm-stopping=fixed", "--calm-results=results.json")
    result = project.run(*options, *workers, judge="judges:fond")

    record, lines = project.results(), str(result.stdout).partition("= calm =")[2].splitlines()
    found = {f["key"]: f for f in record["findings"]}
    shown = [line.partition(": ")[0] for line in lines if line.partition(" ")[0] in ("FAIL", "PASS")]
    failed = ["run/gain", "flattery/gain/thanks", "flattery/worst_gain/thanks"]
    assert shown == [
        *(f"FAIL {key}" for key in failed),
        "PASS run/net_robustness",
        "PASS run/unreadable_gain",
    ]
    assert {key for key, one in found.items() if one["outcome"] == "FAIL"} == {*failed}
    assert found["run/net_robustness"]["reason_code"] == {"kind": "over-rows", "details": [400, 4]}
    assert found["flattery/worst_gain/thanks"]["reason_code"] == {"kind": "worst", "details": [3, "flatter"]}
    assert len([line for line in lines if line.startswith("  worst_gain <= 0.30: ")]) == 1
    assert {"kind": "repeats-itself", "details": [100]} in record["run"]["note_codes"]
