"""A process that runs the plugin is somebody else's: its collector of cycles stays as it was set."""

WATCH = """
import gc

BEFORE = gc.get_threshold()
SEEN = []


def pytest_runtest_logreport(report):
    SEEN.append(gc.get_threshold())


def pytest_unconfigure(config):
    assert SEEN, "a probe ran"
    print("as it was:", set(SEEN) == {BEFORE} == {gc.get_threshold()}, gc.get_freeze_count())
"""


def test_a_gate_leaves_the_collector_as_it_was(project):
    """The thresholds hold during and after a run, and nothing is frozen."""
    project.write("conftest.py", WATCH)

    done = project.run_alone("-s")

    assert "as it was: True 0" in done.stdout
