"""
How much the plugin adds to a pytest run that has nothing to do with it.

    python benchmarks/plugin_overhead.py [PAIRS]

Runs pytest on one trivial test with the plugin and without it (`-p no:calm`), in alternating pairs, each in a process
of its own, and prints the medians, and the median of the differences in a pair, of the time on the clock and of the
processor's. The goal is less than 20 ms. It is judged by the processor's time: a plugin that only imports and registers
waits for nothing, and the clock also tells what else the machine is doing. Bytecode is cached, as it is for an
installed package. On a shared machine one run differs from the next by a tenth: take many pairs.
"""

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

GOAL_MS = 20.0
WITH: tuple[str, ...] = ()
WITHOUT = ("-p", "no:calm")


def milliseconds(folder: Path, *options: str) -> tuple[float, float]:
    """Return how long one run takes, on the clock and of the processor."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    if done.returncode:
        raise SystemExit(f"the run failed:\n{done.stdout}{done.stderr}")
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (ended - began) * 1000, worked * 1000


def runs(folder: Path, pairs: int) -> list[list[tuple[float, float]]]:
    """Return how long the runs took with the plugin, and those without it, pair by pair."""
    found: dict[tuple[str, ...], list[tuple[float, float]]] = {WITH: [], WITHOUT: []}
    (folder / "test_trivial.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    for pair in range(pairs + 1):
        for options in (WITH, WITHOUT) if pair % 2 else (WITHOUT, WITH):
            found[options].append(milliseconds(folder, *options))
    return [found[options][1:] for options in (WITH, WITHOUT)]  # the first pair warms caches of files and bytecode


def added(found: list[list[tuple[float, float]]], column: int) -> float:
    """Return the median of the differences in a pair: on the clock (0), or of the processor (1)."""
    return statistics.median(one[column] - other[column] for one, other in zip(found[0], found[1], strict=True))


def main(pairs: int) -> int:
    """Measure, print, and return 0 if the goal is met."""
    with TemporaryDirectory() as name:
        found = runs(Path(name), pairs)
    for column, title in enumerate(("on the clock", "of the processor")):
        with_it, without = (statistics.median(run[column] for run in part) for part in found)
        more = f"{added(found, column):+.1f} ms"
        print(f"{title:>16}: {with_it:7.1f} ms with the plugin, {without:7.1f} ms without: {more}")
    met = added(found, 1) < GOAL_MS
    print(f"goal: less than {GOAL_MS:g} ms, {'met' if met else 'missed'} (medians of {pairs} pairs)")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
