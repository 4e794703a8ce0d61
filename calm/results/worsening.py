"""
What got worse since the accepted run: all probes together, each by itself, and the agreement with the gold labels.

- Together: for each measure that four probes or more claim, and for each measure of agreement, the mean over all rows
  must not have got worse by more than a margin. That is proven, so a run with too few data is not green.
- By itself: no probe, and no such mean, may have got worse at all by the evidence. With nothing changed each difference
  is as likely as its negative, so all these tests together err with probability `EVIDENCE` at most (Holm).
- Asked: every claim of the baseline is claimed in this run, too.

Rows that both runs asked are compared, by the asks that both made. A run that stops early stops on good luck, but each
row is as lucky in one run as in the other until one of them stops, so differences of rows are fair.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum, sqrt
from typing import Final

from calm.core.claims import Claim, Estimate, Outcome, cases_to_decide, decide
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import NONE, Kind, Reason, Said, because, listed, ordered
from calm.core.verdict import Family
from calm.errors import ConfigError, few_of
from calm.experiment.stopping import LEVEL, LOST
from calm.results.audit import BASELINE, RUN, Audit, Finding, Limit
from calm.results.baseline import CALIBRATED, recalled_of
from calm.results.findings import bare, figures_of
from calm.results.gatefile import POOLED, WORSENING
from calm.results.pairing import FEWEST, ROWS_OF, Both, Growth, Paired, growth, not_reached, pair, same_cases, worse_way
from calm.results.records import changes, family_of, other_judge
from calm.statistics.multiplicity import holm_rejects

MARGINS: Final[Mapping[Family, float]] = {
    "pairwise": 0.20,
    "score": 0.05,
    "rubric": 0.05,
    "listwise": 0.20,
    "label": 0.10,
}
"""By how much the mean over all probes may have got worse: what an unchanged judge proves in 98 of 100 runs or more."""
OF_EQUALS: Final = 0.25
"""The same of pairs of equal answers: fewer of them are asked about, and each can move further."""
OF_GOLD: Final = 0.16
"""The same of agreement with the gold labels, as a share of the range of its measure."""
USUAL: Final = 200
"""Cases for which these margins are; with fewer of them a margin is as much wider as an interval is."""
EVIDENCE: Final = 0.02
"""How often an unchanged judge may fail by evidence: half of it by agreement with gold, half by all else."""
CHANCE: Final = (
    Kind.FEW_OF_EACH,
    Kind.MEAN_FAILS,
    Kind.NEEDS_ROOM,
    Kind.NEEDS_HEIGHT,
    Kind.TOO_FEW_FOR_LIMIT,
    Kind.TOO_FEW_CASES,
    Kind.NO_ROOM,
    Kind.UNREAD_ARM,
)
"""Why a claim can be decided in one of two runs of an unchanged judge alone: too few cases, room or replies."""
CHANGED: Final = 0.10
"""Share of cases whose edit may differ from the baseline's; with more, it is a baseline of something else."""
NAMED: Final = 5
"""A reason names this many cases or claims and counts the others."""
LEFT_OUT: Final = f"{BASELINE}/claims"
"""The key of the finding about claims that a run did not make."""
GONE: Final = f"{BASELINE}/cases"
"""The key of the finding about cases that a run does not have."""
SHOWN: Final = 2
"""A sentence names this many measures with their values then and now, and counts the others."""


@dataclass(frozen=True, slots=True)
class Held:
    """One claim of a probe in both runs, with its rows side by side."""

    old: Finding
    new: Finding
    paired: Paired

    @property
    def worse(self) -> Callable[[Both], float]:
        """By how much a row is worse."""
        return worse_way(self.paired, two_sided=self.old.claim is not None and self.old.claim.two_sided)

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
    gaps: tuple[Reason, ...] = ()
    """Why the comparison is incomplete, such as what the baseline decided or asked and this run does not."""
    accepted: str | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """One measure of all probes that claim it."""

    measure: str
    held: tuple[Held, ...]

    @property
    def of_gold(self) -> bool:
        """Whether it is about agreement with the gold labels."""
        return MEASURES[self.measure].agrees

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
    of its measures got worse by the evidence, and nowhere else. It is INCOMPLETE where it cannot be compared, or where
    its decision is gone, and otherwise OBSERVED. The same verdicts of the same judge give differences of exactly zero.

    Claims of the baseline that this run did not make, whatever left them out, are named in one INCOMPLETE finding, and
    cases of the baseline that it does not have in another one: a gate is not green because its hard cases are gone.

    Raises:
        ConfigError: the baseline is of another kind of verdict, or a record is damaged.
    """
    if family_of(baseline.judge.task) != family_of(audit.judge.task):
        raise ConfigError(
            f"expected a baseline of a judge with task={audit.judge.task!r}, got task={baseline.judge.task!r}; "
            "accept a run of this judge"
        )
    audits = baseline, audit
    compared = _compared(*audits)
    pools = _pools(compared, audits)
    by_gold = [pool for pool in pools if pool.of_gold]
    of_edits: list[Held | Pool] = [one for c in compared for one in c.held]
    of_edits += [pool for pool in pools if not pool.of_gold]
    share = EVIDENCE / 2 if by_gold else EVIDENCE
    fallen, gold_level = _fallen(by_gold, share)
    worse, level = _fallen(of_edits, share)
    together = [
        _pool_finding(pool, audits, limits or {}, gold_level if pool in fallen else level if pool in worse else None)
        for pool in pools
    ]
    probes = (_probe_finding(c, [one for one in c.held if one in worse], level) for c in compared)
    if len(by_gold) == len(pools):
        reason = listed([because(Kind.NO_POOL, FEWEST), *_changes(*audits)])
        together.insert(0, replace(_of_all(POOLED, audit), reason=reason))
    return tuple(one for one in (*together, *probes, _not_asked(*audits), _not_there(*audits)) if one is not None)


def since_baseline(audit: Audit, name: str) -> str:
    """
    Return in a sentence what got worse since a baseline; nothing of a run that was compared with none.

    "Nothing got worse" is said where no mean moved the wrong way, however little. A mean that did so within its margin
    is not proven worse, and is shown with its values then and now.

    Args:
        audit: the run; what `against` found is among its findings.
        name: how a person calls the baseline, such as the name of its file.
    """
    every = [one for one in audit.findings if one.measure == WORSENING]
    if not every:
        return ""
    found = [one for one in every if one.accepted is None]
    failed, incomplete, undecided = (
        [one for one in found if one.outcome is outcome]
        for outcome in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED)
    )
    if failed:
        said = f"Worse than in {name}: {_named(failed)}"
    elif gone := next((one.reason for one in incomplete if one.key == GONE), NONE):
        count, total, names = gone.details
        verb = "is" if count == 1 else "are"
        said = f"Not fully compared with {name}: {count} of its {total} cases {verb} not in this run ({names}). "
        said += "The others are not proven worse"
    elif incomplete:
        said = f"Not fully compared with {name}: {_named(incomplete)}"
    elif undecided:
        said = f"Not proven worse than in {name}, but this needs more data: {_named(undecided)}"
    elif any((one.value or 0.0) > 0 for one in every):
        moved = sorted(filter(_moved, found), key=lambda one: -(one.value or 0.0) / _allowed(one))
        said = f"Not proven worse than in {name}"
        said += f": {few_of([_then_and_now(one) for one in moved], SHOWN)}" if moved else ""
    else:
        said = f"Nothing got worse since {name}"
    others = next(filter(None, (one.reason.of(Kind.OTHER_JUDGE) for one in every)), NONE)
    return (
        f"{said}. That baseline is of another judge ({', '.join(map(str, others.details))})." if others else f"{said}."
    )


def _named(found: Sequence[Finding]) -> str:
    return few_of([one.key.removeprefix(f"{POOLED}/").replace(f"/{WORSENING}", "") for one in found], NAMED)


def _moved(one: Finding) -> bool:
    return one.outcome is Outcome.PASS and one.reason.has(Kind.THEN_AND_NOW) and round(one.value or 0.0, 2) > 0


def _allowed(one: Finding) -> float:
    return one.claim.limit if one.claim is not None else 1.0


def _then_and_now(one: Finding) -> str:
    measure, was, now = (one.reason.of(Kind.THEN_AND_NOW) or NONE).details
    way = "fall" if float(str(now)) < float(str(was)) else "rise"
    return f"{measure} {was:.2f} -> {now:.2f} (a {way} of up to {_allowed(one):.2f} is allowed)"


def _fallen(several: Sequence[Held | Pool], alpha: float) -> tuple[list[Held | Pool], float]:
    tested = [(one, grown) for one, grown in ((one, one.growth) for one in several) if grown.enough]
    fallen = holm_rejects([partial(_is_worse, grown) for _, grown in tested], alpha) if tested else []
    return [tested[i][0] for i in fallen], alpha / max(1, len(tested) - len(fallen) + bool(fallen))


def _is_worse(grown: Growth, level: float) -> bool:
    return grown.shift(level)[0] > 0


def _compared(before: Audit, after: Audit) -> list[Compared]:
    groups: dict[tuple[str, ...], list[Finding]] = defaultdict(list)
    for finding in _claims(before):
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


def _claims(audit: Audit) -> list[Finding]:
    seen = (f for f in audit.findings if f.claim is not None and f.outcome is not Outcome.OBSERVED)
    return [f for f in seen if f.bias not in (BASELINE, RUN)]


def _not_asked(before: Audit, after: Audit) -> Finding | None:
    now = {f.key for f in after.findings}
    lost = sorted(f.key for f in _claims(before) if f.key not in now)
    if not lost:
        return None
    return _incomplete(
        LEFT_OUT, after, because(Kind.CLAIMS_LEFT_OUT, len(lost), len(_claims(before)), few_of(lost, NAMED))
    )


def _not_there(before: Audit, after: Audit) -> Finding | None:
    known, unknown = gone_cases(before, after)
    if not known and not unknown:
        return None
    names = few_of([*sorted(known), *(["others that no claim reached"] if unknown else [])], NAMED)
    had = len(_cases_of(before, after))
    return _incomplete(GONE, after, because(Kind.CASES_GONE, len(known) + unknown, had, names))


def gone_cases(before: Audit, after: Audit) -> tuple[frozenset[str], int]:
    """
    Return the cases of the baseline's claims that this run does not have, and how many more there are without a name.

    A record names the cases that were asked about. A run that stopped early may have others, which no claim reached:
    those that would have come later, as far as it has room for them.
    """
    if same_cases(before, after):
        return frozenset(), 0
    now = {f.key: f for f in after.findings}
    asked = {row.case for f in after.findings for row in f.trials}
    left = _cases_of(before, after) - asked
    count = after.cases.get("n")
    room = max(0, count - len(asked)) if isinstance(count, int) else 0
    if not room:
        return frozenset(left), 0
    gone: set[str] = set()
    for old, new in ((old, now[old.key]) for old in _claims(before) if old.key in now):
        if old.measure in MEASURES and new.trials:
            mine = left & {row.case for row in old.trials}
            gone |= mine - {*not_reached(sorted(mine), {row.case for row in new.trials}, new, after)}
    return frozenset(gone), max(0, len(left - gone) - room)


def _cases_of(before: Audit, after: Audit) -> set[str]:
    now = {f.key for f in after.findings}
    return {row.case for f in _claims(before) if f.key in now for row in f.trials}


def _incomplete(key: str, audit: Audit, reason: Reason) -> Finding:
    found = _of_all(key, audit)
    return replace(found, summary="What the accepted run has.", outcome=Outcome.INCOMPLETE, reason=reason)


def _probe_of(finding: Finding) -> tuple[str, ...]:
    about = (finding.bias, finding.perturbation or "", finding.expects or "", finding.summary, finding.against or "")
    return about if finding.expects is not None else (*about, finding.measure)


def _key(finding: Finding) -> str:
    return "/".join(part for part in (finding.bias, WORSENING, finding.perturbation) if part)


def _compare(key: str, claims: Sequence[Finding], now: Mapping[str, Finding], audits: tuple[Audit, Audit]) -> Compared:
    gaps: list[Reason] = []
    waived: list[str | None] = []
    for old, new in ((old, now[old.key]) for old in claims if old.key in now):
        worst = old.measure in MEASURES and bool(MEASURES[old.measure].worst_of)
        if new.claim is None:
            gaps.append(because(Kind.ONLY_OBSERVED, old.key))
        elif old.value is not None and new.outcome is Outcome.NOT_TESTED:
            if not (worst or new.value is not None) or not any(map(new.reason.has, CHANCE)):
                gaps.append(because(Kind.NO_LONGER_TESTED, old.key, old.outcome.value, new.reason))
                waived.append(new.accepted)
        elif old.value is not None and new.value is None and not worst:
            gaps.append(because(Kind.NOW_OPEN, old.key, new.outcome.value, new.reason))
    if held := _held(claims, now, audits):
        gaps += dict.fromkeys(one.paired.fault for one in held if one.paired.fault)
        first = max(held, key=lambda one: len(one.old.trials))
        gaps += filter(None, (_lost(first, gone_cases(*audits)[0]), _other_edits([first])))
    accepted = waived[0] if waived and all(waived) and len(waived) == len(gaps) else None
    return Compared(key, claims[0], now.get(claims[0].key), held, tuple(gaps), accepted)


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


def _lost(held: Held, gone: Collection[str]) -> Reason:
    lost, total = [case for case in held.paired.missing if case not in gone], _cases(held.old)
    if len(lost) <= LOST * total:
        return NONE
    return because(Kind.CASES_LOST, len(lost), total, few_of(lost, NAMED), *held.new.excluded)


def _cases(finding: Finding) -> int:
    return len({record.case for record in finding.trials})


def _other_edits(several: Sequence[Held]) -> Reason:
    changed = sum(len(one.paired.changed) for one in several)
    total = sum(_cases(one.old) - len(one.paired.stopped) for one in several)
    if changed <= CHANGED * total:
        return NONE
    names = several[0].paired.changed if len(several) == 1 else _changed_names(several)
    return because(Kind.OTHER_BASELINE, changed, total, few_of(names, NAMED))


def _pools(compared: Sequence[Compared], audits: tuple[Audit, Audit]) -> list[Pool]:
    """
    Return the measures that enough probes claim, each with these probes; not those that were accepted as they are.

    Whether replies can still be read is taken from the rows of the claims about favour, as for a run by itself. Of each
    measure of agreement there is the claim with the most rows; accuracy is also that of a claim about kappa.
    """
    found: dict[str, list[Held]] = defaultdict(list)
    gold: dict[str, list[Held]] = defaultdict(list)
    for one in (h for c in compared for h in c.held):
        if one.old.accepted is None and one.new.accepted is None:
            if MEASURES[one.old.measure].agrees:
                gold[one.old.measure].append(one)
            elif one.old.expects is not None:
                found[one.old.measure].append(one)
    gold["accuracy"] += [_as(MEASURES["accuracy"], one, audits) for one in gold["kappa"]]
    unread = MEASURES["unreadable_gain"]
    if unread.name not in found:
        readers: dict[tuple[str, str], Held] = {}
        for one in (h for name in ROWS_OF[unread.name] for h in found.get(name, ())):
            readers.setdefault((one.old.bias, one.old.perturbation or ""), one)
        found[unread.name] = [_as(unread, one, audits) for one in readers.values()]
    pools = {name: tuple(held) for name, held in found.items() if len(held) >= FEWEST}
    pools |= {name: (max(held, key=lambda one: one.paired.n),) for name, held in gold.items() if held}
    return [Pool(name, pools[name]) for name in MEASURES if name in pools]


def _as(measure: Measure, held: Held, audits: tuple[Audit, Audit]) -> Held:
    old, new = held.old, held.new
    return Held(replace(old, claim=None), new, pair(old, new, audits, measure, held.paired))


def _probe_finding(compared: Compared, worse: Sequence[Held], level: float) -> Finding | None:
    shown = next(iter([*worse, *(one for one in compared.held if one.growth.enough), *compared.held]), None)
    if shown is None and not compared.gaps:
        return None
    estimate = None
    if shown is not None and (grown := shown.growth).enough:
        estimate = Estimate(grown.mean, *grown.shift(level), shown.paired.n, level, shown.paired.excluded)
    reasons = [*(because(Kind.WORSE, one.old.measure) for one in worse), *compared.gaps]
    asides = [because(Kind.ASIDE, *pair) for pair in (shown.paired.excluded if shown else {}).items()]
    if worse:
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
        accepted=None if worse else compared.accepted,
        baseline=recalled_of(old),
        control=None,
        trials=(),
    )
    return replace(found, **figures_of(estimate))


def _pool_finding(
    pool: Pool, audits: tuple[Audit, Audit], limits: Mapping[str, float], evidence: float | None
) -> Finding:
    """
    Return the claim about one measure of all probes: it has not got worse by more than the limit.

    `evidence` is the level at which it got worse, however little: then it fails.
    """
    family = family_of(audits[1].judge.task)
    assert family is not None, "its rows were measured"
    grown, count = pool.growth, sum(bool(one.paired.rows) for one in pool.held)
    sizes = [n for n in (audit.cases.get("n") for audit in audits) if isinstance(n, int) and n > 0]
    stated = margin_of(pool.measure, family, len(grown.sums) if pool.of_gold else min(sizes, default=USUAL))
    claim = Claim(WORSENING, "<=", limits.get(pool.key, stated))
    faults = list(dict.fromkeys(one.paired.fault for one in pool.held if one.paired.fault))
    faults += [others] if (others := _other_edits(pool.held)) else []
    outcome, estimate, needed = Outcome.INCOMPLETE, None, None
    names = _changed_names(pool.held)
    reasons = faults or ([because(Kind.OTHER_EDITS, len(names), few_of(names, NAMED))] if names else [])
    if not grown.enough:
        reasons = reasons or [because(Kind.TOO_FEW_PAIRS)]
    else:
        cases = {row.case for one in pool.held for row in one.paired.rows}
        level = LEVEL if evidence is None else evidence
        bounds = grown.bounds(level) if evidence is None else grown.shift(level)
        estimate = Estimate(grown.mean, *bounds, len(cases), level, {}, len(grown.sums))
        outcome = Outcome.FAIL if evidence is not None else decide(estimate, claim)
        if _untouched(*audits, pool):
            outcome, estimate = Outcome.PASS, replace(estimate, low=0.0, high=0.0)
            reasons = [*reasons, because(Kind.SAME_VERDICTS)]
        outcome = Outcome.INCOMPLETE if faults else outcome
        undecided = outcome is Outcome.UNDECIDED
        needed = cases_to_decide(estimate, claim, 2) if undecided else None
        if not pool.of_gold:
            reasons = [because(Kind.POOLED_UNDECIDED if undecided else Kind.POOLED, count), *reasons]
        reasons = [*_values(pool), *reasons]
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
    return replace(found, **figures_of(estimate))


def _values(pool: Pool) -> list[Reason]:
    if any(one.old.claim is not None and one.old.claim.two_sided for one in pool.held):
        return []
    rows = [row for one in pool.held for row in one.paired.rows]
    was, now = fsum(row.old for row in rows) / len(rows), fsum(row.new for row in rows) / len(rows)
    turned = MEASURES[pool.measure].flipped
    low, high = MEASURES[pool.measure].range
    was, now = (min(high, max(low, 1 - mean if turned else mean)) for mean in (was, now))
    return [because(Kind.THEN_AND_NOW, pool.measure, round(was, 6) + 0.0, round(now, 6) + 0.0)]


def margin_of(measure: str, family: Family, cases: int) -> float:
    """
    Return by how much a mean may have got worse, in the unit of the measure.

    It is what is stated for `USUAL` cases or more, and for fewer that times sqrt(`USUAL` / cases), up to half the range
    of the measure. `cases` are those of the run; of agreement with gold, the questions that compare.

    >>> margin_of("accuracy", "pairwise", 200), margin_of("kappa", "pairwise", 50), margin_of("gain", "score", 1000)
    (0.16, 0.64, 0.05)
    """
    of = MEASURES[measure]
    width = of.high - of.low
    usual = OF_GOLD * width if of.agrees else OF_EQUALS if of.crosswise else MARGINS[family]
    return round(min(width / 2, usual * sqrt(max(1.0, USUAL / max(1, cases)))), 4)


def _of_all(key: str, audit: Audit) -> Finding:
    about = "All probes together, against the accepted run."
    return bare(key, BASELINE, audit.judge.task, WORSENING, about, asks=audit.repeats)


def _changes(before: Audit, after: Audit) -> list[Reason]:
    notes = [str(change) for change in changes(before, after)]
    others = other_judge(before, after)
    found = [because(Kind.OTHER_JUDGE, *others)] if others else []
    found += [because(Kind.OTHER_CALIBRATION)] if others and CALIBRATED in before.extras else []
    return [*found, *([because(Kind.CHANGES, Said("; ".join(notes)))] if notes else [])]


def _changed_names(held: Sequence[Held]) -> list[str]:
    return [
        f"{'/'.join(filter(None, (one.old.bias, one.old.perturbation)))} {case}"
        for one in held
        for case in one.paired.changed
    ]


def _untouched(old: Audit, new: Audit, pool: Pool) -> bool:
    known = old.judge.fingerprint is not None
    same = old.judge.fingerprint == new.judge.fingerprint and old.judge.served == new.judge.served
    left = pool.excluded.keys() - {because(Kind.NOT_ASKED)}
    return known and same and not left and all(one.paired.identical for one in pool.held)
