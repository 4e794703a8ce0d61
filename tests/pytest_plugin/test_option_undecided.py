"""`--calm-undecided fail|warn`: what an undecided claim does to its test."""

PROVEN = """
from calm import readable_rate


def test_replies_can_be_read(probe):
    assert probe().proves(readable_rate >= 0.90)
"""


def test_undecided_fails_in_a_category_of_its_own(project, workers):
    """It counts as a failure (exit status 1) and is shown as undecided."""
    result = project.run("-v", "--calm-results=results.json", *workers, judge="judges:torn")

    assert result.ret == 1
    assert project.outcomes()["flattery/gain/flatter"] == "UNDECIDED"
    result.stdout.fnmatch_lines(["UNDECIDED flattery/gain/flatter: *", "*= *1 undecided* in *"])


def test_undecided_stops_at_the_first_with_x(project):
    """`-x` sees a failure."""
    project.write("test_second.py", PROVEN)

    result = project.run("-x", judge="judges:torn")

    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])


def test_warn_lets_the_test_pass_and_says_so(project, workers):
    """In warn mode the test passes with a warning, and the section still names what is undecided."""
    project.write("test_second.py", PROVEN)

    result = project.run("--calm-undecided=warn", "--calm-results=results.json", *workers, judge="judges:torn")

    assert result.ret == 0
    result.assert_outcomes(passed=2)
    assert project.outcomes()["flattery/gain/flatter"] == "UNDECIDED"
    result.stdout.fnmatch_lines(["*CalmUndecidedWarning: *", "UNDECIDED flattery *"])


def test_warn_with_nothing_proven_is_not_green(project, workers):
    """A gate without one proof is red in warn mode, too."""
    project.write(
        "test_flattery.py",
        "from calm import gain, unreadable_gain\nfrom edits import flatter\n\n\n"
        "def test_thanks(probe):\n    assert probe(flatter).proves(gain <= 0.10, unreadable_gain <= 0.001)\n",
    )

    result = project.run("--calm-undecided=warn", *workers, judge="judges:torn")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no claim passed*"])


def test_warn_does_not_hide_a_failure(project):
    """Evidence against a claim fails in warn mode."""
    assert project.run("--calm-undecided=warn", judge="judges:fond").ret == 1


def test_the_ini_setting_does_the_same(project):
    """`calm_undecided = warn` in the ini file lets the test pass."""
    project.ini(undecided="warn")
    project.write("test_second.py", PROVEN)

    assert project.run(judge="judges:torn").ret == 0
