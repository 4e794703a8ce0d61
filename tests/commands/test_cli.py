"""The `calm` command as a process of its own, and as a function in somebody else's."""

import subprocess
import sys

SHOW = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from calm.commands.cli import main
sys.argv = ["calm", "report", "nothing.json"]
{call}
"""


def frozen_at_exit(call):
    done = subprocess.run([sys.executable, "-c", SHOW.format(call=call)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1] == "True"


def test_the_command_freezes_the_collector_in_its_own_process_alone():
    """A program that calls it with arguments keeps its own collector."""
    assert frozen_at_exit("main()")
    assert not frozen_at_exit("main(sys.argv[1:])")
