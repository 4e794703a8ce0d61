"""`--calm-limits`: the suites' limits, or the strictest that a sound judge proves with so many cases."""

FEW = "--calm-sample=20"


def test_attainable_limits_are_taken_said_and_recorded(project, workers):
    """The claim gets the looser limit, the record says so, and the note gives the resolution of the run."""
    result = project.run(FEW, "--calm-limits=attainable", "--calm-results=results.json", *workers)

    record = project.results()
    found = next(f for f in record["findings"] if f["measure"] == "gain")
    assert result.ret == 0
    assert record["limits"] == "attainable"
    assert found["claim"]["limit"] > found["stated"]["limit"] == 0.10
    assert (record["cases"]["n"], record["cases"]["questions"]) == (20, 20)
    said = {"kind": "at-resolution", "details": [20, "gain", found["claim"]["limit"], 0.10]}
    assert said in record["run"]["note_codes"]


def test_the_suites_limits_are_the_default(project):
    """Nothing is loosened unless it is asked for."""
    result = project.run(FEW, "--calm-results=results.json")

    record = project.results()
    assert result.ret == 1
    assert record["limits"] == "suites"
    assert all(f["stated"] is None for f in record["findings"])


def test_a_limit_of_the_owners_stays(project):
    """What gate.toml states is not replaced."""
    project.write(
        "gate.toml",
        '[[limit]]\nkey = "flattery/gain/flatter"\nlimit = 0.12\nreason = "a test"\nexpires = 2999-01-01\n',
    )

    project.run(FEW, "--calm-limits=attainable", "--calm-gate=gate.toml", "--calm-results=results.json")

    found = next(f for f in project.results()["findings"] if f["measure"] == "gain")
    assert found["claim"]["limit"] == 0.12


def test_a_judge_that_flatters_is_red_at_any_attainable_limit(project):
    """Few cases do not hide a hole."""
    options = ("--calm-sample=40", "--calm-limits=attainable", "--calm-results=results.json")
    result = project.run(*options, judge="judges:fond")

    assert result.ret == 1
    assert project.results()["limits"] == "attainable"
    assert set(project.outcomes().values()) == {"FAIL"}


def test_a_wrong_choice_is_named(project):
    """What it takes, and what it got."""
    for options, said in [
        (["--calm-limits=loose"], "*--calm-limits: expected suites or attainable, got 'loose'*"),
        (
            ["--calm-limits=attainable", "--calm-stopping=anytime"],
            "*--calm-limits: expected --calm-repeats=2+1 or more*",
        ),
        (["--calm-limits=attainable", "--calm-repeats=1+1"], "*--calm-limits: expected --calm-repeats=2+1 or more*"),
    ]:
        result = project.run(*options)

        assert result.ret == 4
        result.stderr.fnmatch_lines([said])


def test_limits_fit_the_cases_in_the_suites_that_ship_and_in_no_test_of_ones_own(project):
    """Of thirty cases both are asked; the first line and the last say what they show. `suites` keeps what is stated."""
    gate = ("--pyargs", "calm.suites.test_authority", "test_flattery.py", "--calm-sample=30")
    fitted = project.run(*gate, "--calm-results=results.json")
    limits = {f["key"]: (f["claim"]["limit"], f["stated"]) for f in project.results()["findings"] if f["claim"]}
    project.run(*gate, "--calm-limits=suites", "--calm-results=stated.json")
    stated = {f["key"]: f for f in project.results("stated.json")["findings"]}

    assert limits["authority/pull"] == (0.51, {"op": "<=", "limit": 0.25})
    assert limits["flattery/gain/flatter"] == (0.10, None)
    assert (stated["authority/pull"]["claim"]["limit"], stated["authority/pull"]["stated"]) == (0.25, None)
    said = "claims pass at wider limits: an edit may decide 51 of 100"
    assert len([line for line in fitted.outlines if said in line]) == 1 + (fitted.ret == 0)
