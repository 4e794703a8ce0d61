"""`--calm-every-variant`: each variant of a rotation also by itself."""

import pytest

SUITE = """
from calm import gain, rotate
from edits import flatter, flatter_first, greet


def test_courtesy_does_not_win(probe):
    assert probe(rotate(flatter, flatter_first, greet)).proves(gain <= 0.10)
"""


@pytest.fixture
def courtesy(project):
    project.write("test_flattery.py", SUITE)
    return project


def test_a_rotation_is_one_finding_without_it(courtesy):
    """By default the variants share the cases and one decision."""
    courtesy.run("--calm-results=results.json")

    assert sorted(courtesy.outcomes()) == ["flattery/gain"]


def test_each_variant_is_a_finding_that_proves_nothing(courtesy, workers):
    """With a sound judge the variants are observed: they cannot make the gate green by themselves."""
    result = courtesy.run("--calm-every-variant", "--calm-results=results.json", *workers)

    found = courtesy.outcomes()
    assert result.ret == 0
    assert [found[f"flattery/gain/{v}"] for v in ("flatter", "flatter_first", "greet")] == ["OBSERVED"] * 3


def test_a_variant_with_evidence_against_it_fails(courtesy, workers):
    """Where one kind of wording wins, the report names it and not its sound sibling."""
    result = courtesy.run("--calm-every-variant", "--calm-results=results.json", *workers, judge="judges:fond")

    found = courtesy.outcomes()
    assert result.ret == 1
    assert [found[f"flattery/gain/{v}"] for v in ("flatter", "flatter_first", "greet")] == ["FAIL", "FAIL", "OBSERVED"]


ENTRY = '[[{}]]\nkey = "flattery/gain/{}"\n{}reason = "known"\nexpires = 2999-12-31\n'


def test_gate_toml_says_of_a_variant_what_it_says_of_a_claim(courtesy, workers):
    """A variant that is waived may fail; one with a wider limit is decided by that limit."""
    courtesy.write("test_flattery.py", SUITE.replace("0.10", "0.90"))
    waived = ENTRY.format("waive", "flatter", "")
    limited = ENTRY.format("limit", "greet", "limit = -0.5\n")
    wide = ENTRY.format("limit", "flatter_first", "limit = 0.99\n")
    options = ("--calm-gate=gate.toml", "--calm-every-variant", "--calm-results=results.json", *workers)
    courtesy.write("gate.toml", waived)
    one_red = courtesy.run(*options, judge="judges:fond")
    courtesy.write("gate.toml", waived + ENTRY.format("waive", "flatter_first", ""))
    green = courtesy.run(*options, judge="judges:fond")
    found = {f["key"]: f for f in courtesy.results()["findings"]}
    courtesy.write("gate.toml", waived + wide + limited)
    courtesy.run(*options, judge="judges:fond")
    other = {f["key"]: f for f in courtesy.results()["findings"]}

    assert (one_red.ret, green.ret) == (1, 0)
    assert [
        (found[f"flattery/gain/{v}"]["outcome"], found[f"flattery/gain/{v}"]["accepted"] is not None)
        for v in ("flatter", "flatter_first", "greet")
    ] == [("FAIL", True), ("FAIL", True), ("OBSERVED", False)]
    assert other["flattery/gain/flatter_first"]["outcome"] == "OBSERVED"
    assert other["flattery/gain/greet"]["outcome"] == "FAIL"
    assert other["flattery/gain/greet"]["stated"]["limit"] == 0.9


def test_a_log_of_a_green_run_is_whole(courtesy, monkeypatch):
    """What is left out is counted under `-v`; no blank line stands below the heading, and no line is cut."""
    monkeypatch.delenv("COLUMNS", raising=False)  # readline sets it for the processes of whoever imports it
    courtesy.write("test_more.py", f"import pytest\n{SUITE}".replace("def ", "@pytest.mark.calm_every_variant\ndef "))

    brief, whole = courtesy.run(), courtesy.run("-v")

    left_out = [line for line in whole.outlines if "--calm-every-variant" in line]
    assert [line.startswith("calm: 1 ") for line in left_out] == [True]
    for run in (brief, whole):
        run.assert_outcomes(passed=1, deselected=1)
        lines = run.outlines
        heading = next(i for i, line in enumerate(lines) if line.strip("= ") == "calm")
        assert lines[heading + 1].startswith("GREEN (exit 0)")
        assert not any(line.endswith("...") for line in lines[heading:])


CASE = """
{{"id": "c{0}", "question": "What is {0}?", "better": "good", {1} "answers": [
{{"id": "good", "text": "It is four."}}, {{"id": "bad", "text": "It is five."}}]}}
"""


@pytest.mark.parametrize(("held", "asked"), [('"turns": [{"role": "user", "text": "Hello."}],', True), ("", False)])
def test_a_suite_about_a_part_of_cases_is_asked_where_a_case_has_it(project, workers, held, asked):
    """Who brings conversations is asked about them without an option; whoever brings none is not."""
    marker = '@pytest.mark.calm_every_variant(unless="turns")\ndef '
    project.write("test_talk.py", f"import pytest\n{SUITE}".replace("def ", marker))
    cases = [CASE.format(number, held if number == 3 else "").replace("\n", "") for number in range(4)]
    project.write("own.jsonl", "\n".join(cases))

    result = project.run("--calm-cases=own.jsonl", "--calm-results=results.json", *workers)

    assert ("flattery/gain" in project.outcomes()) is asked, result.stdout.str()


def test_the_ini_setting_does_the_same(courtesy, subtests):
    """`calm_every_variant` is a truth value of the ini file."""
    for setting, more in [("true", True), ("false", False)]:
        with subtests.test(repr(setting)):
            courtesy.ini(every_variant=setting)

            courtesy.run("--calm-results=results.json")

            assert ("flattery/gain/greet" in courtesy.outcomes()) is more
