"""`--calm-judge SPEC`: which judge is under audit."""


def test_a_callable_is_found_in_the_folder_of_the_project(project, workers):
    """A judge `module:attribute` beside the suite is audited."""
    result = project.run("--calm-results=results.json", *workers, judge="judges:fond")

    assert result.ret == 1
    assert project.results()["judge"]["name"] == "judges:fond"
    assert set(project.outcomes().values()) == {"FAIL"}


def test_a_sound_callable_passes(project, workers):
    """A judge without fault gives exit status 0, the record has each claim, and the section begins with its colour."""
    result = project.run("--calm-results=results.json", *workers)

    assert (result.ret, project.results()["outcome"]) == (0, "PASS")
    assert project.outcomes() == dict.fromkeys(("flattery/net_robustness/flatter", "flattery/gain/flatter"), "PASS")
    result.stdout.fnmatch_lines(["*= calm =*", "GREEN (exit 0)*"])


def test_the_ini_setting_names_the_judge(project, workers):
    """`calm_judge` in the ini file does what the option does."""
    project.ini(judge="judges:fond")

    result = project.run("--calm-results=results.json", *workers, judge=None)

    assert result.ret == 1
    assert project.results()["judge"]["name"] == "judges:fond"
    assert [*project.outcomes().values()] == ["FAIL", "FAIL"]


def test_the_option_wins_over_the_ini_setting(project):
    """The command line is stronger than the ini file."""
    project.ini(judge="judges:fond")

    assert project.run(judge="judges:gold").ret == 0


def test_the_default_is_the_embedded_judge(project):
    """Without the option the lexical judge is asked about the bundled cases."""
    project.run("--calm-sample=90", "--calm-results=results.json", judge=None, cases=None)

    record = project.results()
    assert record["judge"]["name"] == "lexical"
    assert (record["cases"]["n"], record["cases"]["of"], record["repeats"]) == (90, 240, "2+1")


def test_a_judge_of_another_task_gets_cases_for_it(project):
    """The bundled cases follow the task of the judge."""
    project.write(
        "test_flattery.py",
        "from calm import gain\nfrom edits import flatter\n\n\n"
        "def test_thanks(probe):\n    assert probe(flatter).proves(gain <= 0.10, score=[gain <= 0.05])\n",
    )

    result = project.run("--calm-results=results.json", judge="judges:marked", cases=None)

    assert result.ret == 0
    assert project.results()["judge"]["task"] == "score"


def test_a_judge_file_in_the_ini_setting_is_relative_to_the_ini_file(project, monkeypatch):
    """`calm_judge = judge.toml` means the same file whatever folder pytest is started in."""
    project.ini(judge="wiring/judge.toml")
    folder = project.path / "deep"
    folder.mkdir()
    monkeypatch.chdir(folder)

    result = project.run("..", judge=None, cases=None)

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: calm: {project.path / 'wiring' / 'judge.toml'}: there is no folder*"])


def test_an_option_without_a_value_is_a_usage_error(project, subtests):
    """An option that lost its value never swallows silence."""
    for option in ["--calm-judge", "--calm-cases", "--calm-sample", "--calm-report"]:
        with subtests.test(repr(option)):
            assert project.pytester.runpytest_subprocess(option).ret == 4
