"""While a test waits on a terminal, one line says how far the run is; nowhere else."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tests.lanes import slow

SLEEPY = """
import asyncio

from judges import KNOWN


async def sleepy(case, send):
    await asyncio.sleep(0.05)
    return case.better

sleepy.reads, sleepy.fingerprint, sleepy.concurrency = KNOWN, "sleepy", 8
"""
LINE = re.compile(r"calm: \d+ of \d+ probes decided; \d+ calls made, \d+ cached")


def on_a_terminal(project, *options):
    """Run pytest on a terminal of 100 columns and return all that it wrote."""
    project.write("sleeping.py", SLEEPY)
    command = [sys.executable, "-m", "pytest", "--calm-judge=sleeping:sleepy", "--calm-cases=cases.jsonl"]
    command += ["--calm-stopping=fixed", *options]  # all cases: it takes long enough to be waited for
    leader, follower = pty.openpty()
    env = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen(command, cwd=project.path, stdout=follower, stderr=follower, env=env) as running:
        os.close(follower)
        written = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # Linux's way to say that the other end is closed
                break
            written += part
        running.wait(timeout=60)
    os.close(leader)
    return written.decode()


def screen(written):
    """Return the lines that a terminal shows in the end, by the few sequences that are used."""
    lines, row, column, kept = [""], 0, 0, (0, 0)
    for token in re.findall(r"\x1b\[[\d;]*[A-Za-z]|\x1b[78DM]|.|\n", written, re.S):
        if token in ("\n", "\x1bD"):
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token == "\r":
            column = 0
        elif token == "\x1b7":
            kept = row, column
        elif token == "\x1b8":
            row, column = kept
        elif token == "\x1b[K":
            lines[row] = lines[row][:column]
        elif token == "\x1b[1A":
            row -= 1
        elif not token.startswith("\x1b"):
            lines[row] = f"{lines[row].ljust(column)[:column]}{token}{lines[row][column + 1 :]}"
            column += 1
    return lines


def test_a_waiting_test_shows_a_line_that_is_gone_in_the_end(project):
    """It is written more than once, and nothing of it stays; pytest's own lines are whole."""
    written = on_a_terminal(project)
    shown = screen(written)

    assert len(LINE.findall(written)) >= 3
    assert len(set(LINE.findall(written))) >= 3
    assert "s left" in written
    assert not any(LINE.search(line) for line in shown)
    assert any(re.match(r"test_flattery\.py [.?F!]\s+\[100%\]", line) for line in shown), shown


@pytest.mark.parametrize("options", [("-q", "-q"), slow(("-n2",))], ids=" ".join)
def test_nothing_is_shown_where_nobody_waits_for_it(project, options):
    """Not with -q -q, and not in a run of several workers."""
    assert not LINE.search(on_a_terminal(project, *options))


def test_nothing_is_shown_without_a_terminal(project):
    """A log holds no line that is rewritten, and no sequence of a terminal."""
    project.write("sleeping.py", SLEEPY)

    output = project.run_alone(judge="sleeping:sleepy").stdout

    assert not LINE.search(output)
    assert "\x1b" not in output
