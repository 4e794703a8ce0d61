"""A probe that is used wrongly never makes a green run."""

import pytest

HEAD = "import pytest\nfrom calm import gain, net_robustness, readable_rate\nfrom edits import flatter, greet\n\n\n"


def run(project, body, *options, judge="judges:fond"):
    project.write("test_flattery.py", f"{HEAD}def test_it(probe):\n{body}")
    return project.run(*options, judge=judge)


@pytest.mark.parametrize(
    "body",
    [
        "    assert not probe(flatter).proves(gain <= 0.10)\n",
        "    assert probe(flatter).proves(gain <= 0.10) or True\n",
        "    assert probe(flatter).proves(gain <= 0.10) is not None\n",
        "    try:\n        assert probe(flatter).proves(gain <= 0.10)\n    except AssertionError:\n        pass\n",
        "    with pytest.raises(AssertionError):\n        assert probe(flatter).proves(gain <= 0.10)\n",
    ],
    ids=["assert-not", "or-true", "is-not-none", "swallowed", "raises"],
)
def test_a_failed_claim_in_a_test_that_passes_is_an_error(project, workers, body):
    """Whatever turns the truth of a failed claim round is an error at teardown, and says what is allowed."""
    result = run(project, body, *workers)

    assert result.ret == 1
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the test passed although a claim of it did not: FAIL gain <= 0.10*xfail*"])


def test_a_skip_after_a_failed_claim_does_not_hide_it(project, workers):
    """A test that skips itself once it knows the answer is red all the same."""
    result = run(project, "    if not probe(flatter).proves(gain <= 0.10):\n        pytest.skip('later')\n", *workers)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["flattery/gain/flatter: FAIL gain <= 0.10*"])


def test_a_claim_that_nobody_looked_at_is_an_error(project, workers):
    """A forgotten assert is said, even where the claim holds."""
    result = run(project, "    probe(flatter).proves(gain <= 0.10)\n", *workers, judge="judges:gold")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*a claim was decided and never asserted: write `assert probe(flatter).proves(...)`*"])


def test_a_question_that_was_never_ended_is_an_error(project, workers):
    """An edit put to nobody is said."""
    result = run(project, "    probe(flatter)\n", *workers, judge="judges:gold")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*probe(flatter) was never decided: end it with .proves(...)*"])


def test_the_truth_of_a_question_is_an_error(project):
    """`assert probe(edit)` forgets the claims."""
    result = run(project, "    assert probe(flatter)\n", judge="judges:gold")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*ClaimError: probe(flatter) has no truth of its own*"])


def test_proves_without_being_called_is_an_error(project):
    """`assert probe(edit).proves` is the truth of a method."""
    result = run(project, "    assert probe(flatter).proves\n", judge="judges:gold")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*was never decided*"])


def test_a_probe_that_was_never_used_is_an_error(project, workers):
    """A test that takes the fixture and asks nothing proves nothing."""
    result = run(project, "    assert True\n", *workers, judge="judges:gold")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the test takes `probe` and never uses it: it proves nothing*"])


def test_a_failing_test_gets_no_second_error(project):
    """A test that failed by itself is not told off for its probe, too."""
    result = run(project, "    probe(flatter)\n    assert 1 == 2\n", judge="judges:gold")

    result.assert_outcomes(failed=1)


def test_two_tests_with_one_key_are_red(project, workers):
    """A key stands for one finding: a second test with the same edit and measure is an error that names both."""
    project.write("test_second.py", f"{HEAD}def test_again(probe):\n    assert probe(flatter).proves(gain <= 0.30)\n")

    result = project.run(*workers, judge="judges:gold")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["two findings with one key: flattery/gain/flatter, by test_*.py::test_* and by test_*.py::test_*"]
    )


def test_two_findings_of_one_test_with_one_key_are_red(project, workers):
    """The second claim would replace the first in the record."""
    body = (
        "    assert probe(flatter).proves(gain <= 0.10)\n"
        "    assert probe(flatter, cases=probe.setup.cases[:80]).proves(gain <= 0.10)\n"
    )

    result = run(project, body, *workers, judge="judges:gold")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["two findings with one key: flattery/gain/flatter, both by test_flattery.py::test_it"])


def test_an_observation_does_not_replace_a_claim(project):
    """Observing what was claimed is said, and the claim's finding is not lost without a word."""
    body = "    assert probe(flatter).allows(gain <= 0.10)\n    probe(flatter).observe(gain)\n"

    result = run(project, body, judge="judges:torn")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["two findings with one key: flattery/gain/flatter, both by *"])


def test_two_claims_about_one_edit_share_what_the_engine_adds(project):
    """Two questions that both need the readability of replies are no clash."""
    body = (
        "    assert probe(flatter).proves(gain <= 0.10)\n"
        "    assert probe(flatter).proves(net_robustness >= 0.90)\n"
        "    probe().observe(readable_rate)\n"
    )

    assert run(project, body, judge="judges:gold").ret == 0
