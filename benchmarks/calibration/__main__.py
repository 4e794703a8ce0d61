"""Measure the rows of the page, or write it: see the package."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.calibration.kept import Kept
from benchmarks.calibration.page import page
from benchmarks.calibration.rows import rows
from benchmarks.pages import note, noted

PARTS = (0.05, 0.1, 0.25, 0.5, 1.0)
"""All rows get such a part of their seeds before any row gets more."""


def main() -> None:
    """Measure what is wanted, then write the page if it is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="the file that keeps the numbers of each seed")
    parser.add_argument("--only", default="", help="measure the rows alone whose table and label hold this text")
    parser.add_argument("--part", type=float, default=1.0, help="the part of the seeds of each row to measure")
    parser.add_argument("--write", type=Path, help="write the page from what is kept, and measure nothing")
    options = parser.parse_args()
    kept = Kept(options.rows)
    if options.write:
        options.write.write_text(page(kept, noted(options.rows)), "utf-8")
        return
    note(options.rows)
    wanted = sorted((row for row in rows() if options.only in row.key), key=lambda row: row.first)
    for part in PARTS:
        for row in wanted:
            kept.measure(row.key, row.condition, round(min(part, options.part) * row.condition.runs))


if __name__ == "__main__":
    main()
