"""Measure the rows of the page, or write it: see the package."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.calibration.kept import Kept
from benchmarks.calibration.page import page
from benchmarks.calibration.rows import rows

CHUNKS = (20, 50, 100, 200, 500, 1000)
"""All rows get so many seeds before any row gets more."""


def main() -> None:
    """Measure what is wanted, then write the page if it is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="the file that keeps the numbers of each seed")
    parser.add_argument("--only", default="", help="measure the rows alone whose table and label hold this text")
    parser.add_argument("--most", type=int, default=1000, help="the most seeds of a row")
    parser.add_argument("--write", type=Path, help="write the page from what is kept, and measure nothing")
    options = parser.parse_args()
    kept = Kept(options.rows)
    if options.write:
        options.write.write_text(page(kept), "utf-8")
        return
    wanted = sorted((row for row in rows() if options.only in row.key), key=lambda row: row.first)
    for most in CHUNKS:
        for row in wanted:
            kept.measure(row.key, row.condition, min(most, options.most, row.condition.runs))


if __name__ == "__main__":
    main()
