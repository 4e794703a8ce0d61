"""
Make the tables of published verdicts that ship with calm, from tables with one row a verdict.

    python tools/recorded_tables.py FOLDER          # write calm/judges/data/*-1.csv.gz
    python tools/recorded_tables.py FOLDER --check  # write nothing; exit 1 and name the files that differ

FOLDER holds `position_repeats.csv.gz`, `score_repeats.csv.gz`, `llmbar.csv.gz` and `pandalm.csv.gz`. Their sources and
licences stand in the `.md` beside each file that is written. What is left out is said there, too.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "calm" / "judges" / "data"
Rows = Sequence[Mapping[str, str]]
Lines = Iterable[Sequence[str]]

MARKS = {"first": "1", "second": "2", "tie": "t", "unread": "."}
"""A verdict on two answers, by the slot that it names."""
GPT = {"full": "gpt-5.4", "mini": "gpt-5.4-mini", "nano": "gpt-5.4-nano"}
"""What the scores call their models."""


def position(rows: Rows) -> Lines:
    """One line a pair: for each judge three marks in the order that is listed, then three in the other."""
    judges = sorted({row["judge"] for row in rows})
    found: dict[tuple[str, str, str, str], dict[str, list[str]]] = {}
    for row in rows:
        one, other = sorted((row["first"], row["second"]))
        key = row["benchmark"], row["item"], one, other
        marks = found.setdefault(key, {}).setdefault(row["judge"], [""] * 6)
        marks[int(row["repeat"]) - 1 + 3 * (row["first"] != one)] = MARKS[row["verdict"]]
    yield ["benchmark", "item", "a", "b", *judges]
    for key, by_judge in sorted(found.items()):
        yield [*key, *("".join(by_judge[judge]) for judge in judges)]


def scores(rows: Rows) -> Lines:
    """One line an item: for each run the eight scores of each of four answers, A for 10 and - for a failed call."""
    runs = sorted({_run(row) for row in rows}, key=lambda run: (run[0] != "gpt-5.4", run))
    items = sorted({(row["subset"], int(row["item"])) for row in rows})
    said = {
        (_run(row), row["subset"], int(row["item"]), row["answer"]): "".join(
            "A" if score == "10" else score for score in row["scores"].split()
        )
        for row in rows
    }
    yield ["subset", "item", *("/".join(run) for run in runs)]
    for subset, item in items:
        cells = [[said.get((run, subset, item, answer), "") for answer in "0123"] for run in runs]
        yield [subset, str(item), *("".join(answers) for answers in cells)]


def llmbar(rows: Rows) -> Lines:
    """One line a pair: for each judge and prompt the better answer in either order; of two passes the last."""
    judges = sorted({(row["judge"], row["prompt"]) for row in rows})
    gold = {(row["subset"], int(row["item"])): row["gold"] for row in rows}
    said = {
        (row["judge"], row["prompt"], row["subset"], int(row["item"])): (row["winner"] or ".")
        + (row["winner_swapped"] or ".")
        for row in rows  # where a prompt judges again, the later row replaces the earlier one
    }
    yield ["subset", "item", "gold", *("/".join(judge) for judge in judges)]
    for (subset, item), better in sorted(gold.items()):
        yield [subset, str(item), better, *(said[(*judge, subset, item)] for judge in judges)]


def pandalm(rows: Rows) -> Lines:
    """One line a pair: the labels of three people together, and the verdicts of two judges."""
    marks = {"0": "t", "1": "1", "2": "2", "Tie": "t", "garbage": "."}
    yield ["item", "people", "gpt-3.5", "pandalm-7b"]
    for row in rows:
        people = "".join(marks[row[f"annotator{number}"]] for number in (1, 2, 3))
        yield [row["item"], people, marks[row["gpt35"]], marks[row["pandalm7b"]]]


TABLES: Mapping[str, tuple[str, Callable[[Rows], Lines]]] = {
    "position-1": ("position_repeats", position),
    "scores-1": ("score_repeats", scores),
    "llmbar-1": ("llmbar", llmbar),
    "pandalm-1": ("pandalm", pandalm),
}


def _run(row: Mapping[str, str]) -> tuple[str, str]:
    """Return the model and the variant of a run, such as ("gpt-5.4", "base-t0.3")."""
    variant = row["run"].replace("_both_k8", "").replace("_full_k8_", "-").replace("_nano_k8", "")
    return GPT[row["model"]], variant


def packed(lines: Lines) -> bytes:
    """Return lines as CSV in gzip, with no date and no name in it: the same bytes for the same lines."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def main() -> int:
    """Write the tables, or check them."""
    parser = argparse.ArgumentParser(description="Make the tables of published verdicts that ship with calm.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    differ = []
    for name, (source, lines) in TABLES.items():
        with gzip.open(options.folder / f"{source}.csv.gz", "rt", encoding="utf-8", newline="") as stream:
            data = packed(lines(list(csv.DictReader(stream))))
        path = DATA / f"{name}.csv.gz"
        if options.check:
            differ += [] if gzip.decompress(path.read_bytes()) == gzip.decompress(data) else [str(path)]
        else:
            path.write_bytes(data)
            print(f"{path.name}: {len(data):,} bytes")
    if differ:
        print(f"differ: {', '.join(differ)}", file=sys.stderr)
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
