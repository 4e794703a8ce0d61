"""
Which suites fail for which planted bias: run the real gate on each planted judge, and write the table.

    python -m benchmarks.planted_biases                                                # print it
    python -m benchmarks.planted_biases --write docs/reference/planted-biases.md       # put it between its markers

Each row is one run of `python -m pytest --pyargs calm.suites` in a process and a folder of its own, without a cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import calm
from calm.perturbations.planted import BIASES

TASKS = ("pairwise", "score", "rubric")
DOSE = 0.8
POSITION_DOSE = 0.2
"""A judge that goes by the slot in most questions misses defects as well; this dose leaves `sensitivity` alone."""
OPEN, CLOSE = "<!-- generated: planted-biases -->", "<!-- end: planted-biases -->"
WORST_FIRST = ("FAIL", "INCOMPLETE", "UNDECIDED", "PASS")
UNTESTED = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One judge: what is planted in it, by the `planted:` settings that say so, and for which task."""

    planted: str
    task: str

    @property
    def spec(self) -> str:
        """The judge as `--calm-judge` takes it."""
        return f"planted:{self.planted},task={self.task}"


@dataclass(frozen=True, slots=True)
class Run:
    """What the gate said of one judge: exit status, and the worst outcome of each suite."""

    status: int
    suites: Mapping[str, str]


def rows() -> Iterator[Row]:
    """Yield the judges of the table: a sound one, one for each bias, and a very noisy one, for each task."""
    for task in TASKS:
        yield Row("noise=0.05", task)
        for bias in BIASES:
            if bias != "position":
                yield Row(f"{bias}={DOSE}", task)
            elif task == "pairwise":
                yield Row(f"{bias}={POSITION_DOSE}", task)
        yield Row("noise=0.25", task)


def columns() -> tuple[str, ...]:
    """Return the suites that ship, controls last, by the names of their files."""
    files = sorted(Path(calm.__file__).parent.joinpath("suites").glob("test_*.py"))
    names = [file.stem.removeprefix("test_").replace("_", "-") for file in files]
    return tuple(sorted(names, key=lambda name: (name in ("consistency", "sensitivity"), name)))


def run_gate(spec: str, seed: int) -> Run:
    """
    Run the shipped suites on a judge, from an empty folder.

    Raises:
        RuntimeError: the run wrote no results; the message holds its output.
    """
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        options = [f"--calm-judge={spec}", f"--calm-seed={seed}", f"--calm-results={results}", "--calm-cache=off"]
        command = [sys.executable, "-m", "pytest", "--pyargs", "calm.suites", "-q", "--tb=no", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *options], cwd=folder, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        if not results.exists():
            raise RuntimeError(
                f"{spec}: expected results, got exit status {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        findings = json.loads(results.read_text("utf-8"))["findings"]
    return Run(
        done.returncode, {name: worst(f["outcome"] for f in findings if f["bias"] == name) for name in columns()}
    )


def worst(outcomes: Iterable[str]) -> str:
    """
    Return the worst of some outcomes, or a dash where nothing was tested.

    >>> worst(["PASS", "UNDECIDED"]), worst(["NOT_TESTED"]), worst([])
    ('UNDECIDED', '-', '-')
    """
    found = set(outcomes)
    return next((outcome for outcome in WORST_FIRST if outcome in found), UNTESTED)


def table(found: Sequence[tuple[Row, Run]], seed: int) -> str:
    """Return the runs as Markdown, with what they were made with."""
    versions = f"calm {calm.__version__}, Python {platform.python_version()}, pytest {pytest.__version__}"
    lines = [
        f"Made by `python -m benchmarks.planted_biases`: {versions}, `--calm-seed={seed}`, planted `seed=0`,",
        "200 bundled cases a task, 4+2 asks.",
    ]
    unasked = [f"`{bias}`" for bias in BIASES if bias not in columns()]
    if unasked:
        lines += [
            "",
            f"No suite asks about {', '.join(unasked)} yet: such a row shows that no other suite is confused by it.",
        ]
    for task in dict.fromkeys(row.task for row, _ in found):
        names = columns()
        lines += ["", f"### {task}", "", f"| planted | {' | '.join(names)} | exit |", f"|---{'|---' * len(names)}|---|"]
        for row, run in found:
            if row.task == task:
                cells = [f"**{cell}**" if cell == "FAIL" else cell for cell in (run.suites[name] for name in names)]
                lines.append(f"| `{row.planted}` | {' | '.join(cells)} | {run.status} |")
    return "\n".join(lines)


def between(text: str, block: str) -> str:
    """
    Return a page with a block put between the markers.

    Raises:
        ValueError: the page has no such markers.
    """
    before, opened, rest = text.partition(OPEN)
    _, closed, after = rest.partition(CLOSE)
    if not opened or not closed:
        raise ValueError(f"expected {OPEN} and {CLOSE} in the page; add them where the table belongs")
    return f"{before}{OPEN}\n{block}\n{CLOSE}{after}"


def main() -> None:
    """Run all judges, then print the table or write it into a page."""
    parser = argparse.ArgumentParser(description="Which suites fail for which planted bias.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page with the markers of this table")
    parser.add_argument("--seed", type=int, default=0, help="the run's --calm-seed (default 0)")
    options = parser.parse_args()
    found = []
    for row in rows():
        found.append((row, run_gate(row.spec, options.seed)))
        print(f"{row.spec}: exit {found[-1][1].status}", file=sys.stderr)
    text = table(found, options.seed)
    if options.write is None:
        print(text)
    else:
        options.write.write_text(between(options.write.read_text("utf-8"), text), "utf-8")


if __name__ == "__main__":
    main()
