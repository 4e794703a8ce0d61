"""
What hunts report of a judge whom no text moves: at most one of twenty may report anything.

    python -m benchmarks.hunt.sound --hunts 100 --asks 600 --write docs/measured/hunts.md

Each judge errs in a share of its asks: anew in each ask, or, as at temperature 0, alike whenever it sees the same.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from scipy.stats import beta

from benchmarks.hunt.judges import hunted, ruled
from benchmarks.pages import measured, put
from calm.plugins.search.subjects import Bounds

NOISES = (0.05, 0.15, 0.25)


def one(given: tuple[float, bool, int, int]) -> tuple[int, int, int, int]:
    """Return of one hunt the confirmed findings, those that were asked anew, bounds above 0, and the asks."""
    noise, frozen, seed, asks = given
    found = hunted(ruled("sound", lambda _text: False, noise, seed, frozen=frozen), seed, Bounds(asks))
    return len(found.confirmed), len(found.findings), sum(f.low > 0 for f in found.findings), found.asks


def main() -> None:
    """Measure and print; write the table where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hunts", type=int, default=100)
    parser.add_argument("--asks", type=int, default=600)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows = [
        "| noise | errs | hunts | reported something | at most, at .95 | texts asked anew | bounds above 0 |",
        "|---|---|---|---|---|---|---|",
    ]
    with ProcessPoolExecutor(options.workers) as workers:
        for noise in NOISES:
            for frozen in (False, True):
                told = list(workers.map(one, [(noise, frozen, seed, options.asks) for seed in range(options.hunts)]))
                reported = sum(confirmed > 0 for confirmed, *_ in told)
                most = beta.ppf(0.95, reported + 1, options.hunts - reported) if reported < options.hunts else 1.0
                errs = "alike for the same prompt" if frozen else "anew in each ask"
                asked, above = sum(row[1] for row in told), sum(row[2] for row in told)
                rows.append(f"| {noise} | {errs} | {options.hunts} | {reported} | {most:.3f} | {asked} | {above} |")
                print(rows[-1], flush=True)
    table = "\n".join(rows)
    if options.write:
        put(options.write, "sound", f"With {options.asks} asks a hunt:\n\n{table}", measured())


if __name__ == "__main__":
    main()
