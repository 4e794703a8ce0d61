"""`calm power`: how many cases and repeats a claim needs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from random import Random

from calm.commands import DONE, REPEATS, add_command
from calm.core.claims import Claim
from calm.core.measures import MEASURES
from calm.errors import ConfigError, EstimateError
from calm.experiment.stopping import LEVEL, Design
from calm.gate.scenario import Scenario
from calm.gate.sizing import JOINT_RUNS, ROTATION, RUNS, SEED, Odds, ProbeClaims, Rules, Simulated, all_green, odds
from calm.results.sentences import allows
from calm.statistics.power import binomial_sizes, true_consistency

SIZED = (
    "net_robustness",
    "gain",
    "worst_gain",
    "worst_robustness",
    "run/net_robustness",
    "run/gain",
    "net_detection",
    "consistency_rate",
    "accuracy",
    "readable_rate",
)


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `power`."""
    power = add_command(
        commands,
        "power",
        "Show how many cases a claim needs, and what it says. The command simulates judges with the noise that you "
        "give, and counts how often they pass and fail by the looks of a run.",
        "calm power --measure gain --noise 0.1",
    )
    power.add_argument("--measure", default="net_robustness", metavar="NAME", help=f"one of {', '.join(SIZED)}")
    power.add_argument("--limit", type=float, metavar="X", help="limit of the claim (default: that of the suites)")
    power.add_argument("--true", type=float, metavar="X", help="the true value for the judge (default: no effect)")
    power.add_argument(
        "--noise", type=float, default=0.05, metavar="V", help="share of asks in which the judge errs (default 0.05)"
    )
    power.add_argument(
        "--close-calls", type=float, default=0.0, metavar="V", help="share of cases without a clear winner (default 0)"
    )
    power.add_argument(
        "--probes", type=int, default=12, metavar="N", help="probes that must all pass, or are pooled (default 12)"
    )
    power.add_argument("--cases", type=int, metavar="N", help="show only N cases (default 40 to 400)")
    power.add_argument("--repeats", default="2+1", metavar="K+M", help=REPEATS)
    power.set_defaults(run=_power)


def _power(options: argparse.Namespace) -> int:
    from calm.gate.scenario import scenario

    values = options.measure, options.limit, options.true, options.noise, options.close_calls
    asked = scenario(*values, probes=max(2, options.probes))
    print(power_report(asked, probes=options.probes, cases=options.cases, repeats=options.repeats))
    return DONE


SIZES = (40, 60, 80, 100, 120, 150, 200, 250, 300, 400)
"""The numbers of cases in the table."""
STEP = 20
"""Steps of the search for the smallest number of cases."""
TARGETS = (0.80, 0.90, 0.95)
JOINT_WORK = 5_000_000
"""The cases of all simulated runs together at which there are fewer runs."""
MOST_CASES, MOST_PROBES, MOST_ASKS = 2000, 200, 12


def in_words(asked: Scenario) -> str:
    """
    Return what a claim says in plain words.

    >>> from calm.gate.scenario import scenario
    >>> in_words(scenario("worst_gain"))
    'even the worst edit makes the worse answer win in at most 30 of 100 cases'
    """
    worst = "even the worst edit" if MEASURES[asked.claim.measure].worst_of else "an edit"
    return allows(asked.claim, "pairwise", "the average edit" if asked.probes > 1 else worst)


def power_report(asked: Scenario, *, probes: int = 12, cases: int | None = None, repeats: str = "2+1") -> str:
    """
    Return what `calm power` prints.

    Raises:
        ConfigError: values that cannot be, each with its option.
    """
    problems = []
    if not 1 <= probes <= MOST_PROBES:
        problems.append(f"--probes: expected a whole number from 1 to {MOST_PROBES}, got {probes}")
    if cases is not None and not 2 <= cases <= MOST_CASES:
        problems.append(f"--cases: expected a whole number from 2 to {MOST_CASES}, got {cases}")
    design = _design(repeats, problems)
    if problems:
        raise ConfigError(problems)
    sizes = SIZES if cases is None else (cases,)
    worst, pooled = bool(MEASURES[asked.claim.measure].worst_of), asked.probes > 1
    rules = [Rules(design)] if worst or pooled else [Rules(design, top_ups=0), Rules(design)]
    search = sizes if worst else sorted({*range(STEP, max(SIZES) + 1, STEP), *sizes})
    curves = {one: odds(asked, one, search, Random(SEED)) for one in rules}
    joint = min(JOINT_RUNS, max(50, JOINT_WORK // (probes * max(sizes))))
    together: list[float] = []
    if asked.expects is not None and not (worst or pooled):
        both = [ProbeClaims(_pair_of(asked), expects=asked.expects)] * probes
        judge = Simulated("pairwise", asked.noise, asked.bias)
        together = [all_green(both, judge, rules[-1], n, Random(SEED + 1), runs=joint) for n in sizes]
    lines = [*_about(asked), "", *_table_lines(asked, curves, together, sizes, probes), ""]
    lines += _size_lines(asked, curves)
    if asked.expects is None:
        lines += ["", *_exact_lines(asked)]
    return "\n".join([*lines, "", *_method(asked, probes if together else 0, joint)])


def _design(text: str, problems: list[str]) -> Design:
    """Return the asks that a text such as "2+1" names, or note what is wrong with it."""
    clean, plus, perturbed = text.partition("+")
    numbers = [int(n) for n in (clean, perturbed) if n.isascii() and n.isdigit()]
    if not plus or len(numbers) < 2 or not all(1 <= n <= MOST_ASKS for n in numbers):
        wanted = f"clean+perturbed asks of 1 to {MOST_ASKS} each such as 2+1"
        problems.append(f"--repeats: expected {wanted}, got {text!r}")
        return Design()
    if numbers[0] < 2:
        problems.append(f"--repeats: expected two clean asks or more, as one shows no noise, got {numbers[0]}")
    return Design(*numbers)


def _pair_of(asked: Scenario) -> tuple[Claim, ...]:
    """Return the claims of a probe: the one in question, and the other one as the shipped suites make it."""
    others = {"net_robustness": Claim("gain", "<=", 0.15), "gain": Claim("net_robustness", ">=", 0.90)}
    other = others.get(asked.claim.measure)
    return (asked.claim,) if other is None else (asked.claim, other)


def _about(asked: Scenario) -> list[str]:
    noise, run = asked.noise, asked.probes > 1
    judge = f"a judge that errs in {noise.rate:.3g} of asks"
    if asked.claim.measure == "readable_rate":
        judge = "a judge whose replies are unreadable by chance"
    elif noise.close:
        judge += f", with close calls in {noise.close:.3g} of cases"
    agrees = "" if asked.value_of else f" (two asks agree in {true_consistency(noise):.3f})"
    name = f"run/{asked.claim}" if run else str(asked.claim)
    return [
        f"{name}, where it is truly {asked.true:.3f}; {judge}{agrees}",
        f"it says: {in_words(asked)}",
    ]


def _asks(rules: Rules) -> str:
    return f"{rules.design} asks, topped up" if rules.top_ups else f"{rules.design} asks, no top-up"


def _table_lines(
    asked: Scenario,
    curves: Mapping[Rules, Sequence[Odds]],
    together: Sequence[float],
    sizes: Sequence[int],
    probes: int,
) -> list[str]:
    names = ["PASS", "FAIL", "UNDECIDED"]
    widths = [max(7, len(name) + 2) for name in names]
    inner = "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    head = ["     ", "cases"]
    for rules in curves:
        head[0] += f"  | {_asks(rules):<{len(inner)}}"
        head[1] += f"  | {inner}"
    green = f"all {probes} green"
    if together:
        head[0] += "  |"
        head[1] += f"  | {green}"
    lines = [line.rstrip() for line in head]
    for place, n in enumerate(sizes):
        line = f"{n:>5}"
        for curve in curves.values():
            found = next(o for o in curve if o.n == n)
            shares = [found.passes, found.fails, max(0.0, 1 - found.passes - found.fails)]
            line += "  | " + "".join(f"{share:>{width}.3f}" for share, width in zip(shares, widths, strict=True))
        lines.append(line + (f"  | {together[place]:>{len(green)}.3f}" if together else ""))
    return lines


def _size_lines(asked: Scenario, curves: Mapping[Rules, Sequence[Odds]]) -> list[str]:
    width = max(len(_asks(rules)) for rules in curves)
    head = "  ".join(f"P(PASS) >= {target:.2f}" for target in TARGETS)
    lines = [f"{'smallest n for':<{width}}  {head}"]
    for rules, curve in curves.items():
        cells = "  ".join(f"{_from_where(curve, target):>15}" for target in TARGETS)
        lines.append(f"{_asks(rules):<{width}}  {cells}")
    return lines


def _from_where(curve: Sequence[Odds], target: float) -> str:
    """Return the number of cases from which on the claim passes so often."""
    within = [o for o in curve if o.n <= max(SIZES)] or list(curve)
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
    worst = bool(MEASURES[asked.claim.measure].worst_of)
    runs = RUNS // 10 if worst else RUNS
    step = "of the table" if worst else f"in steps of {STEP}"
    lines = [
        f"Computed by simulation: a judge with two verdicts, the looks and bounds of a run, one-sided level {LEVEL:g}.",
        f"P(PASS) and P(FAIL) from {runs} runs (error up to {1 / (2 * runs**0.5):.3f}), seed {SEED}; "
        f"the smallest n {step}, from which on P(PASS) stays above the target.",
    ]
    if worst:
        lines.append(f"A rotation of {ROTATION} variants, of which each is as the true value says.")
    if asked.probes > 1:
        lines.append(f"Pooled over {asked.probes} probes that asked all of the cases, without any top-up.")
    if probes:
        claims = " and ".join(map(str, _pair_of(asked)))
        lines.append(
            f"All {probes} green: {probes} probes that share their clean asks, each with {claims}, and the claims "
            f"about the run, from {joint} runs (error up to {1 / (2 * joint**0.5):.3f})."
        )
    if asked.bias.dose:
        lines.append(f"The true value is that of a bias that decides {asked.bias.dose:.3g} of the cases.")
    return lines
