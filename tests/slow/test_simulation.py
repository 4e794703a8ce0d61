"""100,000 simulated runs, each with faults of its own."""

import subprocess
import sys
from pathlib import Path

SCHEDULES = 100_000


def test_a_hundred_thousand_runs_keep_every_promise():
    """The same as in `tests/engine/test_simulation.py`, with as many seeds as a night allows."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.simulation", "--schedules", str(SCHEDULES)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]
