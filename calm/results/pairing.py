"""
The rows of one claim in two runs side by side; and those of all probes of one run that make a claim, as findings.

What all probes of a run show together: claims about the mean over all rows that the run asked, as findings.

A probe alone bounds its effect loosely. Effects that each probe could hide add up in the mean, which many probes prove
tightly. The claims are computed from the rows of the findings; nothing is asked for them.

The mean is the ratio of sums over rows. Probes stop where their own data look decisive, so a mean of their means would
lean towards those that stopped on good luck; the sum of what was asked does not, wherever they stop (a martingale).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor, fsum, sqrt
from typing import Final

from calm.core.claims import Claim, Decision, Estimate, Limiter, Outcome, cases_to_decide, decide
from calm.core.measures import MEASURES, Measure
from calm.core.memo import Memo
from calm.core.order import place_of, start_of
from calm.core.reasons import NONE, Kind, Reason, because, listed
from calm.core.trials import Trial, Trials, clusters
from calm.core.verdict import Family, Scale, Verdict
from calm.experiment.stopping import AT_LAST, LEVEL, beyond
from calm.results.audit import RUN, Audit, Finding, TrialRecord
from calm.results.findings import finding_of_run
from calm.results.records import CLOSE, family_of, rows_of, scale_of, trial_of, trials_of
from calm.statistics.intervals import clopper_pearson, clustered_t, grouped_t
from calm.statistics.paired import exchangeable_shift
from calm.statistics.sequential import FIRST

AIMED: Final = ("gain", "mean_shift", "attack_success_rate", "net_detection")
"""Measures about one answer: two runs can be compared only where it is the same answer."""


@dataclass(frozen=True, slots=True)
class Both:
    """The value of one row in two runs, computed from the asks that both made."""

    case: str
    cluster: str
    old: float
    new: float


@dataclass(frozen=True, slots=True)
class Paired:
    """
    The rows of one claim in two runs, matched one to one: a case under what the judge was shown.

    `rows` have a value in both runs. Of the other cases, `missing` are gone, `stopped` were not asked because the new
    run had stopped before them, `changed` have another edit or content, `turned` have another treated answer because
    the pilot chose another, and `without` have a value in one run alone. `fault` says why no case can be compared.
    """

    measure: Measure
    rows: tuple[Both, ...]
    missing: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    turned: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    identical: bool = False
    """Whether every verdict of every matched row is the same, ask by ask."""
    fault: Reason = NONE

    @property
    def worse(self) -> int:
        """1 where a value that grew is worse, else -1."""
        return 1 if self.measure.flipped or self.measure.op == "<=" else -1

    @property
    def width(self) -> float:
        """The greatest possible difference of two values."""
        return self.measure.high - self.measure.low

    @property
    def n(self) -> int:
        """How many cases compare."""
        return len({row.case for row in self.rows})

    @property
    def excluded(self) -> dict[Reason, int]:
        """The cases that cannot be compared, counted by reason."""
        counts = {
            because(Kind.NOT_IN_RUN): len(self.missing),
            because(Kind.NOT_ASKED): len(self.stopped),
            because(Kind.OTHER_EDIT): len(self.changed),
            because(Kind.OTHER_TARGET): len(self.turned),
            because(Kind.NO_PAIR): len(self.without),
        }
        return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class Growth:
    """By how much the rows of one or of several claims are worse than before: the sum and the size of each cluster."""

    sums: Sequence[float]
    sizes: Sequence[int]
    width: float
    """The greatest possible difference of the values of one row."""
    probes: int = 1

    @property
    def mean(self) -> float:
        """The mean over all rows."""
        return fsum(self.sums) / sum(self.sizes)

    @property
    def enough(self) -> bool:
        """Whether there are two clusters, the fewest that have bounds."""
        return len(self.sums) > 1

    def bounds(self, level: float) -> tuple[float, float]:
        """Return bounds of the mean; luck moves the mean over k probes of a case no further than 1 / sqrt(k)."""
        end = self.width / sqrt(self.probes)
        return clustered_t(self.sums, self.sizes, -end, end, level)

    def shift(self, level: float) -> tuple[float, float]:
        """
        Return bounds of the mean that exclude 0 with probability `level` at most if nothing changed.

        Where all that moved moved equally far, as verdicts that are right or wrong do, this is the exact sign test.
        """
        moved = [total for total in self.sums if abs(total) > CLOSE]
        if moved and max(self.sizes) == 1 and max(map(abs, moved)) - min(map(abs, moved)) <= CLOSE:
            reach = abs(moved[0]) * len(moved) / len(self.sums)
            shares = clopper_pearson(sum(total > 0 for total in moved), len(moved), level)
            return reach * (2 * shares[0] - 1), reach * (2 * shares[1] - 1)
        low, high = exchangeable_shift(self.sums, self.sizes, level)
        return max(low, -self.width), min(high, self.width)


def growth(several: Sequence[tuple[Paired, Callable[[Both], float]]]) -> Growth:
    """Return the growth of the rows of some claims together, each by what is worse for it."""
    sums, sizes = summed((row.cluster, worse(row)) for paired, worse in several for row in paired.rows)
    probes = sum(bool(paired.rows) for paired, _ in several)
    return Growth(sums, sizes, max((paired.width for paired, _ in several), default=0.0), max(1, probes))


def worse_way(paired: Paired, *, two_sided: bool) -> Callable[[Both], float]:
    """
    Return by how much a row is worse, as a claim states it.

    A claim on both sides of zero is worse further from zero, on whichever side the mean of each run lies.
    """
    if two_sided:
        was, now = (
            1.0 if fsum(values) >= 0 else -1.0
            for values in ([row.old for row in paired.rows], [row.new for row in paired.rows])
        )
        return lambda row: now * row.new - was * row.old
    return lambda row: paired.worse * (row.new - row.old)


def summed(values: Iterable[tuple[str, float]]) -> tuple[list[float], list[int]]:
    """Return the sum of the values of each cluster, and their number."""
    sums: dict[str, float] = {}
    sizes: Counter[str] = Counter()
    for cluster, value in values:
        sums[cluster] = sums.get(cluster, 0.0) + value
        sizes[cluster] += 1
    return list(sums.values()), [sizes[cluster] for cluster in sums]


def same_cases(old: Audit, new: Audit) -> bool:
    """Return whether both runs had the same cases."""
    return old.cases.get("sha256") is not None and old.cases.get("sha256") == new.cases.get("sha256")


def pair(
    old: Finding,
    new: Finding,
    audits: tuple[Audit, Audit],
    measure: Measure | None = None,
    known: Paired | None = None,
) -> Paired:
    """
    Return the rows of one claim in two runs side by side, each computed from its own record on its own scale.

    Their values are those of the claim's measure, or of another one of the same rows; `known` are the former.

    Rows match where case and what the judge was shown are the same. Only the asks that both runs made count: a run that
    was topped up is compared by what it asked before, and without inert words where one run needed none. A record that
    does not reproduce its own value is not compared: somebody changed the file.
    """
    measure = MEASURES[old.measure] if measure is None else measure
    scales = scale_of(audits[0].judge), scale_of(audits[1].judge)
    before, after = _by_case(old.trials), _by_case(new.trials)
    left = sorted(before.keys() - after.keys())
    stopped = not_reached(left, after, new, audits[1])
    matched: list[tuple[TrialRecord, TrialRecord]] = []
    changed, turned = [], []
    for case in sorted(before.keys() & after.keys()):
        both = [(row, after[case][key]) for key, row in before[case].items() if key in after[case]]
        aimed = [(row, other) for row, other in both if measure.name not in AIMED or _aim(row) == _aim(other)]
        if aimed:
            matched += aimed
        elif {_aim(row) for row in before[case].values()} & {_aim(row) for row in after[case].values()}:
            changed.append(case)
        else:
            turned.append(case)
    fault = _fault(old, new, scales) if known is None else known.fault
    decoded = [] if fault else [_decoded(old.key, *both) for both in matched]
    sides = tuple(zip(*decoded, strict=True)) if decoded else ((), ())
    was_now = [_cells(rows, measure, scale, old.task) for rows, scale in zip(sides, scales, strict=True)]
    cells = [(values, both[1]) for values, both in zip(zip(*was_now, strict=True), decoded, strict=True)]
    compared = tuple(
        Both(row.case, row.cluster, was, now)
        for (was, now), row in cells
        if not isinstance(was, Reason) and not isinstance(now, Reason)
    )
    lone = {row.case for (was, now), row in cells if isinstance(was, Reason) != isinstance(now, Reason)}
    without = tuple(sorted(lone - {row.case for row in compared}))
    return Paired(
        measure,
        compared,
        missing=tuple(case for case in left if case not in stopped),
        stopped=stopped,
        changed=tuple(changed),
        turned=tuple(turned),
        without=without,
        identical=not fault and all(_arms(was) == _arms(now) and was.room == now.room for was, now in decoded),
        fault=fault,
    )


def _by_case(records: Sequence[TrialRecord]) -> dict[str, dict[tuple[str, int], TrialRecord]]:
    found: dict[str, dict[tuple[str, int], TrialRecord]] = {}
    for record in sorted(records, key=lambda one: one.edit):
        rows = found.setdefault(record.case, {})
        rows[record.hash, sum(shown == record.hash for shown, _ in rows)] = record
    return found


def not_reached(cases: Sequence[str], asked: Collection[str], one: Finding, audit: Audit) -> tuple[str, ...]:
    """Return the cases that a run which may stop early would have asked after the last one that it asked."""
    if audit.stopping == "fixed" or not asked:
        return ()
    if MEASURES[one.measure].crosswise:  # pairs of equal answers: how many there were is in no record
        return tuple(cases)
    count = audit.cases.get("n")
    start = start_of(one.bias, count) if one.expects is not None and isinstance(count, int) else 0.0
    last = max(place_of(audit.seed, case, start) for case in asked)
    return tuple(case for case in cases if place_of(audit.seed, case, start) > last)


def _aim(record: TrialRecord) -> tuple[str | None, ...]:
    return record.target, record.damaged, record.hit


def _decoded(key: str, one: TrialRecord, other: TrialRecord) -> tuple[Trial, Trial]:
    was, now = trial_of(key, one), trial_of(key, other)
    sizes = [min(map(len, arms)) for arms in zip(_arms(was), _arms(now), strict=True)]
    return _shortened(was, sizes), _shortened(now, sizes)


def _arms(row: Trial) -> tuple[tuple[Verdict, ...], ...]:
    return row.clean, row.inert, row.perturbed


def _shortened(row: Trial, sizes: Sequence[int]) -> Trial:
    if [len(arm) for arm in _arms(row)] == list(sizes):
        return row
    clean, inert, perturbed = (arm[:size] for arm, size in zip(_arms(row), sizes, strict=True))
    return replace(row, clean=clean, inert=inert, perturbed=perturbed, slots=row.slots[: sizes[2]])


def _cells(rows: Sequence[Trial], measure: Measure, scale: Scale, task: str) -> list[float | Reason]:
    short = because(Kind.NO_PAIR)
    able = [row for row in rows if not _asked_too_few(row, measure)]
    cells = iter(_all_cells(able, measure, scale, task))
    return [short if _asked_too_few(row, measure) else next(cells) for row in rows]


def _asked_too_few(row: Trial, measure: Measure) -> bool:
    before = row.clean or (row.inert if measure.worst_of == "gain" else ())
    return len(before) < measure.asks[0] or len(row.perturbed) < measure.asks[1]


def _all_cells(rows: Sequence[Trial], measure: Measure, scale: Scale, task: str) -> list[float | Reason]:
    family = family_of(task)
    assert family is not None, "a finding of an unknown task has a fault"
    return measure.cells(Trials(tuple(rows), family, scale))


def _fault(old: Finding, new: Finding, scales: tuple[Scale, Scale]) -> Reason:
    measure = MEASURES[old.measure]
    alone = any(r.inert for r in old.trials) != any(r.inert for r in new.trials)
    if measure.floored and alone and measure.most is None:  # else a run may have needed no inert words
        return because(Kind.OTHER_FLOOR, old.key)
    faults = (
        _forged(finding, MEASURES[finding.measure], scale) for finding, scale in zip((old, new), scales, strict=True)
    )
    return next((fault for fault in faults if fault), NONE)


def _forged(finding: Finding, measure: Measure, scale: Scale) -> Reason:
    trials = trials_of(finding, scale)
    rows, cells = trials.rows, measure.cells(trials)
    sums, sizes = clusters(rows, cells)
    if sums and finding.value is not None:
        by_row = fsum(sums) / sum(sizes)
        by_cluster = fsum(s / size for s, size in zip(sums, sizes, strict=True)) / len(sums)  # of a test of a rate
        low, high = measure.range  # a value is shown within it
        found = [
            min(high, max(low, 1 - value if measure.flipped else value))
            for value in (by_row, by_cluster, 1 - finding.value if measure.flipped else finding.value)
        ]
        if any(abs(value - found[-1]) <= CLOSE for value in found[:-1]):
            return NONE
        return because(Kind.CHANGED_BY_HAND, finding.key, f"{found[0]:.6f}", str(finding.value))
    return because(Kind.CHANGED_BY_HAND, finding.key, "nothing", str(finding.value))


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
    groups = list(pool.cells.values())
    low, high = grouped_t(groups, measure.low, measure.high, level)
    mean = fsum(map(fsum, groups)) / pool.rows
    if measure.flipped:
        mean, low, high = 1 - mean, 1 - high, 1 - low
    return measure.within(Estimate(mean, low, high, pool.cases, level, {}, len(groups)))
