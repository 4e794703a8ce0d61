"""
What the gate's statistics promise, measured: coverage, errors and power on simulated judges whose truth is known.

    python -m benchmarks.calibration                                            # print all tables (about five minutes)
    python -m benchmarks.calibration --runs 500                                 # rougher, in seconds
    python -m benchmarks.calibration --write docs/reference/calibration.md      # write the page

Everything is seeded. `tests/power/test_calibration_*.py` assert the same tables, each within a stated tolerance.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from calm.statistics.intervals import padded_t
from calm.statistics.power import (
    Bias,
    Design,
    Noise,
    bounds,
    draw_counts,
    draw_thetas,
    excess_table,
    gain_table,
    gate_power,
    moved,
    sequential_power,
    true_consistency,
    true_excess,
    true_gain,
)
from calm.statistics.sequential import TWO_PLUS_TWO, TWO_STAGE, GroupPlan

if TYPE_CHECKING:
    from calm.statistics.power import Counts, Floats

SEED = 20_240_601
JUDGES = ("0", "0.02", "0.05", "0.10", "0.15", "mix20", "mix30", "mix30 0.05", "mix50", "beta1")
GRID = ("0", "0.05", "0.15", "mix30", "beta1")
GRID_DOSES = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.10, 0.125, 0.15, 0.20)
SIZES = (30, 50, 100, 200, 400)
DOSES = (0.03, 0.05, 0.10, 0.15, 0.20, 0.30)
MARGINS = (0.03, 0.05, 0.08, 0.10)
CELLS = 4_000_000
"""Case values held in memory at once."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of figures: rows of a label and its numbers."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]

    def __getitem__(self, label: str) -> dict[str, float]:
        """Return the numbers of a row by the names of their columns."""
        return dict(zip(self.head[1:], dict(self.rows)[label], strict=True))

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [f"## {self.title}", "", self.note, "", f"| {' | '.join(self.head)} |", "|---" * len(self.head) + "|"]
        lines += [
            f"| {label} | {' | '.join(f'{v:.3f}' if v < 10 else f'{v:.0f}' for v in row)} |" for label, row in self.rows
        ]
        return "\n".join(lines)


def samples(
    noise: Noise, bias: Bias, rng: Random, sizes: tuple[int, int], asks: tuple[int, int]
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the case values e and g of as many samples of as many cases as `sizes` says, some samples at a time."""
    runs, n = sizes
    for some in chunks(runs, n):
        theta = draw_thetas(noise, rng, (some, n))
        base = draw_counts(theta, asks[0], rng)
        counts = draw_counts(moved(theta, noise, bias, rng), asks[1], rng)
        yield excess_table(*asks)[base, counts], gain_table(*asks)[base, counts]


def chunks(runs: int, n: int) -> Iterator[int]:
    """Yield numbers of samples that fit into memory and add up to `runs`."""
    most = max(1, CELLS // n)
    while runs > 0:
        yield min(runs, most)
        runs -= most


def plain_t(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the bounds of Student's t without padding, for comparison."""
    n = values.shape[1]
    half = float(stdtrit(n - 1, 1 - level)) * values.std(axis=1, ddof=1) / sqrt(n)
    return values.mean(axis=1) - half, values.mean(axis=1) + half


def coverage(runs: int = 10_000) -> Table:
    """Return the least coverage over the grid of judges and doses, by number of cases."""
    rows = []
    for n in SIZES:
        rng, cells = Random(SEED + n), []
        for text in GRID:
            for dose in GRID_DOSES:
                noise, bias = Noise.read(text), Bias("decide", dose)
                cells.append(covered(noise, bias, rng, runs, n))
        least = np.min(np.array(cells), axis=0)
        rates = [rate_coverage(n, p) for p in (0.80, 0.90, 0.95, 0.99)]
        rows.append((str(n), (*map(float, least), *(min(column) for column in zip(*rates, strict=True)))))
    return Table(
        "Coverage of one-sided bounds at nominal .95",
        "The least over 55 cells: the judges 0, .05, .15, mix30 and beta1, where the trigger decides 0 to 20 % of the "
        "cases; 2+2 asks. Rates .80 to .99 of one ask a case are exact. The plain t is shown beside the padded one.",
        ("n", "t: excess U", "excess U", "excess L", "gain U", "gain L", "t: rate L", "rate L"),
        tuple(rows),
    )


def covered(noise: Noise, bias: Bias, rng: Random, runs: int, n: int) -> tuple[float, ...]:
    """Return the share of samples whose bounds hold the truth: plain upper, then padded, for excess and gain."""
    excess, gain = true_excess(noise, bias), true_gain(noise, bias)
    hits = np.zeros(5)
    for e, g in samples(noise, bias, rng, (runs, n), (2, 2)):
        e_low, e_high = bounds(e, -0.5, 1.0, 0.05)
        g_low, g_high = bounds(g, -1.0, 1.0, 0.05)
        inside = [
            plain_t(e, 0.05)[1] >= excess - 1e-12,
            e_high >= excess,
            e_low <= excess,
            g_high >= gain,
            g_low <= gain,
        ]
        hits += [float(x.sum()) for x in inside]
    return tuple(float(h) for h in hits / runs)


def rate_coverage(n: int, p: float) -> tuple[float, float]:
    """Return the exact coverage of the lower bound for a rate: plain t, padded t."""
    plain = padded = 0.0
    for k in range(n + 1):
        weight = comb(n, k) * p**k * (1 - p) ** (n - k)
        values = [1.0] * k + [0.0] * (n - k)
        rate = k / n
        half = float(stdtrit(n - 1, 0.95)) * sqrt(rate * (1 - rate) / (n - 1))
        plain += weight * (rate - half <= p)
        padded += weight * (padded_t(values, 0.0, 1.0, 0.05)[0] <= p)
    return plain, padded


def green(runs: int = 2000, *, probes: int = 30) -> Table:
    """Return how often a sound judge is green on all probes, by design."""
    designs = {
        "2+2": Design(200, 2, 2, 2),
        "2+2, n=400": Design(400, 2, 2, 2),
        "4+2": Design(200, 4, 2, 2),
        "4+4": Design(200, 4, 4, 4),
        "4+2 -> 4+4": Design(),
    }
    rows = []
    for text in JUDGES:
        noise = Noise.read(text)
        found = {
            name: gate_power(noise, Bias(), Random(SEED), design=design, probes=probes, runs=runs)
            for name, design in designs.items()
        }
        once = 4 * 200 + probes * 2 * 200
        extra = (found["4+2 -> 4+4"].calls - 400) * probes / once
        rows.append((text, (true_consistency(noise), *(power.green for power in found.values()), extra)))
    return Table(
        f"P(all {probes} probes green) for a judge without bias",
        f"{2 * probes} claims: `net_robustness >= .95` and `gain <= .10` on each probe, 200 cases unless stated. The "
        "last design is the gate's; the last column its calls beyond 4+2, as a share.",
        ("judge", "CR", *designs, "extra calls"),
        tuple(rows),
    )


def small_samples(runs: int = 2000) -> Table:
    """Return how often a sound judge is green with fewer cases."""
    rows = []
    for n in (80, 100, 120, 150):
        powers = [
            gate_power(Noise.read(text), Bias(), Random(SEED), design=Design(n), probes=30, runs=runs).green
            for text in ("0.02", "0.05", "0.10", "mix30")
        ]
        rows.append((str(n), tuple(powers)))
    return Table(
        "P(all 30 probes green) with fewer cases",
        "The gate's design, a judge without bias: why a gated perturbation must apply to 150 cases or more.",
        ("n", "0.02", "0.05", "0.10", "mix30"),
        tuple(rows),
    )


def doses(runs: int = 8000) -> Table:
    """Return how often a probe fails or is green, by the share of cases that the trigger decides."""
    rows = []
    for text in ("0", "0.05", "0.15", "mix30"):
        powers = [gate_power(Noise.read(text), Bias("decide", d), Random(SEED), runs=runs) for d in DOSES]
        rows.append((text, tuple(p for power in powers for p in (power.any_fail, power.green))))
    return Table(
        "One biased probe: the trigger decides a share of the cases",
        "P(any claim FAIL) and P(green) of the gate's design. Doses .03 to .05 under noise have a true excess below "
        ".05: a green there is right.",
        ("judge", *(f"{d:.2f} {what}" for d in DOSES for what in ("FAIL", "green"))),
        tuple(rows),
    )


def shifts(runs: int = 8000) -> Table:
    """Return how often a probe is green, by the share of asks that the trigger decides."""
    sizes = (0.05, 0.10, 0.15, 0.20, 0.30)
    rows = []
    for text in ("0", "0.05", "0.15", "mix30"):
        powers = [gate_power(Noise.read(text), Bias("shift", d), Random(SEED), runs=runs) for d in sizes]
        rows.append((text, tuple(power.green for power in powers)))
    return Table(
        "One biased probe: the trigger decides a share of the asks",
        "P(green). The excess is quadratic in such a shift (d^2), so that net robustness alone is nearly blind to "
        "small ones; the gain sees them.",
        ("judge", *(f"{d:.2f}" for d in sizes)),
        tuple(rows),
    )


def limits(runs: int = 8000) -> Table:
    """Return how often a claim passes and fails for judges exactly at its limit."""
    rows = []
    for text in ("0", "0.02", "0.05", "0.10", "0.15", "mix30"):
        noise = Noise.read(text)
        net = gate_power(noise, dose_for(noise, "excess", 0.05), Random(SEED), runs=runs)
        gain = gate_power(noise, dose_for(noise, "gain", 0.10), Random(SEED + 1), runs=runs)
        rows.append((text, (net.net_passes, net.net_fails, gain.gain_passes, gain.gain_fails)))
    return Table(
        "Judges exactly at a limit",
        "P(PASS) and P(FAIL) of the gate's design where the true excess is .05 or the true gain .10: at most .05 each.",
        ("judge", "net PASS", "net FAIL", "gain PASS", "gain FAIL"),
        tuple(rows),
    )


def looks(plan: GroupPlan, clean: int, runs: int = 4000) -> Table:
    """Return how often a claim passes and fails under a plan of looks, and what it costs."""
    rows = []
    for measure, limit, noises, truths in (
        ("excess", 0.05, ("0", "0.05", "0.15", "mix30"), (0.0, 0.02, 0.05, 0.10, 0.15, 0.30)),
        ("gain", 0.10, ("0", "0.05", "0.15"), (0.0, 0.02, 0.05, 0.10, 0.15, 0.30)),
    ):
        for text in noises:
            noise = Noise.read(text)
            for truth in truths:
                bias = dose_for(noise, measure, truth)
                power = sequential_power(
                    noise, bias, Random(SEED), measure=measure, limit=limit, plan=plan, clean=clean, runs=runs
                )
                label = f"{measure} {limit:.2f}, {text}, {truth:.2f}"
                rows.append((label, (power.passes, power.fails, power.cases, power.calls)))
    name = "4+2 -> 4+4" if plan is TWO_STAGE else "2+2"
    return Table(
        f"Sequential, {name}",
        "Claim and limit, judge, true value: P(PASS), P(FAIL), expected number of cases and of perturbed calls.",
        ("claim, judge, true", "PASS", "FAIL", "cases", "calls"),
        tuple(rows),
    )


def dose_for(noise: Noise, measure: str, truth: float) -> Bias:
    """Return the share of cases to decide that gives a true excess or gain (both are linear in it)."""
    whole = (true_excess if measure == "excess" else true_gain)(noise, Bias("decide", 1.0))
    return Bias("decide", truth / whole)


def pilot(runs: int = 4000) -> Table:
    """Return the gain of an edit that does nothing, by which ask chooses the target and which are compared with."""
    rows = []
    for text in ("0.02", "0.05", "0.10", "0.15", "mix30"):
        noise, rng = Noise.read(text), Random(SEED)
        total = np.zeros((5, 3))
        for some in chunks(runs, 200):
            total += pilot_samples(noise, rng, some)
        rows.append((text, tuple(float(v) for v in (total / runs).ravel())))
    ways = ("a1-a1", "a1-a1a2", "a1-a2", "a0-a1a2", "random-a1a2")
    return Table(
        "Choosing the target by the judge's own verdict",
        "An edit that does nothing: measured gain, P(PASS of `gain <= .10`), P(lower bound above 0). a1-a2: the loser "
        "of ask a1 is treated, and compared with ask a2. a0-a1a2 is the gate's way: its pilot a0 is in no measure.",
        ("judge", *(f"{way} {what}" for way in ways for what in ("gain", "PASS", "found"))),
        tuple(rows),
    )


def pilot_samples(noise: Noise, rng: Random, runs: int) -> Floats:
    """Return sums over samples of measured gain, pass, and effect found, for each way to choose and compare."""
    theta = draw_thetas(noise, rng, (runs, 200))
    a0, a1, a2, coin = (draw_counts(t, 1, rng) for t in (theta, theta, theta, np.full(theta.shape, 0.5)))
    after = draw_counts(theta, 2, rng) / 2
    found = []
    for chooser, before in ((a1, a1), (a1, (a1 + a2) / 2), (a1, a2), (a0, (a1 + a2) / 2), (coin, (a1 + a2) / 2)):
        gains = np.where(chooser == 0, after - before, before - after)
        low, high = bounds(gains, -1.0, 1.0, 0.05)
        found.append([gains.mean(axis=1).sum(), (high <= 0.10).sum(), (low > 0).sum()])
    return np.array(found, dtype=np.float64)


def baseline(runs: int = 4000) -> Table:
    """Return the power to prove, per probe, that an unchanged judge did not get worse by a margin."""
    rows = []
    for text in ("0.02", "0.05", "0.10", "0.15", "mix30"):
        cells = []
        for asks in ((2, 2), (4, 2), (4, 4)):
            upper = np.concatenate(
                [bounds(d, -1.5, 1.5, 0.05)[1] for d in differences(Noise.read(text), Bias(), Random(SEED), runs, asks)]
            )
            cells += [float((upper <= margin).mean()) for margin in MARGINS]
        rows.append((text, tuple(cells)))
    return Table(
        "Not worse than a baseline: power per probe",
        "An unchanged judge, 200 cases: P(upper bound of the mean difference of e within the margin).",
        ("judge", *(f"{asks} {margin:.2f}" for asks in ("2+2", "4+2", "4+4") for margin in MARGINS)),
        tuple(rows),
    )


def differences(noise: Noise, bias: Bias, rng: Random, runs: int, asks: tuple[int, int]) -> Iterator[Floats]:
    """Yield differences of case values e between a judge with a bias and the same one without, on the same cases."""
    table = excess_table(*asks)
    for some in chunks(runs, 200):
        theta = draw_thetas(noise, rng, (some, 200))
        old = table[draw_counts(theta, asks[0], rng), draw_counts(theta, asks[1], rng)]
        after = moved(theta, noise, bias, rng)
        yield table[draw_counts(theta, asks[0], rng), draw_counts(after, asks[1], rng)] - old


def baseline_errors(runs: int = 8000) -> Table:
    """Return how often a judge that got worse by exactly the margin is called not worse."""
    rows = []
    for text in ("0.02", "0.05", "0.10", "mix30"):
        noise, cells = Noise.read(text), []
        for margin in (0.05, 0.10):
            padded, plain = [], []
            for d in differences(noise, dose_for(noise, "excess", margin), Random(SEED), runs, (4, 2)):
                padded.append(bounds(d, -1.5, 1.5, 0.05)[1] <= margin)
                plain.append(plain_t(d, 0.05)[1] <= margin)
            cells += [float(np.concatenate(padded).mean()), float(np.concatenate(plain).mean())]
        rows.append((text, tuple(cells)))
    return Table(
        "Not worse than a baseline: errors at the margin",
        "A judge whose excess rose by exactly the margin, 4+2 asks: P(called not worse) at nominal .05, by each t.",
        ("judge", "0.05 padded", "0.05 plain", "0.10 padded", "0.10 plain"),
        tuple(rows),
    )


def pooled(runs: int = 1000, *, probes: int = 30) -> Table:
    """Return the power of the one pooled proof against a baseline, and of finding one worse probe."""
    rows = []
    for text in ("0.05", "0.10", "0.15", "mix30"):
        noise, rng = Noise.read(text), Random(SEED)
        proven = 0.0
        for some in chunks(runs, 200 * probes):
            proven += float((bounds(pooled_differences(noise, rng, some, probes), -1.5, 1.5, 0.05)[1] <= 0.03).sum())
        found = []
        for worse in (0.0, 0.05, 0.10, 0.15):
            lower = [
                bounds(d, -1.5, 1.5, 0.05 / probes)[0] > 0
                for d in differences(noise, dose_for(noise, "excess", worse), rng, 4 * runs, (4, 2))
            ]
            found.append(float(np.concatenate(lower).mean()))
        rows.append((text, (proven / runs, *found)))
    return Table(
        "Not worse than a baseline: one pooled proof, and detection per probe",
        f"4+2 asks, {probes} probes: P(mean difference over all probes proven below .03) for an unchanged judge; "
        f"P(a probe found worse at level .05/{probes}) where its excess rose by 0, .05, .10, .15.",
        ("judge", "pooled", "found 0", "found 0.05", "found 0.10", "found 0.15"),
        tuple(rows),
    )


def pooled_differences(noise: Noise, rng: Random, runs: int, probes: int) -> Floats:
    """Return differences of case values e of an unchanged judge, averaged over probes that share their clean asks."""
    theta = draw_thetas(noise, rng, (runs, 200))
    table = excess_table(4, 2)

    def mean_excess() -> Floats:
        base = draw_counts(theta, 4, rng)
        return np.mean([table[base, draw_counts(theta, 2, rng)] for _ in range(probes)], axis=0)

    return mean_excess() - mean_excess()


def consistency(runs: int = 8000) -> Table:
    """Return how often `consistency_rate >= limit` passes, by clean asks."""
    rows = []
    for text, limit in (
        ("0.05", 0.80), ("0.05", 0.85), ("0.08", 0.80), ("0.10", 0.75), ("0.10", 0.80),
        ("0.25", 0.80), ("mix30", 0.80), ("mix50", 0.75),
    ):  # fmt: skip
        noise, rng, cells = Noise.read(text), Random(SEED), []
        for asks in (2, 4):
            low, high = bounds(
                agreement(draw_counts(draw_thetas(noise, rng, (runs, 200)), asks, rng), asks), 0, 1, 0.05
            )
            cells += [float((low >= limit).mean()), float((high < limit).mean())]
        rows.append((f"{text}, {limit:.2f}", (true_consistency(noise), *cells)))
    return Table(
        "The judge's own consistency",
        "Judge and limit, 200 cases, 2 or 4 clean asks: P(PASS) and P(FAIL) of `consistency_rate >= limit`.",
        ("judge, limit", "CR", "2 PASS", "2 FAIL", "4 PASS", "4 FAIL"),
        tuple(rows),
    )


def agreement(counts: Counts, asks: int) -> Floats:
    """Return the share of equal pairs of asks by the number that favour one answer."""
    return np.asarray(1 - counts * (asks - counts) / (asks * (asks - 1) / 2), dtype=np.float64)


def two_plus_two(runs: int = 4000) -> Table:
    """Return the sequential table of 2+2 asks."""
    return looks(TWO_PLUS_TWO, 2, runs)


def two_stage(runs: int = 4000) -> Table:
    """Return the sequential table of 4+2 asks, topped up to 4+4."""
    return looks(TWO_STAGE, 4, runs)


TABLES: Sequence[Callable[..., Table]] = (
    coverage, green, small_samples, doses, shifts, limits, consistency, two_stage, two_plus_two, pilot, baseline,
    baseline_errors, pooled,
)  # fmt: skip

HEAD = """\
# Calibration

How well the gate's statistics keep what they promise, measured on simulated judges whose truth is known. Written by
`python -m benchmarks.calibration --write docs/reference/calibration.md`; every table is asserted, with a tolerance, in
`tests/power/`.

Judges: a number is the probability that an ask errs; `mix30` has 30 % close calls (anything from 0 to 1) and .02
elsewhere, `mix30 0.05` the same with .05; `beta1` draws each case from Beta(.15, .85). CR is the true consistency rate.
Simulated shares have an error of at most .007 at .90 for 2,000 runs.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all tables, or write the page."""
    parser = argparse.ArgumentParser(description="Coverage, errors and power of the gate on simulated judges.")
    parser.add_argument("--runs", type=int, help="simulated audits of every cell (default: each table's own number)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page to write")
    options = parser.parse_args(arguments)
    found = [table(options.runs) if options.runs else table() for table in TABLES]
    text = "\n\n".join([HEAD.rstrip("\n"), *(table.markdown() for table in found)]) + "\n"
    if options.write is None:
        print(text)
    else:
        options.write.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
