"""The `calm` command as a process of its own, and as a function in somebody else's."""

import subprocess
import sys

from calm.commands.cli import COLLECT

SHOW = """
import gc, sys
from calm.commands.cli import main
sys.argv = ["calm", "report", "nothing.json"]
{call}
print(gc.get_threshold())
"""


def thresholds(call):
    done = subprocess.run([sys.executable, "-c", SHOW.format(call=call)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_the_command_collects_rarely_in_its_own_process_alone():
    """A program that calls it with arguments keeps its own thresholds."""
    assert thresholds("main()") == str(COLLECT)
    assert thresholds("main(sys.argv[1:])") == thresholds("pass") != str(COLLECT)
