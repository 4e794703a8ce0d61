"""
What two workers of pytest-xdist save where a run waits for its own work, and not for the judge.

    python -m benchmarks.workers                                            # print the table (some minutes)
    python -m benchmarks.workers --rounds 5 --write docs/measured/performance.md

Whole processes of pytest are timed, from their start to their written results: 24 probes of 300 cases each, at a
server of our own on loopback (`stub/stub.c`, which needs a C compiler) that answers at once, then once more with every
reply in the cache (`--calm-cache=replay`). One process and two workers take turns, so that a busy machine is busy for
both. `--delay` lets the server answer later: then a run waits for it.

Each process says what it took of a processor. `all` adds them up. `in a row` is the controller and its busiest worker:
what a run waits for at least, however many processors are free.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.lookahead import SUITE
from benchmarks.pages import measured, put
from benchmarks.throughput import JUDGE, REPEATS, Run, stub, timed, write_cases

IN_FLIGHT = 400
CONFTEST = '''"""Each process notes the seconds of a processor that it took."""

from pathlib import Path
from time import process_time

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_unconfigure(config):
    """Note them at the end, under the name of a worker, or under none."""
    ended = yield
    name = getattr(config, "workerinput", {}).get("workerid", "")
    (Path(__file__).parent / f"took-{name}").write_text(str(process_time()))
    return ended
'''


@dataclass(frozen=True, slots=True)
class Way:
    """How a gate runs: its name, what pytest is given for it, and whether all its replies are in the cache."""

    name: str
    options: Sequence[str]
    cached: bool = False


WAYS = (
    Way("one process", ()),
    Way("two workers", ("-n", "2")),
    Way("one process, all cached", (), cached=True),
    Way("two workers, all cached", ("-n", "2"), cached=True),
)


@dataclass(frozen=True, slots=True)
class Took:
    """One run: what it took, seconds of a processor in a row, the bill in its results, and everything else in them."""

    run: Run
    row_s: float
    bill: dict[str, int]
    results: str


def took(way: Way, home: Path, url: str, kept: Path) -> Took:
    """Run the gate once in a fresh folder; a run that asks leaves its cache in `kept`."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("judge.toml", "test_polite.py", "conftest.py"):
            shutil.copy(home / file, folder)
        cache = folder / "cache.sqlite"
        if way.cached:
            shutil.copy(kept, cache)
        where = ["-c", os.devnull, f"--rootdir={folder}", "--import-mode=importlib", "-p", "no:cacheprovider"]
        where += ["-p", "no:anyio", "-p", "no:hypothesispytest", *([] if way.options else ["-p", "no:xdist"])]
        command = [
            *(sys.executable, "-m", "pytest", "-q", *where, "test_polite.py", *way.options),
            *(f"--calm-judge={folder / 'judge.toml'}", f"--calm-cases={home / 'cases.jsonl'}"),
            *(f"--calm-cache-file={cache}", f"--calm-results={folder / 'results.json'}", "--calm-sample=100000"),
            *("--calm-stopping=fixed", f"--calm-repeats={REPEATS}"),
            *(["--calm-cache=replay"] if way.cached else []),
        ]
        run = timed(command, folder, url, processor=None)
        body: dict[str, Any] = json.loads((folder / "results.json").read_text("utf-8"))
        bill = {name: body["run"]["calls"][name] for name in ("made", "cached", "failed")}
        body.pop("run")
        if not way.cached:
            shutil.copy(cache, kept)
        took = {path.name: float(path.read_text()) for path in folder.glob("took-*")}
        row_s = took.pop("took-") + max(took.values(), default=0.0)
        return Took(run, row_s, bill, json.dumps(body, sort_keys=True))


def table(ways: Sequence[Way], found: dict[str, list[Took]]) -> str:
    """Return the medians; the speed of each is compared with that of one process in the same round."""
    lines = [
        "| tests run in | wall, s | faster by | processor, all, s | in a row, s | shorter by | calls | cached "
        "| results |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for way in ways:
        runs, alone = found[way.name], found["one process, all cached" if way.cached else "one process"]
        mid = statistics.median
        faster = mid(a.run.wall_s / b.run.wall_s for a, b in zip(alone, runs, strict=True))
        shorter = mid(a.row_s / b.row_s for a, b in zip(alone, runs, strict=True))
        same = all(one.results == alone[0].results for one in runs)
        calls = sorted({one.run.calls for one in runs})
        lines.append(
            f"| {way.name} | {mid(r.run.wall_s for r in runs):.1f} | {faster:.2f} "
            f"| {mid(r.run.cpu_s for r in runs):.1f} | {mid(r.row_s for r in runs):.1f} | {shorter:.2f} "
            f"| {' or '.join(f'{n:,}' for n in calls)} | {runs[-1].bill['cached']:,} "
            f"| {'equal' if same else 'DIFFER'} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--probes", type=int, default=24)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delay", type=int, default=1, metavar="MS", help="after which the server answers")
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT, metavar="N", help="calls at a time")
    parser.add_argument("--port", type=int, default=8370)
    parser.add_argument("--asked", action="store_true", help="leave out the runs with every reply in the cache")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page, too")
    given = parser.parse_args()
    url = f"http://127.0.0.1:{given.port}/v1"
    ways = [way for way in WAYS if not (given.asked and way.cached)]
    found: dict[str, list[Took]] = {way.name: [] for way in ways}
    with TemporaryDirectory() as name:
        home = Path(name)
        write_cases(home, given.cases).rename(home / "cases.jsonl")
        (home / "judge.toml").write_text(JUDGE.format(url=url, in_flight=given.in_flight))
        (home / "conftest.py").write_text(CONFTEST)
        (home / "test_polite.py").write_text(SUITE.format(probes=given.probes))
        with stub(home, [f"{given.port}:{given.delay}"], None):
            for number in range(given.rounds):
                for way in ways:
                    one = took(way, home, url, home / "kept.sqlite")
                    found[way.name].append(one)
                    print(f"round {number + 1}: {way.name}: {one.run}, {one.row_s:.1f} s in a row", file=sys.stderr)
    text = table(ways, found)
    print(text)
    if given.write is not None:
        put(given.write, "workers", text, measured())


if __name__ == "__main__":
    main()
