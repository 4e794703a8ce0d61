"""
Who is accused of self-preference? Published and corrected estimators on simulated judges whose truth is known.

    python -m benchmarks.self_preference                                               # print the tables (ten minutes)
    python -m benchmarks.self_preference --write docs/measured/self-preference.md   # write them between their marks

    python -m benchmarks.self_preference --speed                                       # time and memory of an analysis

Three worlds, each with a fair judge that is like its peers, one that is lenient, one that writes the best and one that
writes the worst answers, and one with a planted preference for its own. Everything is seeded;
`tests/power/test_self_preference.py` asserts the same figures. What the suite's claim says is in `fair_judges`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from benchmarks.pages import measured, put
from calm.core.claims import Estimate
from calm.plugins.self_preference import (
    opportunity,
    overestimation,
    recorded,
    rubric,
    scores,
    skill,
)
from calm.plugins.self_preference.contrasts import Floats, Grid, estimate_ratio
from calm.plugins.self_preference.report import Tables
from calm.statistics.power import uniforms

SEED = 20_241_101
RUNS = 200
DRAWS = 400
"""Bootstrap samples in a simulation: half-widths then err by 3.5 %."""
LEVEL = 0.025
"""Of each bound, so that both make an interval of 95 %."""
NAMES = ("judge", "kin", "b1", "b2", "c1", "c2", "d", "e")
FAMILIES = {"judge": "a", "kin": "a", "b1": "b", "b2": "b", "c1": "c", "c2": "c", "d": "d", "e": "e"}
JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Kind:
    """A judge: how lenient it is, how good its own answers are, and how strongly it prefers them."""

    name: str
    lenient: bool = False
    worth: int = 0
    """1: its answers are the best, -1: the worst, 0: as those of the others."""
    preference: float = 0.0
    """0: fair; 1: the planted preference of the world."""


KINDS = (
    Kind("fair"),
    Kind("fair, lenient", lenient=True),
    Kind("fair, writes the best", worth=1),
    Kind("fair, writes the worst", worth=-1),
    Kind("prefers its own", preference=1.0),
    Kind("prefers its own, writes the best", worth=1, preference=1.0),
)
FAIR = tuple(kind for kind in KINDS if not kind.preference)


def normals(rng: Random, shape: tuple[int, ...]) -> Floats:
    """Return standard normal numbers."""
    return np.asarray(ndtri(uniforms(rng, shape)), dtype=np.float64)


# ------------------------------------------------------------------------------------------------------ rubric world

INSTANCES, PER_INSTANCE = 400, 2
LENIENCY = (0.9, 1.0, 1.0, 0.8, 1.1, 1.0, 0.9)
SUBTLE = (0.20, 0.18, 0.22, 0.16, 0.20, 0.18, 0.22)
"""Rate at which a judge of leniency 1 misses the failures of the other generators."""
SUBTLE_OWN = {1: 0.38, 0: 0.20, -1: 0.08}
FAILS = (0.25, 0.30, 0.20, 0.30, 0.25, 0.35, 0.30)
FAILS_OWN = {1: 0.18, 0: 0.27, -1: 0.45}
RATIO = 1.6
"""The planted double ratio: failures of its own are missed so many times as often."""


def rubric_world(kind: Kind, rng: Random, instances: int = INSTANCES) -> rubric.RubricTable:
    """
    Return verdicts of eight judges on the answers of the same eight, with the truth.

    A failure of generator g is missed by judge j with probability leniency(j) * subtlety(g), higher or lower by half
    for each failure (the same for all judges, so that judges agree beyond chance); its own times RATIO. A criterion
    that is met is marked so with probability .98.
    """
    lenient = np.array([1.7 if kind.lenient else 1.0, *LENIENCY])
    subtle = np.array([SUBTLE_OWN[kind.worth], *SUBTLE])
    fails = np.array([FAILS_OWN[kind.worth], *FAILS])
    n, r = len(NAMES), instances * PER_INSTANCE
    truth = uniforms(rng, (n, r)) >= fails[:, None]
    miss = np.outer(lenient, subtle)
    miss[0, 0] *= 1 + (RATIO - 1) * kind.preference
    each = np.where(uniforms(rng, (n, r)) < 0.5, 0.5, 1.5)
    says = uniforms(rng, (n, n, r))
    met = np.where(truth[None], says < 0.98, says < miss[:, :, None] * each[None])
    return rubric.RubricTable(
        Grid(NAMES, NAMES, FAMILIES),
        tuple(str(i) for i in range(instances)),
        tuple(str(i) for i in range(r)),
        np.repeat(np.arange(instances), PER_INSTANCE),
        met.astype(np.int8),
        truth.astype(np.int8),
        np.ones(r),
    )


def by_rubric(table: rubric.RubricTable) -> overestimation.Over:
    """Return over-estimation by rubric."""
    return overestimation.overestimated_rubrics(table)


def by_instance(table: rubric.RubricTable) -> overestimation.Over:
    """Return over-estimation by instance."""
    judged, true = (rubric.signs(rubric.scored(table, marks)) for marks in (table.verdicts, table.truth))
    return overestimation.overestimated_instances(judged, true)


def hspp(kind: Kind, rng: Random) -> Estimate:
    """Return the published HSPP ratio by rubric, with an interval by resampling instances."""
    table = rubric_world(kind, rng)
    over = by_rubric(table)
    sample = overestimation.resample(over, rng, DRAWS)
    others = ~table.grid.kin()[0]

    def ratio(counts: Floats, chances: Floats) -> Floats:
        rates = (counts + 0.5) / (chances + 1)
        return np.asarray(np.log(rates[..., 0, 0]) - np.log(rates[..., 0, others].mean(axis=-1)), dtype=np.float64)

    value = float(ratio(over.over.sum(axis=2), over.eligible.sum(axis=2)))
    return estimate_ratio(value, ratio(sample.over, sample.eligible), sample.items, LEVEL)


def double_ratio(kind: Kind, rng: Random) -> Estimate:
    """Return the double ratio by rubric."""
    table = rubric_world(kind, rng)
    return overestimation.double_ratio(
        overestimation.resample(by_rubric(table), rng, DRAWS), table.grid, JUDGE, level=LEVEL
    )


def double_ratio_by_instance(kind: Kind, rng: Random) -> Estimate:
    """Return the double ratio by instance."""
    table = rubric_world(kind, rng)
    return overestimation.double_ratio(
        overestimation.resample(by_instance(table), rng, DRAWS), table.grid, JUDGE, level=LEVEL
    )


def rate_excess(kind: Kind, rng: Random) -> Estimate:
    """Return the double-centred excess of over-estimation by rubric."""
    table = rubric_world(kind, rng)
    return overestimation.rate_excess(
        overestimation.resample(by_rubric(table), rng, DRAWS), table.grid, JUDGE, level=LEVEL
    )


def credit_excess(kind: Kind, rng: Random) -> Estimate:
    """Return the excess of credit, in which what passes and what fails weigh the same."""
    table = rubric_world(kind, rng)
    return skill.credit_excess(skill.credit(table), table.grid, JUDGE, level=LEVEL).estimate


def true_double_ratio(kind: Kind) -> float:
    """Return the planted double ratio."""
    return 1 + (RATIO - 1) * kind.preference


def true_double_ratio_by_instance(kind: Kind) -> float:
    """Return the double ratio by instance of 30,000 instances: it follows from the planted one, in no simple way."""
    table = rubric_world(kind, Random(SEED), 30_000)
    rates, kin = by_instance(table).rates(), table.grid.kin()
    logs = []
    for outsider in range(2, len(NAMES)):
        columns = ~kin[0] & ~kin[outsider]
        ours, theirs = (rates[j, 0] / rates[j, columns].mean() for j in (0, outsider))
        logs.append(np.log(ours) - np.log(theirs))
    return float(np.exp(np.mean(logs)))


def true_rate_excess(kind: Kind) -> float:
    """Return the double-centred excess of the rates that the world draws from."""
    lenient = np.array([1.7 if kind.lenient else 1.0, *LENIENCY])
    cells = np.outer(lenient, np.array([SUBTLE_OWN[kind.worth], *SUBTLE]))
    cells[0, 0] *= true_double_ratio(kind)
    kin = Grid(NAMES, NAMES, FAMILIES).kin()
    found = []
    for outsider in range(2, len(NAMES)):
        columns = ~kin[0] & ~kin[outsider]
        mine, theirs = cells[0], cells[outsider]
        found.append(mine[0] - mine[columns].mean() - theirs[0] + theirs[columns].mean())
    return float(np.mean(found))


def true_credit_excess(kind: Kind) -> float:
    """Return half of what the planted judge credits its failures beyond a fair one; what passes is credited alike."""
    return 0.5 * SUBTLE_OWN[kind.worth] * (true_double_ratio(kind) - 1)


# ------------------------------------------------------------------------------------------------------- score world

ITEMS = 100
STRICTNESS = (0.0, 0.3, -0.4, 0.2, -0.2, 0.1, -0.1)
QUALITY = (0.1, -0.2, 0.3, 0.0, -0.3, 0.2, -0.1)
POINTS = 0.6
"""The planted excess, in points of a scale from 1 to 10."""


def score_world(kind: Kind, rng: Random) -> scores.ScoreTable:
    """Return whole scores from 1 to 10 of eight judges for the texts of the same eight, on items of unequal worth."""
    lenient = np.array([0.8 if kind.lenient else 0.0, *STRICTNESS])
    quality = np.array([0.9 * kind.worth, *QUALITY])
    text = normals(rng, (len(NAMES), ITEMS)) * 0.7 + quality[:, None] + normals(rng, (ITEMS,)) * 0.5
    latent = 5.5 + lenient[:, None, None] + text[None] + normals(rng, (len(NAMES), len(NAMES), ITEMS)) * 0.8
    latent[0, 0] += POINTS * kind.preference
    given = np.clip(np.round(latent), 1, 10)
    return scores.ScoreTable(Grid(NAMES, NAMES, FAMILIES), tuple(str(i) for i in range(ITEMS)), given, 1.0, 10.0)


def own_minus_received(kind: Kind, rng: Random) -> Estimate:
    """Return the published S - R with its interval."""
    found = scores.self_evaluation(score_world(kind, rng), JUDGE).own_minus_received
    assert found, "all judges score all texts"
    return Estimate(found.mean, found.low, found.high, ITEMS, LEVEL)


def own_minus_given(kind: Kind, rng: Random) -> Estimate:
    """Return the published S - G with its interval."""
    found = scores.self_evaluation(score_world(kind, rng), JUDGE).own_minus_given
    assert found, "all judges score all texts"
    return Estimate(found.mean, found.low, found.high, ITEMS, LEVEL)


def score_excess(kind: Kind, rng: Random) -> Estimate:
    """Return the double-centred excess of the scores."""
    return scores.score_excess(score_world(kind, rng), JUDGE, rng, level=LEVEL, draws=DRAWS)


def true_score_excess(kind: Kind) -> float:
    """Return the planted excess in points."""
    return POINTS * kind.preference


# -------------------------------------------------------------------------------------------------------- pairs world

PAIRS, OUTSIDERS, NOISE = 600, 5, 0.7
SHARE = 0.3
"""The share of pairs in which the planted judge picks its own answer whatever it is worth."""


def pairs_world(kind: Kind, rng: Random) -> tuple[opportunity.Outcomes, opportunity.Outcomes, opportunity.Outcomes]:
    """Return what people, the judge and outsiders prefer, in pairs with one answer of the judge."""
    margin = normals(rng, (PAIRS,)) + kind.worth
    people = np.sign(margin + NOISE * normals(rng, (PAIRS,))).astype(np.int8)
    all_judges = np.sign(margin + NOISE * normals(rng, (OUTSIDERS + 1, PAIRS))).astype(np.int8)
    decided = uniforms(rng, (PAIRS,)) < SHARE * kind.preference
    return people, np.where(decided, np.int8(opportunity.SELF), all_judges[0]).astype(np.int8), all_judges[1:]


def equal_opportunity(kind: Kind, rng: Random) -> Estimate:
    """Return the published gap with Newcombe's interval."""
    people, judged, _ = pairs_world(kind, rng)
    return opportunity.equal_opportunity(opportunity.confusion(people, judged), level=LEVEL).gap


def excess_opportunity(kind: Kind, rng: Random) -> Estimate:
    """Return the gap minus that of outsiders on the same pairs."""
    people, judged, outsiders = pairs_world(kind, rng)
    return opportunity.excess_opportunity(people, judged, outsiders, rng, level=LEVEL, draws=DRAWS)


def true_excess_opportunity(kind: Kind) -> float:
    """Return share * (1 - gap of a fair judge), which is what the planted judge's gap adds to that of outsiders."""

    def mean(of: Callable[[float], float]) -> float:
        found, _ = quad(lambda d: of(d) * np.exp(-((d - kind.worth) ** 2) / 2) / sqrt(2 * np.pi), -9, 9)
        return float(found)

    def picks(d: float) -> float:
        return float(ndtr(d / NOISE))

    people = mean(picks)
    recall_self = mean(lambda d: picks(d) ** 2) / people
    recall_other = mean(lambda d: (1 - picks(d)) ** 2) / (1 - people)
    return SHARE * kind.preference * (1 - recall_self + recall_other)


# ------------------------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class Method:
    """An estimator in its world: the value without preference, and for a corrected one its true value by kind."""

    name: str
    run: Callable[[Kind, Random], Estimate]
    neutral: float
    true: Callable[[Kind], float] | None = None


METHODS = (
    Method("S - R (own minus received, points)", own_minus_received, 0.0),
    Method("S - G (own minus given, points)", own_minus_given, 0.0),
    Method("**double-centred excess** (points)", score_excess, 0.0, true_score_excess),
    Method("equal-opportunity gap", equal_opportunity, 0.0),
    Method("**gap minus outsiders' gap**", excess_opportunity, 0.0, true_excess_opportunity),
    Method("HSPP ratio by rubric", hspp, 1.0),
    Method("**double ratio** by rubric", double_ratio, 1.0, true_double_ratio),
    Method("**double ratio** by instance", double_ratio_by_instance, 1.0, true_double_ratio_by_instance),
    Method("**double-centred excess** of rates", rate_excess, 0.0, true_rate_excess),
    Method("**excess of credit**, balanced", credit_excess, 0.0, true_credit_excess),
)
CORRECTED = tuple(method for method in METHODS if method.true is not None)


@dataclass(frozen=True, slots=True)
class Cell:
    """What a method says of a kind of judge over all runs: the mean value, and shares of runs."""

    mean: float
    accused: float
    """The whole interval lies above the neutral value."""
    cleared: float
    """The whole interval lies below it: called too modest."""
    covered: float | None
    """The interval holds the true value; None for a method that has none."""


def simulated(method: Method, kind: Kind, runs: int = RUNS) -> Cell:
    """Return what a method says of a kind of judge."""
    rng = Random(f"{SEED} {method.name} {kind.name}")
    found = [method.run(kind, rng) for _ in range(runs)]
    true = None if method.true is None else method.true(kind)
    return Cell(
        float(np.mean([one.value for one in found])),
        sum(one.low > method.neutral for one in found) / runs,
        sum(one.high < method.neutral for one in found) / runs,
        None if true is None else sum(one.low <= true <= one.high for one in found) / runs,
    )


def tables(runs: int = RUNS) -> str:
    """Return both tables as Markdown."""
    cells = {(m.name, k.name): simulated(m, k, runs) for m in METHODS for k in KINDS}
    head = "| estimator | " + " | ".join(kind.name for kind in FAIR) + " |"
    lines = [head, "|---|" + "---|" * len(FAIR)]
    for method in METHODS:
        fair = [cells[method.name, kind.name] for kind in FAIR]
        shown = " | ".join(f"{c.mean:.2f}: {100 * c.accused:.0f} % / {100 * c.cleared:.0f} %" for c in fair)
        lines.append(f"| {method.name} | {shown} |")
    planted = [kind for kind in KINDS if kind.preference]
    lines += ["", f"Of {runs} simulated tables each. Mean value: share accused / share called too modest.", ""]
    lines.append("| corrected estimator | " + " | ".join(kind.name for kind in (*FAIR, *planted)) + " |")
    lines.append("|---|" + "---|" * len(KINDS))
    for method in CORRECTED:
        assert method.true is not None
        row = []
        for kind in (*FAIR, *planted):
            cell = cells[method.name, kind.name]
            row.append(f"{method.true(kind):.2f}: {cell.mean:.2f}, {100 * (cell.covered or 0):.0f} %")
        lines.append(f"| {method.name} | {' | '.join(row)} |")
    lines += [
        "",
        f"Of {runs} each. True value: mean estimate, share of the intervals (nominal 95 %) that hold the true value.",
    ]
    return "\n".join(lines).replace("-0.00", "0.00") + "\n"


def speed() -> str:
    """Return how long the analysis of the recorded verdicts takes, and the most memory that the process had."""
    table = recorded.rubric_table()
    began = perf_counter()
    Tables.of(table).figures(Random(SEED))
    seconds = perf_counter() - began
    megabytes = getrusage(RUSAGE_SELF).ru_maxrss / 1000
    return f"12 judges x 12 generators x 834 rubrics: {seconds:.2f} s, {megabytes:.0f} MB with all imports"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, or write them between their marks in a page."""
    parser = argparse.ArgumentParser(description="Published and corrected estimators on judges whose truth is known.")
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated tables of every cell")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page that holds the marks")
    parser.add_argument(
        "--speed", action="store_true", help="time the analysis of 12 judges x 12 generators x 834 rubrics"
    )
    options = parser.parse_args(arguments)
    if options.speed:
        print(speed())
        return
    text = tables(options.runs)
    if options.write is None:
        print(text)
        return
    put(options.write, "self-preference", text, measured())


if __name__ == "__main__":
    main()
