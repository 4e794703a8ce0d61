"""A process that runs the plugin is somebody else's: its collector of cycles is left as it was found."""

WATCH = """
import gc

BEFORE = gc.get_threshold()
RAN = []


def pytest_runtest_logreport(report):
    RAN.append(report.nodeid)


def pytest_unconfigure(config):
    assert RAN, "a probe ran"
    print("as it was:", gc.get_threshold() == BEFORE, gc.get_freeze_count())
"""


def test_a_gate_leaves_the_collector_as_it_was(project):
    """After a run the thresholds are what they were, and nothing is frozen."""
    project.write("conftest.py", WATCH)

    done = project.run_alone("-s")

    assert "as it was: True 0" in done.stdout


TWICE = """
pytest_plugins = ["pytester"]


def test_twice(pytester):
    for _ in range(2):
        done = pytester.runpytest_inprocess("--calm-judge=lexical", "--calm-sample=x")
        assert done.ret == 4
        done.stderr.fnmatch_lines(["*--calm-sample: expected*"])
"""


def test_a_run_whose_modules_are_unloaded_is_followed_by_another(pytester):
    """The tests of somebody's plugin run pytest in their own process, and pytester unloads what a run imported."""
    pytester.makepyfile(test_twice=TWICE)

    assert pytester.runpytest_subprocess().ret == 0
