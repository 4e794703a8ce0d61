"""
The figures of a landing, as one row of the table in docs/measured/performance.md.

    python -m benchmarks.landing "what landed" [--ci MINUTES] [--write docs/measured/performance.md]

It takes two minutes of an idle machine of two processors: 10,000 judgments behind a server of this machine, beside
those of `bare`; a run of pytest without a probe, with the plugin and without it; the default gate of 60 bundled cases;
and a plan of these. Speeds are ratios within this run, as the speed of a machine drifts. CI is measured by who runs it.
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from benchmarks import plugin_overhead, throughput
from benchmarks.pages import block, measured, put

PAIRS = 5
CASES = 60
COLUMNS = (
    "landing",
    "asked: speed / bare",
    "CPU / bare",
    "cached: speed / bare cached",
    "memory, MB",
    "plugin without a probe, ms",
    f"gate of {CASES}: CPU s",
    "calls",
    f"plan of {CASES}: CPU s",
    "CI, min",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"


def speeds(folder: Path, port: int) -> list[str]:
    """Return how calm compares with `bare`: speed and processor time asked, speed cached, and its memory in MB."""
    url = f"http://127.0.0.1:{port}/v1"
    last = (os.cpu_count() or 1) - 1
    with throughput.stub(folder, [f"{port}:50"], last or None):
        load = throughput.Load(throughput.write_cases(folder, 1000), 10_000, 400, url)
        floor, ours = throughput.bare("bare", load), throughput.gate("calm", load)
        kept, kept_bare = folder / "kept", folder / "kept bare"
        for entrant, home in ((ours, kept), (floor, kept_bare)):
            home.mkdir()
            entrant.prepare(home)
        asked = throughput.timed(ours.command(kept), kept, url)
        bare = throughput.timed(floor.command(kept_bare), kept_bare, url)
        found = [
            throughput.bare("bare, cached", load, kept_bare / "bare.sqlite"),
            throughput.gate("calm, cached", load, kept / "cache.sqlite"),
        ]
        cached_bare, cached = (runs[0] for runs in throughput.rounds(found, 1, lambda _: url).values())
    ratios = bare.wall_s / asked.wall_s, asked.cpu_s / bare.cpu_s, cached_bare.wall_s / cached.wall_s
    return [*(f"{ratio:.2f}" for ratio in ratios), f"{asked.memory_mb:.0f}"]


def overhead(folder: Path) -> str:
    """Return how many milliseconds of the processor the plugin adds to a run of pytest without a probe."""
    return f"{plugin_overhead.added(plugin_overhead.runs(folder, PAIRS), 1):+.0f}"


def child(folder: Path, *command: str) -> float:
    """Run a command of calm or pytest and return its processor time in seconds, whatever its exit status."""
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=throughput.environment(), capture_output=True, check=False
    )
    after = getrusage(RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command} failed:\n{done.stdout.decode()}{done.stderr.decode()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def gate(folder: Path) -> list[str]:
    """Return the processor time of the default gate of 60 bundled cases, its calls, and the time of its plan."""
    judge = ["--calm-judge=planted:", f"--calm-sample={CASES}"]
    options = ["-q", "-c", os.devnull, f"--rootdir={folder}", "-p", "no:cacheprovider", "--calm-results=results.json"]
    plugins = [part for name in throughput.OTHERS for part in ("-p", f"no:{name}")]
    took_s = child(folder, "pytest", "--pyargs", "calm.suites", *options, *plugins, *judge)
    calls = json.loads((folder / "results.json").read_text("utf-8"))["run"]["calls"]
    planned_s = child(folder, "calm", "plan", "planted:", "--sample", str(CASES))
    return [f"{took_s:.1f}", f"{sum(calls[kind] for kind in ('made', 'cached')):,}", f"{planned_s:.1f}"]


def main() -> None:
    """Measure, print, and add the row to a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("landing", help="what landed, in a few words")
    parser.add_argument("--ci", metavar="MINUTES", default="", help="how long .ci/run took on an idle machine")
    parser.add_argument("--port", type=int, default=8350)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="add the row to the table of a page")
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        places = [Path(name) / part for part in ("speed", "plain", "gate")]
        for place in places:
            place.mkdir()
        cells = [*speeds(places[0], given.port), overhead(places[1]), *gate(places[2]), given.ci]
    row = f"| {datetime.now(UTC):%Y-%m-%d}, {given.landing} | {' | '.join(cells)} |\n"
    print(HEAD + row, end="")
    if given.write is not None:
        put(given.write, "landings", f"{block(given.write, 'landings')}\n{row}", measured("the last row"))


if __name__ == "__main__":
    main()
