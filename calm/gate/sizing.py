"""
How many cases and asks a claim needs: how often it passes and fails, by seeded simulation; exact for rates of one ask.

| name | meaning |
|---|---|
| `Repeats` | asks a case: clean, perturbed, and whether undecided claims are topped up |
| `Question`, `question` | a claim, the judge's noise, and what is true of the judge |
| `odds` | how often the claim passes and fails at several numbers of cases |
| `Claimed`, `all_green` | how often all claims of several probes pass together |
| `power_report` | all of it as text: what `calm power` prints |

The judge of the models has two verdicts (`calm.statistics.power`); bounds are the padded t of the gate, at its levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from calm.core.claims import Claim
from calm.core.measures import MEASURES
from calm.errors import ConfigError, EstimateError, nearest
from calm.experiment.stopping import LEVEL, STAGE_LEVEL
from calm.statistics.power import (
    Bias,
    Noise,
    binomial_sizes,
    bounds,
    draw_counts,
    draw_thetas,
    excess_table,
    gain_table,
    moved,
    true_consistency,
    true_excess,
    true_gain,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Counts: TypeAlias = NDArray[np.int64]

SEED = 0
SIZES = (40, 60, 80, 100, 120, 150, 200, 250, 300, 400)
"""The numbers of cases in the table."""
STEP = 5
"""Steps of the search for the smallest number of cases."""
TARGETS = (0.80, 0.90, 0.95)
RUNS = 2000
"""Simulated runs of one claim."""
JOINT_RUNS, JOINT_WORK = 1000, 5_000_000
"""Simulated runs of several probes, and the cases of all of them at which there are fewer."""
MOST_CASES, MOST_PROBES, MOST_ASKS = 2000, 200, 12
DEFAULTS: Mapping[str, tuple[float, float]] = {
    "net_robustness": (0.05, 0.0),
    "gain": (0.10, 0.0),
    "consistency_rate": (0.80, 0.905),
    "accuracy": (0.70, 0.95),
    "readable_rate": (0.95, 0.99),
}
"""The limit and the true value that are taken where none is given: those of the shipped suites, and a good judge's."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Asks a case: clean and perturbed; `topped`: undecided claims get as many perturbed asks as clean ones."""

    clean: int = 4
    perturbed: int = 2
    topped: bool = True

    def __str__(self) -> str:
        more = f" -> {self.clean}+{self.clean}" if self.staged else ""
        return f"{self.clean}+{self.perturbed}{more}"

    @property
    def staged(self) -> bool:
        """Whether a top-up can come."""
        return self.topped and self.perturbed < self.clean

    @classmethod
    def read(cls, text: str, option: str) -> Repeats:
        """
        Return the repeats that a text such as "4+2" names.

        Raises:
            ConfigError: naming the option.

        >>> str(Repeats.read("4+2", "--repeats"))
        '4+2 -> 4+4'
        """
        clean, plus, perturbed = text.partition("+")
        numbers = [int(n) for n in (clean, perturbed) if n.isascii() and n.isdigit()]
        if not plus or len(numbers) < 2 or not all(1 <= n <= MOST_ASKS for n in numbers):
            raise ConfigError(
                f"{option}: expected clean+perturbed asks of 1 to {MOST_ASKS} each such as 4+2, got {text!r}"
            )
        return cls(numbers[0], numbers[1])


@dataclass(frozen=True, slots=True)
class Question:
    """A claim, the noise of the judge that it is about, and the bias that gives the judge its true value."""

    claim: Claim
    true: float
    noise: Noise
    bias: Bias

    @property
    def edited(self) -> bool:
        """Whether the claim is about an edit, so that there is a perturbed arm."""
        return self.claim.measure in ("net_robustness", "gain")


@dataclass(frozen=True, slots=True)
class Odds:
    """How often a claim passes and fails with n cases; `green`: how often all claims of all probes pass."""

    n: int
    passes: float
    fails: float
    green: float | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claims of one probe and the cases that it applies to (None: all)."""

    claims: tuple[Claim, ...]
    cases: int | None = None
    edited: bool = True


def question(
    measure: str, limit: float | None, true: float | None, noise: float = 0.05, close_calls: float = 0.0
) -> Question:
    """
    Return the question that `calm power` is asked.

    For net_robustness, limit and true value are the disagreement beyond the judge's own noise, which is 1 minus it.

    Raises:
        ConfigError: values that cannot be, each with its option.

    >>> question("net_robustness", None, None).claim
    net_robustness >= 0.95
    """
    if measure not in DEFAULTS:
        raise ConfigError(f"--measure: unknown measure {measure!r}{nearest(measure, DEFAULTS)}")
    problems = []
    if not 0 <= noise < 0.5:
        problems.append(f"--noise: expected a share of wrong asks from 0 to below 0.5, got {noise!r}")
    if not 0 <= close_calls <= 1:
        problems.append(f"--close-calls: expected a share of cases from 0 to 1, got {close_calls!r}")
    given = Noise(noise, close_calls)
    if measure == "consistency_rate":
        if true is not None:
            problems.append(
                f"--true: expected none for consistency_rate, as --noise and --close-calls decide it, got {true!r}"
            )
        true = None if problems else true_consistency(given)
    limit = DEFAULTS[measure][0] if limit is None else limit
    true = DEFAULTS[measure][1] if true is None else true
    edited = measure in ("net_robustness", "gain")
    problems += _impossible(measure, limit, true, edited=edited)
    if problems:
        raise ConfigError(problems)
    op, bound = (">=", 1 - limit) if measure == "net_robustness" else ("<=", limit) if edited else (">=", limit)
    claim = MEASURES[measure] >= round(bound, 12) if op == ">=" else MEASURES[measure] <= bound
    if measure == "readable_rate":  # a reply is unreadable by chance, whatever the case
        return Question(claim, true, Noise(1 - true), Bias())
    return Question(claim, true, given, _bias(measure, true, given))


def _impossible(measure: str, limit: float, true: float, *, edited: bool) -> list[str]:
    problems = []
    if edited:
        if not 0 < limit < 0.5:
            more = ", as 0.05 stands for net_robustness >= 0.95" if measure == "net_robustness" else ""
            problems.append(f"--limit: expected a number between 0 and 0.5 for {measure}{more}, got {limit!r}")
        if not 0 <= true <= 1:
            problems.append(f"--true: expected a number from 0 to 1 for {measure}, got {true!r}")
        return problems
    if not 0 < limit < 1:
        problems.append(f"--limit: expected a rate between 0 and 1 for {measure}, got {limit!r}")
    lowest = 0.5 if measure == "readable_rate" else 0.0
    if not lowest < true <= 1 or (measure != "consistency_rate" and true == 1):
        problems.append(f"--true: expected a rate between {lowest:g} and 1 for {measure}, got {true!r}")
    return problems


def _bias(measure: str, true: float, noise: Noise) -> Bias:
    """Return the share of cases to be decided for the treated (or the wrong) answer that gives the true value."""
    whole = Bias("decide", 1.0)
    if measure == "consistency_rate":
        return Bias()
    if measure == "accuracy":
        best = 1 - _mean(noise)
        wanted, most = best - true, true_gain(noise, whole)
        if wanted < -1e-12:
            raise ConfigError(
                f"--true: expected at most {best:.3g} for accuracy, as --noise and --close-calls allow, got {true!r}"
            )
    else:
        wanted, most = true, (true_excess if measure == "net_robustness" else true_gain)(noise, whole)
    if wanted > most + 1e-12:
        end = f"at least {1 - _mean(noise) - most:.3g}" if measure == "accuracy" else f"at most {most:.3g}"
        raise ConfigError(f"--true: expected {end} for {measure}, as the noise allows no more, got {true!r}")
    return Bias("decide", max(0.0, min(1.0, wanted / most)) if most else 0.0)


def _mean(noise: Noise) -> float:
    """Return the share of asks that err."""
    return noise.close / 2 + (1 - noise.close) * noise.rate


# ------------------------------------------------------------------------------------------------- values and decisions


def _by_clean(values: Callable[[int], float], clean: int, perturbed: int) -> Floats:
    import numpy as np

    column = np.array([values(a) for a in range(clean + 1)], dtype=np.float64)
    return np.repeat(column[:, None], perturbed + 1, axis=1)


def _agreement(clean: int, perturbed: int) -> Floats:
    """Return the share of pairs of clean asks that agree, by the number of them that favour the treated answer."""
    if clean < 2:
        raise EstimateError(f"expected two clean asks or more, got {clean}")
    pairs = clean * (clean - 1)
    return _by_clean(lambda a: (a * (a - 1) + (clean - a) * (clean - a - 1)) / pairs, clean, perturbed)


def _right(clean: int, perturbed: int) -> Floats:
    return _by_clean(lambda a: 1 - a / clean, clean, perturbed)


def _noticed(clean: int, perturbed: int) -> Floats:
    """Return the share of perturbed asks that name the original minus the share that name its damaged copy."""
    import numpy as np

    row = 1 - 2 * np.arange(perturbed + 1, dtype=np.float64) / perturbed
    return np.repeat(row[None, :], clean + 1, axis=0)


_TABLES: Mapping[str, Callable[[int, int], Floats]] = {
    "net_robustness": excess_table,
    "gain": gain_table,
    "mean_shift": gain_table,
    "net_detection": _noticed,
    "consistency_rate": _agreement,
    "repeat_distance": lambda clean, perturbed: 1 - _agreement(clean, perturbed),
    "accuracy": _right,
    "readable_rate": lambda clean, perturbed: _by_clean(lambda _: 1.0, clean, perturbed),
    "unreadable_gain": lambda clean, perturbed: _by_clean(lambda _: 0.0, clean, perturbed),
}
"""The value of a case by its clean and its perturbed asks that favour the treated answer; every reply can be read."""


def _table(asked: Question, clean: int, perturbed: int) -> Floats:
    """Return the values of cases for a question, where readability is what is drawn."""
    found = _right if asked.claim.measure == "readable_rate" else _TABLES[asked.claim.measure]
    return found(clean, perturbed)


def modelled(claim: Claim) -> bool:
    """Return whether a claim can be simulated here."""
    return claim.measure in _TABLES


def _decided(values: Floats, claim: Claim, level: float) -> Counts:
    """Return for each run (first axis; cases on the second) 1 for a pass, -1 for a fail, 0 otherwise."""
    import numpy as np

    measure, limit = MEASURES[claim.measure], claim.limit
    low, high = bounds(values, measure.low, measure.high, level)
    if measure.flipped:
        low, high = 1 - high, 1 - low
    match claim.op:
        case "<=":
            passes, fails = high <= limit + 1e-12, low > limit
        case ">=":
            passes, fails = low >= limit - 1e-12, high < limit
        case "abs<=":
            passes, fails = (low >= -limit) & (high <= limit), (low > limit) | (high < -limit)
    return np.asarray(passes.astype(np.int64) - fails.astype(np.int64))


def level_of(repeats: Repeats, *, edited: bool) -> float:
    """Return the level of each decision: smaller where there are two of them."""
    return STAGE_LEVEL if repeats.staged and edited else LEVEL


def odds(asked: Question, repeats: Repeats, sizes: Sequence[int], rng: Random, *, runs: int = RUNS) -> list[Odds]:
    """
    Return how often a claim passes and fails with so many cases, by simulation.

    One draw of runs serves all sizes: a smaller one is the beginning of a larger one, so the curve is smooth. Cases are
    independent. The Monte-Carlo error of a share is at most 1 / (2 sqrt(runs)).

    >>> [o.passes for o in odds(question("net_robustness", 0.05, 0.0, 0.0), Repeats(), (60, 71), Random(1), runs=5)]
    [0.0, 1.0]
    """
    import numpy as np

    most = max(sizes)
    theta = draw_thetas(asked.noise, rng, (runs, most))
    after = moved(theta, asked.noise, asked.bias, rng)
    if not asked.edited:
        wrong = draw_counts(after if asked.claim.measure == "accuracy" else theta, repeats.clean, rng)
        stages = [_table(asked, repeats.clean, 0)[wrong, 0]]
    else:
        base, counts = draw_counts(theta, repeats.clean, rng), draw_counts(after, repeats.perturbed, rng)
        stages = [_table(asked, repeats.clean, repeats.perturbed)[base, counts]]
        if repeats.staged:
            counts = counts + draw_counts(after, repeats.clean - repeats.perturbed, rng)
            stages.append(_table(asked, repeats.clean, repeats.clean)[base, counts])
    level, found = level_of(repeats, edited=asked.edited), []
    for n in sizes:
        outcome = np.zeros(runs, dtype=np.int64)
        for values in stages:
            outcome = np.where(outcome == 0, _decided(values[:, :n], asked.claim, level), outcome)
        found.append(Odds(n, float((outcome > 0).mean()), float((outcome < 0).mean())))
    return found


def all_green(
    probes: Sequence[Claimed],
    noise: Noise,
    repeats: Repeats,
    sizes: Sequence[int],
    rng: Random,
    *,
    bias: Bias | None = None,
    runs: int = JOINT_RUNS,
) -> list[float]:
    """
    Return how often all claims of all probes pass with so many cases, by simulation; clean asks are shared.

    Probes are independent of each other given the cases. A sound judge notices what was damaged as surely as it finds
    the better answer, and all its replies can be read. The Monte-Carlo error is at most 1 / (2 sqrt(runs)).

    >>> probe = Claimed((Claim("net_robustness", ">=", 0.95), Claim("gain", "<=", 0.10)))
    >>> all_green([probe] * 3, Noise(0.0), Repeats(), (60, 80), Random(1), runs=5)
    [0.0, 1.0]
    """
    import numpy as np

    most = max(sizes)
    theta = draw_thetas(noise, rng, (runs, most))
    base = draw_counts(theta, repeats.clean, rng)
    green = np.ones((len(sizes), runs), dtype=bool)
    for probe in probes:
        width = min(most, probe.cases or most)
        level, levels = level_of(repeats, edited=probe.edited), [(repeats.clean, 0)]
        counts = [np.zeros((runs, width), dtype=np.int64)]
        if probe.edited:
            after = moved(theta[:, :width], noise, bias or Bias(), rng)
            levels, counts = [(repeats.clean, repeats.perturbed)], [draw_counts(after, repeats.perturbed, rng)]
            if repeats.staged:
                levels.append((repeats.clean, repeats.clean))
                counts.append(counts[0] + draw_counts(after, repeats.clean - repeats.perturbed, rng))
        for claim in probe.claims:
            stages = [_TABLES[claim.measure](*k)[base[:, :width], c] for k, c in zip(levels, counts, strict=True)]
            for row, size in enumerate(sizes):
                n = min(size, width)
                outcome = np.zeros(runs, dtype=np.int64)
                if n >= 2:
                    for values in stages:
                        outcome = np.where(outcome == 0, _decided(values[:, :n], claim, level), outcome)
                green[row] &= outcome > 0
    return [float(share) for share in green.mean(axis=1)]


# ------------------------------------------------------------------------------------------------------------- the text


def power_report(asked: Question, *, probes: int = 12, cases: int | None = None, repeats: str = "4+2") -> str:
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
        both = Claimed(_pair_of(asked))
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


def _pair_of(asked: Question) -> tuple[Claim, Claim]:
    """Return the two claims of a probe: the one in question, and the other one as the shipped suites make it."""
    gain, net = Claim("gain", "<=", 0.10), Claim("net_robustness", ">=", 0.95)
    return asked.claim, gain if asked.claim.measure == "net_robustness" else net


def _about(asked: Question) -> str:
    measure, noise = asked.claim.measure, asked.noise
    true = 1 - asked.true if measure == "net_robustness" else asked.true
    judge = f"a judge that errs in {noise.rate:.3g} of asks"
    if measure == "readable_rate":
        judge = "a judge whose replies are unreadable by chance"
    elif noise.close:
        judge += f", with close calls in {noise.close:.3g} of cases"
    agrees = "" if measure == "readable_rate" else f" (two asks agree in {true_consistency(noise):.3f})"
    return f"{asked.claim}, where it is truly {true:.3f}; {judge}{agrees}"


def _asks(asked: Question, repeats: Repeats) -> str:
    return str(repeats) if asked.edited else f"{repeats.clean} clean asks"


def _table_lines(
    asked: Question,
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


def _size_lines(asked: Question, curves: Mapping[Repeats, Sequence[Odds]]) -> list[str]:
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


def _exact_lines(asked: Question) -> list[str]:
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


def _method(asked: Question, probes: int, joint: int) -> list[str]:
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
