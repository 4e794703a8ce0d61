"""Measure on the tables, keep the rows, and write the page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.pages import carry, note, noted, put
from benchmarks.real_judges import comparing, page
from benchmarks.real_judges.resampling import Tally, resample, ruled
from benchmarks.real_judges.tables import AGREED, CLAIMS, Table, agreeing, specs, tables
from calm.core.measures import MEASURES
from calm.core.trials import Trials
from calm.experiment.stopping import LEVEL, Stopping

SAMPLES = 2000
SIZES = (30, 60, 100, 200)
TOGETHER = 4
"""Comparisons of a judge in one job."""
LARGE = 400
"""Cases of a sample of whole questions, besides: about as many questions as 100 single cases."""
PAIRED = (200,)
"""Cases of a comparison."""
DESIGNS: dict[str, tuple[str, ...]] = {
    "position": ("single", "whole"),
    "scores": ("whole",),
    "llmbar": ("single",),
    "pandalm": (),
}
"""How samples are drawn: of `position` and `scores` several cases are about one question."""
IN_TURN = ("llmbar/Falcon/Vanilla", "pandalm/pandalm-7b")
"""Judges whose accuracy is also tested one case after the other, as the default rule does: slow to sample."""

Row = dict[str, Any]
Key = tuple[Any, ...]


def key_of(row: Row) -> Key:
    """Return what a row is about."""
    return tuple(row.get(name) for name in ("kind", "judge", "other", "measure", "n", "design", "samples"))


def measure(job: tuple[list[Row], Path]) -> int:
    """Append the rows of a job, each when it is there, and return their number."""
    rows, path = job
    kept = Kept()
    with path.open("ab", buffering=0) as stream:  # a row is one write, so that two processes cannot mix theirs
        for row in rows:
            stream.write(json.dumps(row | _measured(row, kept)).encode() + b"\n")
    return len(rows)


class Kept:
    """The tables of judges, each made when it is first wanted."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, Table]] = {}

    def of(self, judge: str) -> dict[str, Table]:
        """Return the tables of a judge by their measures."""
        if judge not in self._tables:
            self._tables[judge] = {table.measure: table for table in tables(judge)}
        return self._tables[judge]


def wanted(judges: Sequence[str], samples: int) -> Iterator[Row]:
    """Yield the rows of some judges, without their numbers."""
    for judge in judges:
        yield {"kind": "figures", "judge": judge}
        name = judge.partition("/")[0]
        measures = {
            "position": ("slot_pull", "net_robustness", "consistency_rate"),
            "scores": ("repeat_distance",),
            "llmbar": ("gain", "accuracy"),
            "pandalm": ("accuracy",),
        }[name]
        agreement = [one.name for one in AGREED[name]] if judge in agreeing() else []
        for measure in (*measures, *agreement):
            designs = DESIGNS[name]
            if measure == "accuracy" or measure in agreement:
                designs = ("fixed", *(["in turn"] if measure == "accuracy" and judge in IN_TURN else []))
            for design in designs:
                for n in (*SIZES, *([LARGE] if (name, design) == ("position", "whole") else [])):
                    yield _row("resampled", judge, measure, n, samples) | {"design": design}
            for other in comparing.others(judge, list(judges)) if measure in measures else []:
                for n in PAIRED:
                    yield _row("compared", judge, measure, n, samples) | {"other": other}


def _row(kind: str, judge: str, measure: str, n: int, samples: int) -> Row:
    return {"kind": kind, "judge": judge, "measure": measure, "n": n, "samples": samples}


def _measured(row: Row, kept: Kept) -> Row:
    """Return the numbers of a row."""
    if row["kind"] == "figures":
        return {"figures": {name: _figure(table) for name, table in kept.of(row["judge"]).items()}}
    table, n, samples = kept.of(row["judge"])[row["measure"]], row["n"], row["samples"]
    if row["kind"] == "compared":
        new = kept.of(row["other"])[row["measure"]]
        both, said = comparing.paired(table, new), comparing.compared(table, new, n, samples)
        return {
            "truth": comparing.truth(both),
            **{name: getattr(said, name) / samples for name in ("right", "wrong", "low", "high")},
        }
    design = row["design"]
    if design == "in turn":
        tallies: dict[str, Tally] = {"suite": ruled(table, n, samples)}
    else:
        rule = Stopping.FIXED if design == "fixed" else Stopping.SEQUENTIAL
        tallies = resample(table, n, samples, whole=design == "whole", rule=rule)
    suite = tallies["suite"]
    return {
        "truth": table.truth,
        "limit": CLAIMS[row["measure"]].limit,
        "low": suite.low / max(1, suite.bounded),
        "high": suite.high / max(1, suite.bounded),
        "questions": suite.clusters / max(1, suite.bounded),
        "outcomes": {
            name: {outcome.value: count / samples for outcome, count in tally.outcomes.items()}
            for name, tally in tallies.items()
        },
    }


def _figure(table: Table) -> list[float]:
    """Return a figure of the whole table with its bounds: value, low, high, n."""
    trials: Trials = table.trials
    found = MEASURES[table.measure].estimate(trials, LEVEL, table.cells)
    return [found.value, found.low, found.high, found.n]


def jobs_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Return rows in jobs: those of a judge, and a few of its comparisons with others, which read more tables."""
    found: dict[tuple[str, int], list[Row]] = {}
    others: dict[str, list[str]] = {}
    for row in rows:
        seen = others.setdefault(row["judge"], [])
        if row["kind"] == "compared" and row["other"] not in seen:
            seen.append(row["other"])
        chunk = 1 + seen.index(row["other"]) // TOGETHER if row["kind"] == "compared" else 0
        found.setdefault((row["judge"], chunk), []).append(row)
    return list(found.values())


def _added(path: Path, kept: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Append the rows that are kept to those so far, but those that are there; return what was added."""
    known = frozenset(key_of(row) for row in rows)
    new = [row for row in kept if key_of(row) not in known]
    with path.open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in new)
    return new


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is not measured yet; write or check the page."""
    parser = argparse.ArgumentParser(description="The gate on verdicts of real judges.")
    parser.add_argument("--rows", type=Path, required=True, help="numbers so far, as JSON Lines; new ones are added")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--only", default="", help="only judges whose specification begins so")
    parser.add_argument("--keep", type=Path, help="the CSV of the page: its rows stand, but those of --only")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, help="write the page and its CSV from the rows, and measure nothing")
    options = parser.parse_args(arguments)
    lines = options.rows.read_text("utf-8").splitlines() if options.rows.exists() else []
    rows: list[Row] = [json.loads(line) for line in lines if line.endswith("}")]  # a last line may be torn
    if options.write:
        for name, table in page.tables(rows, options.samples).items():
            put(options.write, name, table, noted(options.rows))
        options.write.with_suffix(".csv").write_text(page.as_csv(rows, options.samples), "utf-8")
        return 0
    if options.keep:
        carry(options.keep.with_suffix(".md"), options.rows)
        kept = page.from_csv(options.keep.read_text("utf-8"))
        rows += _added(options.rows, [row for row in kept if not row["judge"].startswith(options.only)], rows)
    note(options.rows)
    known = frozenset(key_of(row) for row in rows)
    judges = [judge for judge in specs() if options.keep or judge.startswith(options.only)]
    left = [row for row in wanted(judges, options.samples) if key_of(row) not in known]
    began, done = perf_counter(), 0
    with get_context("fork").Pool(options.jobs) as pool:
        for count in pool.imap_unordered(measure, [(job, options.rows) for job in jobs_of(left)]):
            done += count
            print(f"{done} of {len(left)} rows, {perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
