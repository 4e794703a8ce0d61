"""A probe that is used wrongly never makes a green run."""

from fnmatch import fnmatch

HEAD = """
import pytest
from dataclasses import replace

from calm import gain, net_robustness, readable_rate
from edits import flatter, greet


"""
RESULTS = "--calm-results=results.json"


def run(project, body, *options, judge="judges:fond"):
    project.write("test_flattery.py", f"{HEAD}def test_it(probe):\n{body}")
    return project.run(*options, judge=judge)


HIDDEN = {
    "assert_not": "    assert not probe({edit}).proves(gain <= 0.10)\n",
    "or_true": "    assert probe({edit}).proves(gain <= 0.10) or True\n",
    "is_not_none": "    assert probe({edit}).proves(gain <= 0.10) is not None\n",
    "swallowed": (
        "    try:\n        assert probe({edit}).proves(gain <= 0.10)\n    except AssertionError:\n        pass\n"
    ),
    "raises": "    with pytest.raises(AssertionError):\n        assert probe({edit}).proves(gain <= 0.10)\n",
}
UNUSED = {
    "forgotten": ("    probe(flatter).proves(gain <= 0.10)\n", "*was decided and never asserted: write `assert *`*"),
    "not_ended": ("    probe(flatter)\n", "*probe(flatter) was never decided: end it with .proves(...)*"),
    "truth": ("    assert probe(flatter)\n", "*ClaimError: probe(flatter) has no truth of its own*"),
    "not_called": ("    assert probe(flatter).proves\n", "*was never decided*"),
    "not_used": ("    assert True\n", "*the test takes `probe` and never uses it: it proves nothing*"),
}


def write(project, bodies):
    project.write("test_flattery.py", HEAD + "\n\n".join(f"def test_{n}(probe):\n{b}" for n, b in bodies.items()))


def test_a_failed_claim_in_a_test_that_passes_is_an_error(project, always_workers):
    """Whatever turns the truth of a failed claim round is an error at teardown, and says what is allowed."""
    own = {name: f'replace(flatter, name="{name}")' for name in HIDDEN}  # no two tests make one finding
    write(project, {name: body.format(edit=own[name]) for name, body in HIDDEN.items()})

    result = project.run("-rE", *always_workers, judge="judges:fond")

    said = "the test passed although a claim of it did not: FAIL gain <= 0.10"
    assert result.ret == 1
    result.assert_outcomes(passed=len(HIDDEN), errors=len(HIDDEN))
    assert [(said in line, "xfail" in line) for line in result.outlines if line.startswith("the test passed")] == [
        (True, True)
    ] * len(HIDDEN)


def test_a_probe_that_proves_nothing_is_an_error(project, workers):
    """A forgotten assert, an edit put to nobody, the truth of a question or a method: each is said, with its fix."""
    write(project, {name: body for name, (body, _) in UNUSED.items()})

    result = project.run(*workers, judge="judges:gold")

    assert result.ret == 1
    result.assert_outcomes(passed=4, failed=1, errors=4)
    text = str(result.stdout)
    for _, said in UNUSED.values():
        assert fnmatch(text, said)
    assert "write `assert probe(flatter).proves(...)`" in text
    assert text.count("was never decided") >= 2


def test_a_skip_after_a_failed_claim_does_not_hide_it(project, workers):
    """A test that skips itself once it knows the answer is red all the same."""
    body = "    if not probe(flatter).proves(gain <= 0.10):\n        pytest.skip('later')\n"
    result = run(project, body, RESULTS, *workers)

    assert result.ret == 1
    assert project.outcomes() == {"flattery/gain/flatter": "FAIL"}
    assert project.results()["outcome"] == "FAIL"


def test_a_failing_test_gets_no_second_error(project):
    """A test that failed by itself is not told off for its probe, too."""
    result = run(project, "    probe(flatter)\n    assert 1 == 2\n", judge="judges:gold")

    result.assert_outcomes(failed=1)


def test_tests_of_two_workers_that_make_one_finding_are_red(project):
    """Without a look ahead no worker knows what another asks: the end of the run names both, and keeps the red one."""
    project.write("test_second.py", f"{HEAD}def test_again(probe):\n    assert probe(flatter).proves(gain <= 0.30)\n")

    result = project.run(RESULTS, "-n2", "--calm-lookahead=0", judge="judges:torn")

    (fault,) = project.results()["faults"]
    kind, key, *tests = [fault["reason_code"]["kind"], *fault["reason_code"]["details"]]
    assert (result.ret, kind, key) == (1, "twice", "flattery/gain/flatter")
    assert {*tests} == {"test_flattery.py::test_thanks_do_not_win", "test_second.py::test_again"}
    assert fault["reason"] in str(result.stdout)
    assert project.outcomes()[key] == "UNDECIDED"


def test_two_claims_about_one_edit_share_what_the_engine_adds(project):
    """Two questions that both need the readability of replies are no clash."""
    body = (
        "    assert probe(flatter).proves(gain <= 0.10)\n"
        "    assert probe(flatter).proves(net_robustness >= 0.90)\n"
        "    probe().observe(readable_rate)\n"
    )

    assert run(project, body, judge="judges:gold").ret == 0


READER = """
def mine(case):
    return case.answers[0].id if case.reference is None else "tie"


mine.quick = True
"""


def test_code_that_reads_what_it_does_not_declare_ends_the_run_and_says_what_to_write(project, workers):
    """One paragraph, exit status 4, and an earlier record stays: a default would have audited another prompt."""
    project.write("reading.py", READER)
    earlier = '{"schema": "calm-results/2"}'
    project.write("results.json", earlier)

    result = project.run("--calm-results=results.json", *workers, judge="reading:mine")

    assert result.ret == 4
    assert "reads = ('question', 'answers', 'reference')" in str(result.stdout)
    assert "Traceback" not in str(result.stdout)
    assert (project.path / "results.json.before").read_text() == earlier
