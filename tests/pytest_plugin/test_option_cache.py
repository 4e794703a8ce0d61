"""`--calm-cache MODE` and `--calm-cache-file FILE`: what is asked again, and where replies are kept."""

import pytest

ONCE = 225
"""Asks of the suite: 45 cases, for each a pilot, two clean asks, one of inert words and one of the edit."""


def test_on_asks_once_and_never_again(project, always_workers):
    """A second run makes no call and finds the same."""
    project.run("--calm-results=one.json", *always_workers, judge="judges:counted")
    result = project.run("--calm-results=two.json", *always_workers, judge="judges:counted")

    assert project.calls() == ONCE
    assert project.decided("one.json") == project.decided("two.json")
    result.stdout.fnmatch_lines(["*; 0 calls, 225 replies from the cache*"])


def test_replay_makes_no_call(project, workers):
    """Replay finds what a run before it kept."""
    project.run("--calm-results=one.json", judge="judges:counted")

    result = project.run("--calm-cache=replay", "--calm-results=two.json", *workers, judge="judges:counted")

    assert result.ret == 0
    assert project.calls() == ONCE
    assert project.decided("one.json") == project.decided("two.json")


def test_a_miss_in_replay_is_incomplete_and_no_call(project, workers):
    """Replay of a run that asked something else is red, and still calls nobody."""
    project.run("--calm-sample=30", judge="judges:counted")
    before = project.calls()

    result = project.run("--calm-cache=replay", "--calm-results=results.json", *workers, judge="judges:counted")

    assert result.ret == 1
    assert project.calls() == before
    assert set(project.outcomes().values()) == {"INCOMPLETE"}
    found = [f["reason_code"]["details"][1] for f in project.results()["findings"]]
    assert found == [{"kind": "verdict-not-cached", "details": ["judges:counted"]}] * 2


def test_replay_without_a_cache_is_a_configuration_error(project, workers):
    """There is nothing to replay: exit status 4, and no file is made."""
    result = project.run("--calm-cache=replay", *workers)

    assert result.ret == 4
    assert "there is no cache to replay" in f"{result.stdout}{result.stderr}"
    assert not (project.path / ".calm").exists()


def test_refresh_asks_again(project, workers):
    """Refresh makes all calls anew, each once."""
    project.run(judge="judges:counted")

    project.run("--calm-cache=refresh", *workers, judge="judges:counted")

    assert project.calls() == 2 * ONCE


def test_off_keeps_nothing(project):
    """Without a cache no file is made, and the next run asks again."""
    project.run("--calm-cache=off", judge="judges:counted")
    project.run("--calm-cache=off", judge="judges:counted")

    assert project.calls() == 2 * ONCE
    assert not (project.path / ".calm").exists()


def test_a_judge_without_a_fingerprint_is_never_kept(project):
    """What a judge is cannot be told without a fingerprint: it is asked again."""
    project.run(judge="judges:forgetful")
    project.run(judge="judges:forgetful")

    assert project.calls() == 2 * ONCE


@pytest.mark.parametrize(("mode", "calls"), [("off", 2 * ONCE), ("on", ONCE)])
def test_the_ini_setting_does_the_same(project, mode, calls):
    """`calm_cache` in the ini file is the mode."""
    project.ini(cache=mode)

    project.run(judge="judges:counted")
    project.run(judge="judges:counted")

    assert project.calls() == calls


def test_the_cache_lies_in_a_private_folder_that_git_ignores(project, workers):
    """By default replies are kept in .calm, for nobody else to read or commit."""
    project.run(*workers)

    folder = project.path / ".calm"
    assert (folder / "cache.sqlite").exists()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"


def test_the_report_says_how_many_replies_the_run_did_not_make(project, workers):
    """Replies that the run made itself are no news, also where a second probe finds them; those of another run are."""
    project.run("--calm-results=one.json", *workers, judge="judges:counted")
    project.run("--calm-results=two.json", "--calm-report=two.html", *workers, judge="judges:counted")
    own, again = (project.results(name)["run"] for name in ("one.json", "two.json"))
    (at,) = [at for at, code in enumerate(again["note_codes"]) if code["kind"] == "from-cache"]

    assert "from-cache" not in {code["kind"] for code in own["note_codes"]}
    assert again["note_codes"][at]["details"] == [again["calls"]["cached"]] == [ONCE]
    assert again["notes"][at] in (project.path / "two.html").read_text("utf-8")
