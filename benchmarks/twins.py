"""
Whole gates on planted judges of equal answers: what is red, what is green, and what it costs.

    python -m benchmarks.twins --seeds 20 lexicographic   # right before wrong, then one cue: red by its own suite?
    python -m benchmarks.twins --seeds 20 sound           # says tie, takes the first, tosses a coin: green?
    python -m benchmarks.twins --seeds 5 first-red        # calls up to the first red test, with -x

Each gate is a process of pytest on the shipped suites: on 200 bundled pairs with the limits of the suites, and on 60
texts without gold (the first answers of 60 shipped pairs, as a user's own file) with the limits that these can bear.
Numbers are kept in `--rows FILE`, and a later run goes on from there; `--table` prints what is kept.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from calm.cases import bundled, equal_cases
from calm.core.verdict import Task

SUITES: Final = Path(__file__).parents[1] / "suites"
BIASES: Final = (
    "authority",
    "bandwagon",
    "compassion-fade",
    "distraction",
    "diversity",
    "formatting",
    "injection",
    "refinement-aware",
    "self-authorship",
    "sentiment",
    "verbosity",
)
"""The biases of the default gate whose edits put a cue on one answer."""
TIES: Final = ("tie", "first", "coin")
NOISE: Final = (0.0, 0.05, 0.10)
OWN: Final = 60
PAIRWISE: Final[Task] = "pairwise"


class Wanted(NamedTuple):
    """A gate to run: its table and label, the judge, whether on own texts, and further options."""

    table: str
    label: str
    spec: str
    own: bool
    options: tuple[str, ...] = ()


def wanted(table: str, seeds: int) -> Iterator[Wanted]:
    """Yield the gates of a table, all labels with one seed before any with the next."""
    for seed in range(seeds):
        draw = ("--calm-seed", str(seed))
        for own in (False, True):
            size = f"{OWN} own" if own else "200"
            if table == "lexicographic":
                for bias in BIASES:
                    spec = f"planted:{bias}=1,equal=1,ties={TIES[seed % 3]},seed={seed}"
                    yield Wanted(table, f"{bias}, {size}", spec, own, draw)
            elif table == "first-red":
                for bias in BIASES:
                    spec = f"planted:{bias}=0.6,equal=1,ties={TIES[seed % 3]},seed={seed}"
                    yield Wanted(table, f"{bias}, {size}", spec, own, ("-x", *draw))
            else:
                for ties in TIES:
                    for noise in NOISE:
                        spec = f"planted:noise={noise:g},ties={ties},seed={seed}"
                        yield Wanted(table, f"{ties}, noise {noise:.2f}, {size}", spec, own, draw)


def ran(one: Wanted) -> dict[str, object]:
    """Run a gate, and return what it found."""
    with TemporaryDirectory() as folder:
        options = [f"--calm-judge={one.spec}", "-q", "--calm-results=found.json", "-p", "no:cacheprovider"]
        if one.own:
            texts = [
                {"id": case.id, "question": case.question, "answers": [{"id": "a", "text": case.answers[0].text}]}
                for case in equal_cases(PAIRWISE, bundled(PAIRWISE))[:OWN]
            ]
            Path(folder, "own.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts), "utf-8")
            options += ["--calm-cases=own.jsonl", "--calm-limits=attainable"]
        command = [sys.executable, "-m", "pytest", str(SUITES), *options, *one.options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        findings = json.loads(Path(folder, "found.json").read_text("utf-8"))["findings"]
    calls = re.search(r"; ([\d,]+) calls", done.stdout)
    return {
        **one._asdict(),
        "status": done.returncode,
        "calls": int(calls[1].replace(",", "")) if calls else 0,
        "failed": sorted({f["bias"] for f in findings if f["outcome"] == "FAIL"}),
        "open": sorted({f["key"] for f in findings if f["outcome"] in ("UNDECIDED", "INCOMPLETE")}),
    }


def shown(rows: list[dict[str, object]]) -> Iterator[str]:
    """Yield a line for each label: of how many seeds, how many were as they should be, and the calls."""
    by_label: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in rows:
        by_label.setdefault((str(row["table"]), str(row["label"])), []).append(row)
    yield "| table | judge, cases | seeds | as it should | another blamed | mean calls | most calls |"
    yield "|---|---|---|---|---|---|---|"
    for (table, label), mine in sorted(by_label.items()):
        bias = label.partition(",")[0]
        failed = [set(map(str, row["failed"])) if isinstance(row["failed"], list) else set() for row in mine]
        right = sum(row["status"] == 0 for row in mine) if table == "sound" else sum(bias in one for one in failed)
        blamed = sum(bool(one - {bias, "run"}) for one in failed)
        calls = [int(str(row["calls"])) for row in mine]
        yield (
            f"| {table} | {label} | {len(mine)} | {right / len(mine):.2f} | {blamed / len(mine):.2f} "
            f"| {fmean(calls):,.0f} | {max(calls):,} |"
        )


def main() -> None:
    """Run the gates of a table, two at a time, or print what is kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.twins", description=__doc__)
    parser.add_argument("table", nargs="?", choices=("lexicographic", "sound", "first-red"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=Path, default=Path("twins.jsonl"))
    parser.add_argument("--only", default="", help="run the labels alone that hold this text")
    options = parser.parse_args()
    kept = options.rows.read_text("utf-8").splitlines() if options.rows.exists() else []
    rows = [json.loads(line) for line in kept]
    known = {(row["table"], row["label"], row["spec"]) for row in rows}
    if options.table:
        left = [w for w in wanted(options.table, options.seeds) if w[:3] not in known and options.only in w.label]
        with options.rows.open("a", encoding="utf-8") as stream, ThreadPoolExecutor(2) as pool:
            for row in pool.map(ran, left):
                rows.append(row)
                stream.write(json.dumps(row) + "\n")
                stream.flush()
    print("\n".join(shown(rows)))


if __name__ == "__main__":
    main()
