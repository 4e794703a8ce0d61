"""`--calm-repeats K+M`: clean and perturbed asks a case."""

import pytest


def asks(project, *options, judge="judges:gold"):
    project.run("--calm-results=results.json", *options, judge=judge)
    body = project.results()
    return body["repeats"], {f["asks"] for f in body["findings"]}


def test_the_default_is_four_and_two(project, workers):
    """Four clean asks and two perturbed ones, where they decide."""
    assert asks(project, *workers) == ("4+2", {"4+2"})


def test_undecided_claims_are_topped_up(project):
    """What two perturbed asks leave undecided is asked as often as the clean arm."""
    assert asks(project, judge="judges:torn") == ("4+2", {"4+2", "4+4"})


@pytest.mark.parametrize("repeats", ["2+1", "3+3"])
def test_the_option_sets_both_arms(project, workers, repeats):
    """The record holds as many verdicts an arm as were asked for."""
    project.run(f"--calm-repeats={repeats}", "--calm-results=results.json", *workers)

    found = {(len(t["clean"]), len(t["perturbed"])) for f in project.results()["findings"] for t in f["trials"]}
    assert found == {tuple(int(n) for n in repeats.split("+"))}


def test_a_measure_that_needs_more_asks_is_not_tested_with_the_reason(project):
    """Net robustness needs the judge's own noise, which one clean ask cannot show."""
    project.run("--calm-repeats=1+1", "--calm-results=results.json")

    findings = {f["measure"]: f for f in project.results()["findings"]}
    assert findings["net_robustness"]["outcome"] == "NOT_TESTED"
    assert "--calm-repeats gives 1+1" in findings["net_robustness"]["reason"]


def test_the_ini_setting_does_the_same(project):
    """`calm_repeats` in the ini file sets both arms."""
    project.ini(repeats="3+3")

    assert asks(project) == ("3+3", {"3+3"})
