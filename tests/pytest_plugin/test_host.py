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
