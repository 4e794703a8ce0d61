"""All shipped tests together, with every variant and those of the publication: each finding has a key of its own."""

from pathlib import Path

import pytest

from calm.pytest_plugin.session import SESSION
from calm.pytest_plugin.trace import Planner
from tests.inside import inside
from tests.lanes import slow

SUITES = Path(__file__).parents[2] / "suites"


class Keys(Planner):
    """Collects all that the tests would claim; no judge is asked."""

    claimed = twice = ()

    def pytest_sessionfinish(self, session):
        """Keep what was collected."""
        ours = session.config.stash[SESSION].ahead
        self.claimed, self.twice = dict(ours.claimed), list(ours.twice)


@pytest.mark.parametrize("task", ["pairwise", "score", slow("rubric"), slow("label"), slow("listwise")])
def test_no_two_tests_make_one_finding(tmp_path, task):
    """A run refuses it, and so no judge could be green."""
    keys = Keys()
    tests = [str(path) for path in (*SUITES.glob("test_*.py"), SUITES / "papers" / "test_calm.py")]
    options = ("--calm-every-variant", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={tmp_path}", "-q")

    with inside(tmp_path):
        status = pytest.main([*tests, f"--calm-judge=planted:task={task}", *options], plugins=[keys])

    assert (status, keys.twice, keys.skipped, keys.floors, keys.troubles) == (0, [], [], [], [])
    assert len(keys.claimed) > 800
