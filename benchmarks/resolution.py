"""
What so many cases can decide: the table that `calm.gate.resolution` reads, by simulation of a sound judge.

    python -m benchmarks.resolution             # print the table (about ten minutes)
    python -m benchmarks.resolution --write     # write it to its place in the package
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from calm.core.claims import Claim
from calm.core.edits import Expects
from calm.core.measures import MEASURES
from calm.core.verdict import FAMILIES, Family
from calm.gate.resolution import NOISE, STEP, TAILS, Cell
from calm.gate.sizing import ROTATION, ProbeClaims, Rules, Simulated, provable, worst_at
from calm.statistics.power import Noise

SIZES = (20, 30, 40, 60, 80, 100, 120, 150, 200)
"""The numbers of cases."""
RUNS, WORST_RUNS = 3000, 400
PROBES = 8
"""Over how many probes a claim about the whole run is pooled: the shipped gate has more that hold its claims."""
SEED = 0


def _means(family: Family, expects: Expects | None) -> list[Claim]:
    """Return the claims about the mean of a probe that suites make; their limits do not matter."""
    rated = family in ("score", "rubric", "label")
    match expects:
        case None:
            rate = Claim("repeat_distance", "<=", 0.1)
            found = [Claim("consistency_rate", ">=", 0.5), rate]
            return found + ([Claim("accuracy", ">=", 0.5)] if family in ("pairwise", "rubric", "label") else [])
        case Expects.WORSE:
            return [Claim("net_detection", ">=", 0.5)]
        case Expects.NOT_BETTER:
            return [Claim("net_robustness", ">=", 0.9), Claim("gain", "<=", 0.1)]
        case _:
            shift = [Claim("mean_shift", "abs<=", 0.1)] if rated else []
            both = [Claim("net_robustness", ">=", 0.9), Claim("gain", "abs<=", 0.1), *shift]
            return [*both, Claim("rewording_rate", "<=", 0.1)]


def _worst(expects: Expects | None) -> list[Claim]:
    match expects:
        case Expects.NOT_BETTER:
            return [Claim("worst_gain", "<=", 0.3)]
        case Expects.SAME:
            return [Claim("worst_robustness", ">=", 0.7)]
        case Expects.WORSE:
            return [Claim("worst_detection", ">=", 0.2)]
        case _:
            return []


def table(
    families: Sequence[Family] = FAMILIES, sizes: Sequence[int] = SIZES, runs: int = RUNS, worst_runs: int = WORST_RUNS
) -> Iterator[tuple[Cell, int, list[float]]]:
    """Yield for each claim and number of cases the limit that a sound judge misses in each of `TAILS`."""
    rules = Rules()
    for family in families:
        judge = Simulated(family, Noise(NOISE))
        for n in sizes:
            rng = Random(f"{SEED} {family} {n}")
            for expects in (None, Expects.SAME, Expects.NOT_BETTER, Expects.WORSE):
                named = "" if expects is None else expects.value
                for variants in (1,) if expects is None else (1, ROTATION):
                    claims = _means(family, expects)
                    probe = ProbeClaims(tuple(claims), expects=expects, variants=variants)
                    found = provable(claims, probe, judge, rules, n, rng=rng, runs=runs)
                    for claim, limits in zip(claims, found, strict=True):
                        yield Cell(family, claim.measure, claim.op, named, variants > 1), n, _tails(limits)
                for claim in _worst(expects):
                    probe = ProbeClaims((claim,), expects=expects, variants=ROTATION)
                    yield (
                        Cell(family, claim.measure, claim.op, named, True),
                        n,
                        _scan(claim, probe, judge, n, worst_runs),
                    )
            yield from pooled(family, n, runs)


def pooled(family: Family, n: int, runs: int = RUNS) -> Iterator[tuple[Cell, int, list[float]]]:
    """Yield the same for the claims about a whole run, of probes that stop where their own claims are decided."""
    claims = (Claim("net_robustness", ">=", 0.90), Claim("gain", "<=", 0.15))
    probe = ProbeClaims(claims, expects=Expects.NOT_BETTER, variants=ROTATION)
    judge, rng = Simulated(family, Noise(NOISE)), Random(f"{SEED} {family} {n} run")
    found = provable(claims, probe, judge, Rules(), n, rng=rng, probes=PROBES, runs=runs // 3)
    for claim, limits in zip(claims, found, strict=True):
        yield Cell(family, claim.measure, claim.op, "run", False), n, _tails(limits)


def _tails(limits: NDArray[np.float64]) -> list[float]:
    """Return the limits that so many of the runs miss; the strictest come first."""
    count = len(limits)
    return [float(limits[min(count - 1, int(np.ceil(count * (1 - tail))) - 1)]) for tail in TAILS]


def _scan(claim: Claim, probe: ProbeClaims, judge: Simulated, n: int, runs: int) -> list[float]:
    """Return the same for a claim about the worst variant, whose asks depend on its limit: each limit is tried."""
    sign, end = (-1, MEASURES[claim.measure].low) if claim.op == ">=" else (1, MEASURES[claim.measure].high)
    end = 0.0 if claim.measure == "worst_robustness" else end
    first = 0.95 if claim.op == ">=" else 0.05
    steps = round(abs(end - first) / (3 * STEP))
    tried = [round(first + sign * 3 * STEP * i, 4) for i in range(steps)]
    outcomes = worst_at(claim, tried, probe, judge, Rules(), n=n, rng=Random(f"{SEED} {n} worst"), runs=runs)
    misses = [float((outcome <= 0).mean()) for outcome in outcomes]
    return [next((x for x, miss in zip(tried, misses, strict=True) if miss <= tail), tried[-1]) for tail in TAILS]


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table to its place in the package")
    write = parser.parse_args().write
    head = ",".join(["family", "measure", "op", "expects", "rotation", "cases", *(f"missed {tail}" for tail in TAILS)])
    rows = [head]
    for cell, n, limits in table():
        rows.append(",".join([*map(str, cell[:4]), str(int(cell.rotation)), str(n), *(f"{x:.4f}" for x in limits)]))
        if not write:
            print(rows[-1], flush=True)
    if write:
        Path(str(files("calm.gate").joinpath("resolution.csv"))).write_text("\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
