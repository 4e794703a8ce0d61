"""
What all probes of a run show together: claims about the mean over all rows that the run asked, as findings.

A probe alone bounds its effect loosely. Effects that each probe could hide add up in the mean, which many probes prove
tightly. The claims are computed from the rows of the findings; nothing is asked for them.

The mean is the ratio of sums over rows. Probes stop where their own data look decisive, so a mean of their means would
lean towards those that stopped on good luck; the sum of what was asked does not, wherever they stop (a martingale).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum, sqrt
from typing import Final

from calm.core.claims import Claim, Decision, Estimate, Outcome, cases_to_decide, decide
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import Kind, Reason, because
from calm.core.trials import Trial
from calm.core.verdict import Family, Scale, Verdict
from calm.experiment.stopping import LEVEL
from calm.results.audit import RUN, Finding, finding_of_run
from calm.results.records import family_of, trials_of
from calm.statistics.intervals import clustered_t, smallest_n

FEWEST: Final = 4
"""Probes below which nothing is claimed of them together."""
LIMITS: Final[Mapping[Family, tuple[Claim, ...]]] = {
    "pairwise": (
        Claim("net_robustness", ">=", 0.95),
        Claim("gain", "<=", 0.05),
        Claim("unreadable_gain", "<=", 0.05),
    ),
    "score": (
        Claim("net_robustness", ">=", 0.95),
        Claim("gain", "<=", 0.03),
        Claim("unreadable_gain", "<=", 0.05),
    ),
    "rubric": (
        Claim("net_robustness", ">=", 0.95),
        Claim("gain", "<=", 0.03),
        Claim("unreadable_gain", "<=", 0.05),
    ),
    "listwise": (
        Claim("net_robustness", ">=", 0.95),
        Claim("gain", "<=", 0.05),
        Claim("unreadable_gain", "<=", 0.05),
    ),
}
"""What is claimed of all probes of a run together, where gate.toml states no other limit."""
ROWS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "net_robustness": ("net_robustness",),
    "gain": ("gain",),
    "unreadable_gain": ("gain", "mean_shift"),
}
"""For each claim the measures of the findings whose rows it takes."""


def run_keys(family: Family) -> tuple[str, ...]:
    """Return the keys of the claims about a whole run, as gate.toml names them."""
    return tuple(f"{RUN}/{claim.measure}" for claim in LIMITS[family])


def pooled(findings: Iterable[Finding], scale: Scale, task: str, limits: Mapping[str, float]) -> tuple[Finding, ...]:
    """
    Return the findings about all probes of a run; `limits` replaces limits by their keys.

    Rows are taken from probes that claim the measure, unless the claim was accepted as it is. With fewer than `FEWEST`
    such probes there is no finding.
    """
    family = family_of(task)
    if family is None:
        return ()
    found = list(findings)
    made = []
    for stated in LIMITS[family]:
        key = f"{RUN}/{stated.measure}"
        claim = Claim(stated.measure, stated.op, limits.get(key, stated.limit))
        probes = probes_of(found, claim.measure)
        if len(probes) >= FEWEST:
            decision = _decided(claim, probes, [widest(found, probe) for probe in probes], scale)
            made.append(finding_of_run(decision, task=task, stated=stated, scale=scale, family=family))
    return tuple(made)


def probes_of(findings: Sequence[Finding], measure: str) -> list[Finding]:
    """Return one finding for each probe whose rows are in a claim about the whole run."""
    wanted = ROWS_OF[measure]
    one: dict[tuple[str, str], Finding] = {}
    for f in findings:
        fits = f.claim is not None and (measure != "gain" or f.claim.op == "<=")
        asked = bool(f.trials) or f.outcome is Outcome.INCOMPLETE  # what was to be asked may be what is biased
        if f.measure in wanted and fits and asked and not f.single and f.accepted is None:
            one.setdefault((f.bias, f.perturbation or ""), f)
    return list(one.values())


def widest(findings: Sequence[Finding], probe: Finding) -> Finding:
    """Return the finding with the most rows of the same probe: a claim that was decided early has fewer of them."""
    same = [f for f in findings if (f.bias, f.perturbation, f.node) == (probe.bias, probe.perturbation, probe.node)]
    means = [f for f in same if f.measure in MEASURES and not MEASURES[f.measure].worst_of and not f.single]
    return max(means, key=lambda f: (len(f.trials), sum(len(t.inert) for t in f.trials), f.measure))


def _with_all_floors(tables: Sequence[Sequence[Trial]]) -> list[list[Trial]]:
    """
    Return the rows of all probes, each with the inert verdicts of its case in every place.

    Probes share their inert arms, so the noise of one arm would be in many probes at once, and would not average out.
    """
    floors: dict[tuple[str, str | None], dict[str, tuple[Verdict, ...]]] = defaultdict(dict)
    for row in (row for rows in tables for row in rows):
        known = floors[row.case, row.target]
        known[row.floor] = max(known.get(row.floor, ()), row.inert, key=len)
    every = {key: tuple(v for arm in arms.values() for v in arm) for key, arms in floors.items()}
    return [[replace(row, inert=every[row.case, row.target]) for row in rows] for rows in tables]


def _decided(claim: Claim, probes: Sequence[Finding], widest: Sequence[Finding], scale: Scale) -> Decision:
    """Return the decision on the mean over all rows of some probes, by question."""
    measure = MEASURES[claim.measure]
    sums: dict[str, float] = defaultdict(float)
    sizes: dict[str, int] = defaultdict(int)
    asked: set[str] = set()
    shown: set[tuple[str, str]] = set()
    for number, rows in enumerate(_with_all_floors([trials_of(one, scale).rows for one in widest])):
        for row in rows:
            cell = measure.per_case(row, scale)
            cluster = row.cluster or row.case
            if not isinstance(cell, Reason) or cell.kind is Kind.NO_ROOM:
                asked.add(cluster)
            if not isinstance(cell, Reason):
                sums[cluster] += cell
                sizes[cluster] += 1
                shown.add((str(number), row.case))
    reason = because(Kind.OVER_ROWS, sum(sizes.values()), len(probes))
    lost = [f for f in probes if f.outcome is Outcome.INCOMPLETE]
    if lost or len(sums) < 2:
        outcome = Outcome.INCOMPLETE if lost else Outcome.NOT_TESTED
        return Decision(claim.measure, claim, outcome, reason=lost[0].reason if lost else reason)
    cases = len({case for _, case in shown})
    if (least := _least(measure, claim, len(shown) / cases)) > len(sums) and least <= len(asked):
        reason = because(Kind.NEEDS_ROOM, len(sums), len(asked), least)
        return Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=reason)
    estimate = _estimate(measure, list(sums.values()), list(sizes.values()), cases, len(shown) / cases)
    outcome = decide(estimate, claim)
    needed = cases_to_decide(estimate, claim, 2) if outcome is Outcome.UNDECIDED else None
    return Decision(claim.measure, claim, outcome, estimate, reason, needed)


def _least(measure: Measure, claim: Claim, probes: float) -> int:
    """Return the number of questions below which a mean over so many probes cannot be proven for any judge."""
    limit = 1 - claim.limit if measure.flipped else claim.limit
    return smallest_n(limit / (measure.high / sqrt(probes)), LEVEL) if limit > 0 else 2


def _estimate(measure: Measure, sums: list[float], sizes: list[int], cases: int, probes: float) -> Estimate:
    """Return the mean with its bounds; a case cannot move the mean over k probes further than 1 / sqrt(k) by luck."""
    low, high = clustered_t(sums, sizes, measure.low / sqrt(probes), measure.high / sqrt(probes), LEVEL)
    mean = fsum(sums) / sum(sizes)
    if measure.flipped:
        mean, low, high = 1 - mean, 1 - high, 1 - low
    return Estimate(mean, low, high, cases, LEVEL, {}, len(sums))
