"""What `calm power` prints: how often a claim passes with so many cases, and how many cases it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from calm.core.claims import Claim
from calm.core.measures import MEASURES
from calm.errors import ConfigError, EstimateError
from calm.experiment.stopping import LEVEL
from calm.gate.scenario import Repeats, Scenario
from calm.gate.sizing import JOINT_RUNS, RUNS, SEED, STAGE_LEVEL, Odds, ProbeClaims, all_green, level_of, odds
from calm.statistics.power import binomial_sizes, true_consistency

SIZES = (40, 60, 80, 100, 120, 150, 200, 250, 300, 400)
"""The numbers of cases in the table."""
STEP = 5
"""Steps of the search for the smallest number of cases."""
TARGETS = (0.80, 0.90, 0.95)
JOINT_WORK = 5_000_000
"""The cases of all simulated runs together at which there are fewer runs."""
MOST_CASES, MOST_PROBES = 2000, 200


def power_report(asked: Scenario, *, probes: int = 12, cases: int | None = None, repeats: str = "4+2") -> str:
    """
    Return what `calm power` prints.

    Raises:
        ConfigError: values that cannot be, each with its option.
    """
    given = Repeats.read(repeats, "--repeats")
    problems = []
    if not 1 <= probes <= MOST_PROBES:
        problems.append(f"--probes: expected a whole number from 1 to {MOST_PROBES}, got {probes}")
    if cases is not None and not 2 <= cases <= MOST_CASES:
        problems.append(f"--cases: expected a whole number from 2 to {MOST_CASES}, got {cases}")
    if (least := min(given.clean, given.perturbed)) < 2:
        problems.append(f"--repeats: expected two asks or more in each arm, as one shows no noise, got {least}")
    if problems:
        raise ConfigError(problems)
    sizes = SIZES if cases is None else (cases,)
    designs = _designs(given, edited=asked.edited)
    search = sorted({*range(2 * STEP, max(SIZES) + 1, STEP), *sizes})
    curves = {d: odds(asked, d, search, Random(SEED)) for d in designs}
    joint = min(JOINT_RUNS, max(50, JOINT_WORK // (probes * max(sizes))))
    green: dict[Repeats, Sequence[float | None]] = {d: [None] * len(sizes) for d in designs}
    if asked.edited:
        both = ProbeClaims(_pair_of(asked))
        for d in designs:
            rng = Random(SEED + 1)
            green[d] = all_green([both] * probes, asked.noise, d, sizes, rng, bias=asked.bias, runs=joint)
    lines = [_about(asked), "", *_table_lines(asked, curves, green, sizes, probes), ""]
    lines += _size_lines(asked, curves)
    if not asked.edited:
        lines += ["", *_exact_lines(asked)]
    return "\n".join([*lines, "", *_method(asked, probes, joint)])


def _designs(given: Repeats, *, edited: bool) -> list[Repeats]:
    """Return the designs to compare: 2+2, the given one, the given one topped up; for clean claims the clean asks."""
    if not edited:
        return [Repeats(k, given.perturbed, topped=False) for k in sorted({2, given.clean})]
    fixed = Repeats(given.clean, given.perturbed, topped=False)
    found = [Repeats(2, 2, topped=False), fixed, *([given] if given.staged else [])]
    return list(dict.fromkeys(found))


def _pair_of(asked: Scenario) -> tuple[Claim, Claim]:
    """Return the two claims of a probe: the one in question, and the other one as the shipped suites make it."""
    gain, net = Claim("gain", "<=", 0.10), Claim("net_robustness", ">=", 0.95)
    return asked.claim, gain if asked.claim.measure == "net_robustness" else net


def _about(asked: Scenario) -> str:
    measure, noise = asked.claim.measure, asked.noise
    true = 1 - asked.true if measure == "net_robustness" else asked.true
    judge = f"a judge that errs in {noise.rate:.3g} of asks"
    if measure == "readable_rate":
        judge = "a judge whose replies are unreadable by chance"
    elif noise.close:
        judge += f", with close calls in {noise.close:.3g} of cases"
    agrees = "" if measure == "readable_rate" else f" (two asks agree in {true_consistency(noise):.3f})"
    return f"{asked.claim}, where it is truly {true:.3f}; {judge}{agrees}"


def _asks(asked: Scenario, repeats: Repeats) -> str:
    return str(repeats) if asked.edited else f"{repeats.clean} clean asks"


def _table_lines(
    asked: Scenario,
    curves: Mapping[Repeats, Sequence[Odds]],
    green: Mapping[Repeats, Sequence[float | None]],
    sizes: Sequence[int],
    probes: int,
) -> list[str]:
    all_of = f"all {probes} green"
    names = ["PASS", "FAIL", "UNDECIDED", *([all_of] if asked.edited else [])]
    widths = [max(7, len(name) + 2) for name in names]
    inner = "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    head = ["     ", "cases"]
    for repeats in curves:
        head[0] += f"  | {_asks(asked, repeats):<{len(inner)}}"
        head[1] += f"  | {inner}"
    lines = [line.rstrip() for line in head]
    for place, n in enumerate(sizes):
        line = f"{n:>5}"
        for repeats, curve in curves.items():
            found = next(o for o in curve if o.n == n)
            shares = [found.passes, found.fails, max(0.0, 1 - found.passes - found.fails)]
            together = green[repeats][place]
            shares += [] if together is None else [together]
            line += "  | " + "".join(f"{share:>{width}.3f}" for share, width in zip(shares, widths, strict=True))
        lines.append(line)
    return lines


def _size_lines(asked: Scenario, curves: Mapping[Repeats, Sequence[Odds]]) -> list[str]:
    measure = MEASURES[asked.claim.measure]
    width = max(len(_asks(asked, r)) for r in curves)
    head = "  ".join(f"P(PASS) >= {target:.2f}" for target in TARGETS)
    lines = [f"{'smallest n for':<{max(width, 14)}}  passing at all  {head}"]
    for repeats, curve in curves.items():
        least = measure.smallest_n(asked.claim, level_of(repeats, edited=asked.edited))
        found = [_from_where(curve, target) for target in TARGETS]
        cells = "  ".join(f"{cell:>15}" for cell in found)
        lines.append(f"{_asks(asked, repeats):<{max(width, 14)}}  {least:>14}  {cells}")
    return lines


def _from_where(curve: Sequence[Odds], target: float) -> str:
    """Return the number of cases from which on the claim passes so often."""
    within = [o for o in curve if o.n <= max(SIZES)]
    short = [place for place, o in enumerate(within) if o.passes < target]
    first = short[-1] + 1 if short else 0
    return str(within[first].n) if first < len(within) else f"over {within[-1].n}"


def _exact_lines(asked: Scenario) -> list[str]:
    """Return the sizes of an exact test of a rate, where each case says yes or no."""
    once = "two asks a case, which agree or not" if asked.claim.measure == "consistency_rate" else "one ask a case"
    lines = [f"exact binomial test, {once}: P(PASS) reaches the target first at n, and stays there from n on"]
    for target in TARGETS:
        try:
            first, stable = binomial_sizes(asked.claim.limit, asked.true, target, level=LEVEL)
            lines.append(f"  {target:.2f}: {first} / {stable}")
        except EstimateError:
            too_near = "none: the true rate is not above the limit" if asked.true <= asked.claim.limit else "over 5000"
            lines.append(f"  {target:.2f}: {too_near}")
    return lines


def _method(asked: Scenario, probes: int, joint: int) -> list[str]:
    lines = [
        f"Computed by simulation: a judge with two verdicts, one-sided padded t bounds at level {LEVEL:g}.",
        f"P(PASS) and P(FAIL) from {RUNS} runs (error up to {1 / (2 * RUNS**0.5):.3f}), seed {SEED}; "
        f"the smallest n in steps of {STEP}, from which on P(PASS) stays above the target.",
        "The smallest n for passing at all is that of a judge that never errs.",
    ]
    if asked.edited:
        first, second = _pair_of(asked)
        lines.append(
            f"With -> undecided claims are topped up, each of the two decisions at level {STAGE_LEVEL:g}, as in a run; "
            "without it is what a run would be without top-ups."
        )
        lines.append(
            f"All {probes} green: {probes} probes that share their clean asks, each with {first} and {second}, "
            f"from {joint} runs (error up to {1 / (2 * joint**0.5):.3f})."
        )
        if asked.bias.dose:
            lines.append(f"The true value stands for a bias that decides {asked.bias.dose:.3g} of the cases.")
    return lines
