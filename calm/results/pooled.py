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
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor, fsum
from typing import Final

from calm.core.claims import Claim, Decision, Estimate, Limiter, Outcome, cases_to_decide, decide
from calm.core.measures import MEASURES, Measure
from calm.core.memo import Memo
from calm.core.reasons import NONE, Kind, Reason, because, listed
from calm.core.trials import Trial
from calm.core.verdict import Family, Scale, Verdict
from calm.experiment.stopping import AT_LAST, LEVEL, beyond
from calm.results.audit import RUN, Finding, finding_of_run
from calm.results.records import family_of, rows_of
from calm.statistics.intervals import grouped_t
from calm.statistics.sequential import FIRST

FEWEST: Final = 4
"""Probes below which nothing is claimed of them together."""
LIMITS: Final = (
    Claim("net_robustness", ">=", 0.95),
    Claim("gain", "<=", 0.05),
    Claim("unreadable_gain", "<=", 0.05),
)
"""What is claimed of all probes of a run together, where gate.toml states no other limit."""
OF_PAIRS: Final = (
    Claim("pull", "<=", 0.15),
    Claim("net_robustness", ">=", 0.95),
    Claim("gain", "<=", 0.10),
    Claim("unreadable_gain", "<=", 0.10),
)
"""The same of pairs, on which fewer rows with a wrong answer are asked about than equal ones."""
ROWS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "pull": ("pull",),
    "net_robustness": ("net_robustness",),
    "gain": ("gain",),
    "unreadable_gain": ("gain", "mean_shift"),
}
"""For each claim the measures of the findings whose rows it takes."""


def pooled(
    findings: Iterable[Finding], scale: Scale, task: str, limits: Mapping[str, float], limiter: Limiter | None = None
) -> tuple[Finding, ...]:
    """
    Return the findings about all probes of a run; `limits` replaces limits by their keys, `limiter` chooses the others.

    Rows are taken from probes that claim the measure, unless the claim was accepted as it is. With fewer than `FEWEST`
    such probes there is no finding.
    """
    family = family_of(task)
    if family is None:
        return ()
    found = list(findings)
    memo = Memo()  # the claims are about the same probes: their records are read back once
    made = []
    for stated in limits_of(family):
        key = f"{RUN}/{stated.measure}"
        claim = Claim(stated.measure, stated.op, limits.get(key, stated.limit))
        probes = probes_of(found, claim.measure)
        if len(probes) >= FEWEST:
            asked = [widest(found, probe) for probe in probes]
            tables = [memo.once(partial(rows_of, one), (one,)) for one in asked]
            chosen = None if key in limits else limiter
            decision = _decided(claim, probes, tables, scale, family, limiter=chosen)
            made.append(finding_of_run(decision, task=task, stated=stated, scale=scale, family=family))
    return tuple(made)


def limits_of(family: Family) -> tuple[Claim, ...]:
    """Return what is claimed of all probes of a run of a kind of verdict."""
    return OF_PAIRS if family == "pairwise" else (OF_PAIRS[0], *LIMITS) if family == "listwise" else LIMITS


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
    crossed = MEASURES[probe.measure].crosswise
    means = [f for f in means if MEASURES[f.measure].crosswise is crossed]
    return max(means, key=lambda f: (len(f.trials), sum(len(t.inert) for t in f.trials), f.measure))


def _with_all_floors(tables: Sequence[Sequence[Trial]]) -> list[list[Trial]]:
    """
    Return the rows of all probes, each with the inert verdicts of its case in every place.

    Probes share their inert arms, so the noise of one arm would be in many probes at once, and would not average out.
    Repeats in both orders are the floor of the rows that have them, and stay it.
    """
    floors: dict[tuple[str, str | None], dict[str, tuple[Verdict, ...]]] = defaultdict(dict)
    for row in (row for rows in tables for row in rows):
        known = floors[row.case, row.target]
        known[row.floor] = max(known.get(row.floor, ()), row.inert, key=len)
    every = {key: tuple(v for arm in arms.values() for v in arm) for key, arms in floors.items()}
    return [
        [row if row.repeated else replace(row, inert=every[row.case, row.target]) for row in rows] for rows in tables
    ]


@dataclass(frozen=True, slots=True)
class _Pool:
    """
    The values of all rows of a run, by question, and the number of cases that have one.

    `asked` counts the questions, also those on which nothing can gain.
    """

    cells: Mapping[str, Sequence[float]]
    asked: int
    cases: int

    @property
    def rows(self) -> int:
        return sum(map(len, self.cells.values()))

    @property
    def worth(self) -> float:
        """How many questions of equal weight the questions are worth (Kish)."""
        return self.rows**2 / sum(len(cells) ** 2 for cells in self.cells.values())

    @property
    def still(self) -> bool:
        """Whether all rows say the same."""
        return len({cell for cells in self.cells.values() for cell in cells}) == 1


def _decided(
    claim: Claim,
    probes: Sequence[Finding],
    tables: Sequence[Sequence[Trial]],
    scale: Scale,
    family: Family,
    *,
    limiter: Limiter | None,
) -> Decision:
    """Return the decision on the mean over all rows of some probes, by question."""
    measure = MEASURES[claim.measure]
    pool = _pool(measure, _with_all_floors(tables), scale)
    reason = because(Kind.OVER_ROWS, pool.rows, len(probes))
    if gone := sum(one.lost for one in probes):
        reason = listed([reason, because(Kind.ROWS_LOST, gone)])
    lost = [f for f in probes if f.outcome is Outcome.INCOMPLETE]
    if claim.measure == "unreadable_gain":  # it counts the very replies that leave a gain incomplete
        lost = [f for f in lost if not f.reason.has(Kind.UNREAD_REPLIES)]
    if lost or len(pool.cells) < 2:
        outcome = Outcome.INCOMPLETE if lost else Outcome.NOT_TESTED
        return Decision(claim.measure, claim, outcome, reason=lost[0].reason if lost else reason)
    questions = len(pool.cells)
    limited = claim if limiter is None else limiter.limited(claim, pool.asked, floor(pool.worth))
    stated, claim = claim, claim if limited is None else limited
    least = measure.smallest_n(claim, LEVEL)
    estimate = _estimate(measure, pool)
    outcome = decide(estimate, claim)
    if outcome is Outcome.UNDECIDED and decide(seen := _estimate(measure, pool, AT_LAST), stated) is Outcome.FAIL:
        return Decision(stated.measure, stated, Outcome.FAIL, seen, reason)  # however far its limit gave way
    speaks = beyond(claim, [fsum(cells) / len(cells) for cells in pool.cells.values()]) > 1
    if outcome is not Outcome.FAIL and not speaks:
        why = NONE
        if questions < least <= pool.asked:
            why = because(Kind.NEEDS_ROOM, questions, pool.asked, least, family)
        elif pool.worth < least and (outcome is Outcome.PASS or (pool.still and questions >= FIRST)):
            # what the same questions sway in every probe could be none of these, whatever else varies
            why = because(Kind.FEW_TOGETHER, floor(pool.worth), least)
        elif limited is None and outcome is Outcome.UNDECIDED:
            why = because(Kind.TOO_FEW_FOR_LIMIT, questions, pool.asked)
        if why:
            return Decision(claim.measure, claim, Outcome.NOT_TESTED, estimate, why)
    needed = cases_to_decide(estimate, claim, 2) if outcome is Outcome.UNDECIDED else None
    needed = None if needed is None else ceil(needed * pool.cases / questions - 1e-9)
    return Decision(claim.measure, claim, outcome, estimate, reason, needed)


def _pool(measure: Measure, tables: Sequence[Sequence[Trial]], scale: Scale) -> _Pool:
    """Return the values of the rows of all probes."""
    cells: dict[str, list[float]] = defaultdict(list)
    asked: set[str] = set()
    cases: set[str] = set()
    for row in (row for rows in tables for row in rows):
        cell = measure.per_case(row, scale)
        question = row.cluster or row.case
        if not isinstance(cell, Reason):
            cells[question].append(round(cell, 12))  # the same, whatever the order of its sums
            cases.add(row.case)
        if not isinstance(cell, Reason) or cell.kind is Kind.NO_ROOM:
            asked.add(question)
    return _Pool(cells, len(asked), len(cases))


def _estimate(measure: Measure, pool: _Pool, level: float = LEVEL) -> Estimate:
    """Return the mean over all rows with its bounds, by question."""
    groups = list(pool.cells.values())
    low, high = grouped_t(groups, measure.low, measure.high, level)
    mean = fsum(map(fsum, groups)) / pool.rows
    if measure.flipped:
        mean, low, high = 1 - mean, 1 - high, 1 - low
    return measure.within(Estimate(mean, low, high, pool.cases, level, {}, len(groups)))
