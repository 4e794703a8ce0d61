"""
What got worse since the accepted run: all probes together, and each by itself.

- Together: for each measure that four probes or more claim, the mean over all their rows must not have got worse by
  more than a margin. That is proven, so a run with too few data is not green.
- By itself: no probe, and no such mean, may have got worse at all by the evidence. With nothing changed each difference
  is as likely as its negative, so all these tests together err with probability .05 at most (Holm).

Rows that both runs asked are compared, by the asks that both made. A run that stops early stops on good luck, but each
row is as lucky in one run as in the other until one of them stops, so differences of rows are fair.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from calm.core.claims import Claim, Estimate, Outcome, cases_to_decide, decide
from calm.core.measures import MEASURES
from calm.core.reasons import NONE, Kind, Reason, Said, because, listed, ordered
from calm.core.verdict import Family
from calm.errors import ConfigError
from calm.experiment.stopping import LEVEL, LOST
from calm.results.audit import BASELINE, RUN, Audit, Finding, Limit
from calm.results.baseline import CALIBRATED, recalled_of
from calm.results.gatefile import POOLED, WORSENING
from calm.results.pairing import Both, Growth, Paired, growth, pair, same_cases, worse_way
from calm.results.pooled import FEWEST, ROWS_OF
from calm.results.records import changes, family_of
from calm.statistics.multiplicity import holm_rejects

MARGINS: Final[Mapping[Family, float]] = {
    "pairwise": 0.10,
    "score": 0.05,
    "rubric": 0.05,
    "listwise": 0.10,
    "label": 0.10,
}
"""By how much the mean over all probes may have got worse: what an unchanged judge proves in 19 of 20 runs or more."""
CHANGED: Final = 0.10
"""Share of cases whose edit may differ from the baseline's; with more, it is a baseline of something else."""
NAMED: Final = 5
"""A reason names this many cases and counts the others."""


@dataclass(frozen=True, slots=True)
class Held:
    """One claim of a probe in both runs, with its rows side by side."""

    old: Finding
    new: Finding
    paired: Paired

    @property
    def worse(self) -> Callable[[Both], float]:
        """By how much a row is worse."""
        return worse_way(self.paired, two_sided=self.old.claim is not None and self.old.claim.op == "abs<=")

    @property
    def growth(self) -> Growth:
        """By how much the probe is worse."""
        return growth([(self.paired, self.worse)])


@dataclass(frozen=True, slots=True)
class Compared:
    """One probe of the baseline: its claims in both runs, and what is wrong."""

    key: str
    old: Finding
    new: Finding | None
    held: tuple[Held, ...] = ()
    gone: tuple[Reason, ...] = ()
    """What the baseline decided or asked and this run does not: the probe fails."""
    gaps: tuple[Reason, ...] = ()
    """Why the comparison is incomplete."""
    accepted: str | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """One measure of all probes that claim it."""

    measure: str
    held: tuple[Held, ...]

    @property
    def key(self) -> str:
        """The key of the claim about it."""
        return f"{POOLED}/{self.measure}"

    @property
    def growth(self) -> Growth:
        """By how much all of them are worse."""
        return growth([(one.paired, one.worse) for one in self.held])

    @property
    def excluded(self) -> Mapping[Reason, int]:
        """The cases of each probe that cannot be compared, counted by reason."""
        found: Counter[Reason] = Counter()
        for one in self.held:
            found.update(one.paired.excluded)
        return found


def against(baseline: Audit, audit: Audit, limits: Mapping[str, float] | None = None) -> tuple[Finding, ...]:
    """
    Return what got worse since the baseline: a claim for each measure that probes share, and a finding for each probe.

    The pooled claims are `worsening <= margin`, where `limits` may set another margin by key. A probe is FAIL where one
    of its measures got worse by the evidence, or where it, one of its cases or its decision is gone. It is INCOMPLETE
    where it cannot be compared, and otherwise OBSERVED. The same verdicts of the same judge give differences of exactly
    zero.

    Raises:
        ConfigError: the baseline is of another kind of verdict, or a record is damaged.
    """
    if family_of(baseline.judge.task) != family_of(audit.judge.task):
        raise ConfigError(
            f"expected a baseline of a judge with task={audit.judge.task!r}, got task={baseline.judge.task!r}; "
            "accept a run of this judge"
        )
    compared = _compared(baseline, audit)
    pools = _pools(compared, (baseline, audit))
    every: list[Held | Pool] = [*(one for c in compared for one in c.held), *pools]
    tested = [(one, grown) for one, grown in ((one, one.growth) for one in every) if grown.enough]
    fallen = holm_rejects([partial(_is_worse, grown) for _, grown in tested], LEVEL) if tested else []
    level = LEVEL / max(1, len(tested) - len(fallen) + bool(fallen))
    worse = [tested[i][0] for i in fallen]
    together = [
        _pool_finding(pool, (baseline, audit), limits or {}, level if pool in worse else None) for pool in pools
    ]
    probes = (_probe_finding(c, [one for one in c.held if one in worse], level) for c in compared)
    return (*(together or [_no_pool(baseline, audit)]), *(found for found in probes if found is not None))


def _is_worse(grown: Growth, level: float) -> bool:
    return grown.shift(level)[0] > 0


def _compared(before: Audit, after: Audit) -> list[Compared]:
    """Return the probes of the baseline that claimed something, each with its claims of today."""
    groups: dict[tuple[str, ...], list[Finding]] = defaultdict(list)
    for finding in before.findings:
        if (
            finding.claim is not None
            and finding.outcome is not Outcome.OBSERVED
            and finding.bias not in (BASELINE, RUN)
        ):
            groups[_probe_of(finding)].append(finding)
    names = Counter(_key(claims[0]) for claims in groups.values())
    now = {f.key: f for f in after.findings}
    found = []
    for claims in groups.values():
        key = _key(claims[0])
        if names[key] > 1 or claims[0].expects is None:
            key = f"{key}/{claims[0].measure}"
        found.append(_compare(key, claims, now, (before, after)))
    return sorted(found, key=lambda c: c.key)


def _probe_of(finding: Finding) -> tuple[str, ...]:
    """Return what identifies a probe; on the clean arm each measure is a probe of its own."""
    about = (finding.bias, finding.perturbation or "", finding.expects or "", finding.summary, finding.against or "")
    return about if finding.expects is not None else (*about, finding.measure)


def _key(finding: Finding) -> str:
    return "/".join(part for part in (finding.bias, WORSENING, finding.perturbation) if part)


def _compare(key: str, claims: Sequence[Finding], now: Mapping[str, Finding], audits: tuple[Audit, Audit]) -> Compared:
    gone, gaps, waived = [], [], []
    for old in claims:
        new = now.get(old.key)
        if new is None:
            gone.append(because(Kind.GONE, old.key))
        elif new.claim is None:
            gone.append(because(Kind.ONLY_OBSERVED, old.key))
        elif old.value is not None and new.outcome is Outcome.NOT_TESTED:
            gone.append(because(Kind.NO_LONGER_TESTED, old.key, old.outcome.value, new.reason))
            waived.append(new.accepted)
        elif old.value is not None and new.value is None:
            gaps.append(because(Kind.NOW_OPEN, old.key, new.outcome.value, new.reason))
    accepted = waived[0] if len(waived) == len(gone) and waived and all(waived) else None
    held = _held(claims, now, audits)
    if not held:
        return Compared(key, claims[0], now.get(claims[0].key), (), tuple(gone), tuple(gaps), accepted)
    gaps += dict.fromkeys(one.paired.fault for one in held if one.paired.fault)
    first = max(held, key=lambda one: len(one.old.trials))
    lost = _vanished(first, same=same_cases(*audits))
    if lost and first.new.outcome is Outcome.INCOMPLETE:
        gaps.append(lost)
    elif lost:
        gone.append(lost)
        accepted = None
    if others := _other_edits([first]):
        gaps.append(others)
    return Compared(key, held[0].old, held[0].new, held, tuple(gone), tuple(gaps), accepted)


def _held(claims: Sequence[Finding], now: Mapping[str, Finding], audits: tuple[Audit, Audit]) -> tuple[Held, ...]:
    """
    Return the claims of a probe that were measured in both runs, in the order of the measures.

    The worst variant is left out: it is another one in each run, and its cases were chosen by what it did.
    """
    order = list(MEASURES)
    known = [c for c in claims if c.measure in MEASURES and not MEASURES[c.measure].worst_of]
    found = []
    for old in sorted(known, key=lambda c: order.index(c.measure)):
        new = now.get(old.key)
        if new is not None and old.value is not None and new.value is not None:
            found.append(Held(old, new, pair(old, new, audits)))
    return tuple(found)


def _vanished(held: Held, *, same: bool) -> Reason:
    """
    Return which cases are gone, or `NONE`.

    In an unchanged set of cases a few may lack a reply, as the claims themselves allow.
    """
    gone, total = held.paired.missing, _cases(held.old)
    if not gone or (same and len(gone) <= LOST * total):
        return NONE
    found = because(Kind.CASES_GONE, len(gone), total, _named(gone))
    return because(Kind.CASES_GONE_WHY, found, *held.new.excluded) if same and held.new.excluded else found


def _cases(finding: Finding) -> int:
    return len({record.case for record in finding.trials})


def _other_edits(several: Sequence[Held]) -> Reason:
    """Return that too many cases have another edit for the runs to be compared, or `NONE`."""
    changed = sum(len(one.paired.changed) for one in several)
    total = sum(_cases(one.old) - len(one.paired.stopped) for one in several)
    if changed <= CHANGED * total:
        return NONE
    names = several[0].paired.changed if len(several) == 1 else _changed_names(several)
    return because(Kind.OTHER_BASELINE, changed, total, _named(names))


def _named(cases: Sequence[str]) -> str:
    more = len(cases) - NAMED
    return ", ".join(cases[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _pools(compared: Sequence[Compared], audits: tuple[Audit, Audit]) -> list[Pool]:
    """
    Return the measures that enough probes claim, each with these probes; not those that were accepted as they are.

    Whether replies can still be read is taken from the rows of the claims about favour, as for a run by itself.
    """
    found: dict[str, list[Held]] = defaultdict(list)
    for one in (h for c in compared for h in c.held):
        if one.old.accepted is None and one.new.accepted is None and one.old.expects is not None:
            found[one.old.measure].append(one)
    unread = MEASURES["unreadable_gain"]
    if unread.name not in found:
        readers: dict[tuple[str, str], Held] = {}
        for one in (h for name in ROWS_OF[unread.name] for h in found.get(name, ())):
            readers.setdefault((one.old.bias, one.old.perturbation or ""), one)
        for one in readers.values():
            paired = pair(one.old, one.new, audits, unread)
            found[unread.name].append(Held(replace(one.old, claim=Limit("<=", 0.0)), one.new, paired))
    order = list(MEASURES)
    return [Pool(name, tuple(found[name])) for name in sorted(found, key=order.index) if len(found[name]) >= FEWEST]


def _probe_finding(compared: Compared, worse: Sequence[Held], level: float) -> Finding | None:
    """Return what a probe's comparison found; None where the baseline had nothing to compare with."""
    shown = next(iter([*worse, *(one for one in compared.held if one.growth.enough), *compared.held]), None)
    if shown is None and not compared.gone and not compared.gaps:
        return None
    estimate = _evidence(shown, level) if shown is not None and shown.growth.enough else None
    reasons = [*(because(Kind.WORSE, one.old.measure) for one in worse), *compared.gone, *compared.gaps]
    asides = _asides(shown.paired if shown else None)
    if worse or compared.gone:
        outcome = Outcome.FAIL
    elif compared.gaps:
        outcome = Outcome.INCOMPLETE
    elif estimate is not None:
        outcome = Outcome.OBSERVED
        reasons += asides
    else:
        outcome = Outcome.NOT_TESTED
        reasons = [because(Kind.TOO_FEW_PAIRS), *asides]
    old = shown.old if shown else compared.old
    found = replace(
        (shown.new if shown else compared.new) or old,
        key=compared.key,
        summary=f"{old.measure} against the accepted run.",
        measure=WORSENING,
        claim=Limit("<=", 0.0) if worse else None,
        stated=None,
        outcome=outcome,
        reason=listed(reasons),
        excluded=ordered(shown.paired.excluded) if shown else {},
        references={},
        robustness_rate=None,
        consistency_rate=None,
        flips={},
        cases_to_decide=None,
        channel="",
        accepted=None if worse or compared.gaps else compared.accepted,
        baseline=recalled_of(old),
        control=None,
        trials=(),
    )
    return _with(found, estimate)


def _with(finding: Finding, estimate: Estimate | None) -> Finding:
    """Return a finding with the figures of an estimate."""
    if estimate is None:
        return replace(finding, value=None, low=None, high=None, level=None, n=0)
    value, low, high = (round(x, 6) + 0.0 for x in (estimate.value, estimate.low, estimate.high))  # no -0.0
    return replace(finding, value=value, low=low, high=high, level=estimate.level, n=estimate.n)


def _evidence(held: Held, level: float) -> Estimate:
    """Return by how much a probe is worse than in the baseline, with its bounds at `level`."""
    grown = held.growth
    return Estimate(grown.mean, *grown.shift(level), held.paired.n, level, held.paired.excluded)


def _asides(paired: Paired | None) -> list[Reason]:
    """Return why a few cases were not compared."""
    return [because(Kind.ASIDE, reason, count) for reason, count in (paired.excluded if paired else {}).items()]


def _pool_finding(
    pool: Pool, audits: tuple[Audit, Audit], limits: Mapping[str, float], evidence: float | None
) -> Finding:
    """
    Return the claim about one measure of all probes: it has not got worse by more than the limit.

    `evidence` is the level at which it got worse, however little: then it fails.
    """
    family = family_of(audits[1].judge.task)
    assert family is not None, "its rows were measured"
    stated = MARGINS[family]
    claim = Claim(WORSENING, "<=", limits.get(pool.key, stated))
    faults = list(dict.fromkeys(one.paired.fault for one in pool.held if one.paired.fault))
    faults += [others] if (others := _other_edits(pool.held)) else []
    grown, count = pool.growth, sum(bool(one.paired.rows) for one in pool.held)
    outcome, estimate, needed = Outcome.INCOMPLETE, None, None
    reasons = faults or _changed_words(pool.held)
    if not grown.enough:
        reasons = reasons or [because(Kind.TOO_FEW_PAIRS)]
    else:
        estimate = _together(pool, grown, evidence)
        outcome = Outcome.FAIL if evidence is not None else decide(estimate, claim)
        if _untouched(*audits, pool):
            outcome, estimate = Outcome.PASS, replace(estimate, low=0.0, high=0.0)
            reasons = [*reasons, because(Kind.SAME_VERDICTS)]
        outcome = Outcome.INCOMPLETE if faults else outcome
        undecided = outcome is Outcome.UNDECIDED
        needed = cases_to_decide(estimate, claim, 2) if undecided else None
        reasons = [because(Kind.POOLED_UNDECIDED if undecided else Kind.POOLED, count), *reasons]
    worse = evidence is not None and outcome is Outcome.FAIL
    found = replace(
        _of_all(pool.key, audits[1]),
        claim=Limit("<=", 0.0 if worse else claim.limit),
        stated=Limit("<=", stated) if claim.limit != stated and not worse else None,
        outcome=outcome,
        reason=listed([*([because(Kind.WORSE, pool.measure)] if worse else []), *reasons, *_changes(*audits)]),
        excluded=ordered(pool.excluded),
        cases_to_decide=needed,
    )
    return _with(found, estimate)


def _together(pool: Pool, grown: Growth, evidence: float | None) -> Estimate:
    """Return the estimate of a pool: with the bounds that prove the margin, or with those of the evidence."""
    bounds = grown.bounds(LEVEL) if evidence is None else grown.shift(evidence)
    cases = {row.case for one in pool.held for row in one.paired.rows}
    return Estimate(grown.mean, *bounds, len(cases), LEVEL if evidence is None else evidence, {}, len(grown.sums))


def _no_pool(before: Audit, after: Audit) -> Finding:
    """Return that there are too few probes for anything to be claimed of them together."""
    return replace(_of_all(POOLED, after), reason=listed([because(Kind.NO_POOL, FEWEST), *_changes(before, after)]))


def _of_all(key: str, audit: Audit) -> Finding:
    """Return a finding about all probes, of which nothing is known yet."""
    return Finding(
        key=key,
        node="",
        bias=BASELINE,
        perturbation=None,
        expects=None,
        dose=None,
        summary="All probes together, against the accepted run.",
        task=audit.judge.task,
        measure=WORSENING,
        claim=None,
        outcome=Outcome.NOT_TESTED,
        reason=NONE,
        value=None,
        low=None,
        high=None,
        level=None,
        n=0,
        excluded={},
        references={},
        robustness_rate=None,
        consistency_rate=None,
        flips={},
        cases_to_decide=None,
        channel="",
        asserted=True,
        accepted=None,
        asks=audit.repeats,
    )


def _changes(before: Audit, after: Audit) -> list[Reason]:
    """Return what else differs between the runs."""
    notes = [str(change) for change in changes(before, after)]
    other = CALIBRATED in before.extras and _identity(before) != _identity(after)
    found = [because(Kind.OTHER_CALIBRATION)] if other else []
    return [*found, *([because(Kind.CHANGES, Said("; ".join(notes)))] if notes else [])]


def _identity(audit: Audit) -> tuple[str | None, str | None]:
    """Return what tells whether two runs had one judge: its fingerprint, or its name where it has none."""
    return audit.judge.fingerprint or audit.judge.name, audit.judge.served


def _changed_words(held: Sequence[Held]) -> list[Reason]:
    names = _changed_names(held)
    return [because(Kind.OTHER_EDITS, len(names), _named(names))] if names else []


def _changed_names(held: Sequence[Held]) -> list[str]:
    return [f"{_name(one.old)} {case}" for one in held for case in one.paired.changed]


def _name(finding: Finding) -> str:
    return f"{finding.bias}/{finding.perturbation}" if finding.perturbation else finding.bias


def _untouched(old: Audit, new: Audit, pool: Pool) -> bool:
    """Return whether this run is the baseline's own data again: nothing was sampled anew."""
    known = old.judge.fingerprint is not None
    same = old.judge.fingerprint == new.judge.fingerprint and old.judge.served == new.judge.served
    left = pool.excluded.keys() - {because(Kind.NOT_ASKED)}
    return known and same and not left and all(one.paired.identical for one in pool.held)
