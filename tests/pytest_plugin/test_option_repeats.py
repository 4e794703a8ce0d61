"""`--calm-repeats K+M`: clean and perturbed asks a case."""

import pytest


def trials(project, measure):
    return next(f["trials"] for f in project.results()["findings"] if f["measure"] == measure)


def asks(project, *options, judge="judges:gold"):
    project.run("--calm-results=results.json", *options, judge=judge)
    body = project.results()
    return body["repeats"], {f["asks"] for f in body["findings"]}


def test_the_default_is_two_and_one(project, workers):
    """Two clean asks and one perturbed one, where they decide."""
    assert asks(project, *workers) == ("2+1", {"2+1"})


def test_undecided_claims_are_topped_up(project):
    """What one perturbed ask leaves undecided gets a second, then as many clean and inert asks again."""
    assert asks(project, judge="judges:torn") == ("2+1", {"4+2"})
    found = {(len(t["clean"]), len(t["inert"]), len(t["perturbed"])) for t in trials(project, "gain")}
    assert found == {(4, 4, 2)}


@pytest.mark.parametrize("repeats", ["2+1", "3+3"])
def test_the_option_sets_the_arms(project, workers, repeats):
    """The record holds as many verdicts an arm as were asked for, and as many of inert words as of the edit."""
    project.run(f"--calm-repeats={repeats}", "--calm-results=results.json", *workers)

    clean, perturbed = map(int, repeats.split("+"))
    found = {(len(t["clean"]), len(t["inert"]), len(t["perturbed"])) for t in trials(project, "net_robustness")}
    assert found == {(clean, perturbed, perturbed)}


def test_a_measure_that_needs_more_asks_is_not_tested_with_the_reason(project):
    """How far a judge agrees with itself takes two clean asks; what an edit moves beyond inert words takes one."""
    project.write(
        "test_second.py",
        "from calm import consistency_rate\n\n\n"
        "def test_second(probe):\n    assert probe().proves(consistency_rate >= 0.75)\n",
    )

    project.run("--calm-repeats=1+1", "--calm-results=results.json")

    findings = {f["measure"]: f for f in project.results()["findings"]}
    assert findings["consistency_rate"]["outcome"] == "NOT_TESTED"
    assert "--calm-repeats gives 1+1" in findings["consistency_rate"]["reason"]
    assert (findings["net_robustness"]["outcome"], findings["net_robustness"]["asks"]) == ("PASS", "1+1")


def test_the_ini_setting_does_the_same(project):
    """`calm_repeats` in the ini file sets both arms."""
    project.ini(repeats="3+3")

    assert asks(project) == ("3+3", {"3+3"})
