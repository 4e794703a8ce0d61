"""`--calm-max-calls N`: a hard cap."""

import pytest


@pytest.mark.parametrize("cap", [1, 112, 224])
def test_no_more_calls_are_made_than_allowed(project, workers, cap):
    """The cap holds for all workers together; what is unfinished is incomplete, and the results are written."""
    result = project.run(f"--calm-max-calls={cap}", "--calm-results=results.json", *workers, judge="judges:counted")

    assert result.ret == 1
    assert project.calls() <= cap
    assert set(project.outcomes().values()) == {"INCOMPLETE"}
    for one in project.results()["findings"]:
        code = one["reason_code"]
        while code["kind"] == "counted":
            code = code["details"][1]
        assert code["kind"] == "capped"
        assert workers or code["details"] == [f"--calm-max-calls {cap}"]


def test_a_run_within_the_cap_passes(project):
    """A cap that suffices changes nothing."""
    assert project.run("--calm-max-calls=225", judge="judges:counted").ret == 0


def test_what_is_cached_is_free(project):
    """A capped run that is started again goes on where it stopped, until it is complete."""
    statuses = [project.run("--calm-max-calls=100", judge="judges:counted").ret for _ in range(3)]

    assert statuses == [1, 1, 0]
    assert project.calls() == 225


def test_an_incomplete_probe_is_shown_in_its_own_category(project):
    """It is neither a failure of the judge nor an undecided claim."""
    result = project.run("--calm-max-calls=10")

    result.stdout.fnmatch_lines(["test_flattery.py !*", "*1 incomplete*"])


def test_warn_mode_does_not_excuse_what_is_incomplete(project):
    """Missing data are red whatever is said of undecided claims."""
    assert project.run("--calm-max-calls=10", "--calm-undecided=warn").ret == 1


def test_the_ini_setting_does_the_same(project):
    """`calm_max_calls` in the ini file is the cap."""
    project.ini(max_calls="50")

    project.run(judge="judges:counted")

    assert project.calls() == 50
