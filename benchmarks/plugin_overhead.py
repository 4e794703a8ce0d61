"""
How much the plugin adds to a pytest run that has nothing to do with it.

    python benchmarks/plugin_overhead.py [PAIRS]

Runs pytest on one trivial test with the plugin and without it (`-p no:calm`), in alternating pairs, each in a process
of its own, and prints the medians, and the median of the differences in a pair, of the time on the clock and of the
processor's. Other plugins of an environment for development are left out: they take a second, and hide what this one
takes. The goal is less than 20 ms. It is judged by the processor's time: a plugin that only imports and registers waits
for nothing, and the clock also tells what else the machine is doing. Bytecode is cached, as it is for an installed
package. On a shared machine one pair differs from the next by a tenth of a run: take many.
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
OTHERS = ("anyio", "hypothesispytest", "xdist", "xdist.looponfail", "benchmark", "platformdirs")
WITH = tuple(part for name in OTHERS for part in ("-p", f"no:{name}"))
WITHOUT = (*WITH, "-p", "no:calm")


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


def main(pairs: int) -> int:
    """Measure, print, and return 0 if the goal is met."""
    found: dict[tuple[str, ...], list[tuple[float, float]]] = {WITH: [], WITHOUT: []}
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_trivial.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
        for options in (WITH, WITHOUT):  # to warm the caches of the file system and of bytecode
            milliseconds(folder, *options)
        for pair in range(pairs):
            for options in (WITH, WITHOUT) if pair % 2 else (WITHOUT, WITH):
                found[options].append(milliseconds(folder, *options))
    added = []
    for column, title in enumerate(("on the clock", "of the processor")):
        runs = [[run[column] for run in found[options]] for options in (WITH, WITHOUT)]
        with_it, without = map(statistics.median, runs)
        added.append(statistics.median(one - other for one, other in zip(*runs, strict=True)))
        print(f"{title:>16}: {with_it:7.1f} ms with the plugin, {without:7.1f} ms without: {added[-1]:+.1f} ms")
    met = added[1] < GOAL_MS
    print(f"goal: less than {GOAL_MS:g} ms, {'met' if met else 'missed'} (medians of {pairs} pairs)")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
