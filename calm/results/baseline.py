"""The accepted run, kept as a file for review, and what got worse since, case by case."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path
from typing import NoReturn

from calm.core.claims import Claim, Estimate, Outcome, cases_to_decide, decide
from calm.core.measures import MEASURES, net_robustness
from calm.core.reasons import NONE, Kind, Reason, Said, because, listed, ordered
from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.experiment.stopping import LEVEL, LOST
from calm.models.wire import Json
from calm.results.audit import SCHEMA as RESULTS
from calm.results.audit import Audit, Finding, Limit, Run, write_whole
from calm.results.gatefile import POOLED, WORSENING
from calm.results.records import Paired, changes, family_of, pair, same_cases, scale_of, trials_of
from calm.statistics.intervals import padded_t, smallest_n
from calm.statistics.multiplicity import holm_rejects

SCHEMA = "calm-baseline/1"
MARGIN = 0.03
"""How much excess disagreement may have grown, on average over all probes (STATISTICS: proven once, pooled)."""
CHANGED = 0.10
"""Share of cases whose edit may differ from the baseline's; with more, it is a baseline of something else."""
NAMED = 5
"""A reason names this many cases and counts the others."""

_HEAD = ("calm", "judge", "cases", "seed", "repeats", "outcome")


def accept(audit: Audit) -> Audit:
    """
    Return the part of a run that a baseline keeps: its findings with their codes; no text, no figure of the run.

    A FAIL is accepted as a record of today. Findings about an older baseline are left out.

    Raises:
        ConfigError: a claim was not decided, and neither xfail nor gate.toml accepted it; the message names all keys.
    """
    findings = [f for f in audit.findings if f.measure != WORSENING]
    if audit.stopping != "fixed":
        raise ConfigError(
            f"the run cannot be accepted: it stopped early (stopping={audit.stopping!r}), each claim where its own "
            "data looked decisive; accept a run of all cases, without --calm-sequential and --calm-anytime"
        )
    problems = [f"the run cannot be accepted: {note}" for note in audit.run.notes if note.kind is Kind.INTERRUPTED]
    for outcome in (Outcome.INCOMPLETE, Outcome.UNDECIDED):
        keys = sorted(f.key for f in findings if f.outcome is outcome and f.accepted is None)
        if keys:
            problems.append(f"expected a run in which every claim was decided, got {outcome.value}: {', '.join(keys)}")
    twice = sorted(key for key, count in Counter(f.key for f in findings).items() if count > 1)
    if twice:
        problems.append(f"expected one finding for each key, got several: {', '.join(twice)}")
    if not findings:
        problems.append("expected a run with findings, got none: there is nothing to compare with later")
    elif not problems and not any(f.outcome in (Outcome.PASS, Outcome.FAIL) for f in findings):
        problems.append("expected at least one claim that was decided, got none: nothing was PASS or FAIL")
    if problems:
        raise ConfigError(problems)
    return replace(
        audit,
        judge=replace(audit.judge, about={}),  # the prompt's own text; its hash stays
        findings=tuple(_kept(f) for f in sorted(findings, key=lambda f: f.key)),
        run=Run(),
        texts=(),
    )


def _kept(finding: Finding) -> Finding:
    """Leave out what differs between runs that found the same: the node id depends on where the tests lie."""
    trials = tuple(sorted(finding.trials, key=lambda record: record.case))
    return replace(finding, node="", cases_to_decide=None, baseline=None, trials=trials)


def write_baseline(audit: Audit, path: Path) -> None:
    """Accept a run and write it, whole or not at all; each case of a finding has a line, so that a diff can be read."""
    write_whole(path, _lines(accept(audit)))


def _lines(accepted: Audit) -> Iterator[str]:
    body = accepted.to_json()
    yield "{\n" + f' "schema": {_json(SCHEMA)},\n'
    for name in _HEAD:
        yield f' "{name}": {_json(body[name])},\n'
    yield ' "findings": ['
    findings = body["findings"]
    assert isinstance(findings, list)
    for place, one in enumerate(findings):
        assert isinstance(one, dict)
        trials = one.pop("trials")
        assert isinstance(trials, list)
        rows = "".join(f"{',' * (row > 0)}\n   {_json(trial)}" for row, trial in enumerate(trials))
        yield f'{"," * (place > 0)}\n  {_json(one)[:-1]}, "trials": [{rows}]}}'
    yield "\n ]\n}\n"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True)


def read_baseline(path: Path) -> Audit:
    """
    Return the accepted run in a file that `write_baseline` wrote.

    Raises:
        ConfigError: no such file, not JSON, another schema, or damaged; the message says what was expected.
    """
    try:
        body = json.loads(path.read_text("utf-8"), parse_constant=_no_number)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: expected a baseline written by `calm accept`; {error}") from error
    schema = body.get("schema") if isinstance(body, dict) else None
    if schema != SCHEMA:
        hint = f"; make a baseline of it with `calm accept {path} -o baseline.json`" if schema == RESULTS else ""
        raise ConfigError(f"{path}: expected a baseline of schema {SCHEMA!r}, got schema={schema!r}{hint}")
    try:
        found = Audit.from_json({**body, "schema": RESULTS, "run": {}})
        scale = scale_of(found.judge)
        for finding in found.findings:
            trials_of(finding, scale)
    except ConfigError as error:
        raise ConfigError([f"{path}: {problem}" for problem in error.problems]) from error
    twice = [key for key, count in Counter(f.key for f in found.findings).items() if count > 1]
    if twice or not found.findings:
        raise ConfigError(
            f"{path}: expected one finding for each key, got {'several for ' + twice[0] if twice else 'none'}"
        )
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, got {name}")


def recalled(baseline: Audit, audit: Audit) -> Audit:
    """Return a run in which each finding shows what the baseline found."""
    before = {f.key: f for f in baseline.findings}
    return replace(
        audit,
        findings=tuple(replace(f, baseline=_recall(before[f.key])) if f.key in before else f for f in audit.findings),
    )


def _recall(finding: Finding) -> Mapping[str, Json]:
    return {"value": finding.value, "low": finding.low, "high": finding.high, "outcome": finding.outcome.value}


@dataclass(frozen=True, slots=True)
class Compared:
    """One probe of the baseline: its claims then and now, the one whose cases are compared, and what is wrong."""

    key: str
    old: Finding
    new: Finding | None
    paired: Paired | None = None
    gone: tuple[Reason, ...] = ()
    """What the baseline decided or asked and this run does not: the probe fails."""
    gaps: tuple[Reason, ...] = ()
    """Why the comparison is incomplete."""
    accepted: str | None = None


def against(baseline: Audit, audit: Audit, *, limit: float = MARGIN) -> tuple[Finding, ...]:
    """
    Return what got worse since the baseline: one claim about all probes together, and a finding for each probe.

    The pooled claim is `worsening <= 0.03`. Its value for a case is the growth of the excess disagreement, averaged
    over all probes that claim `net_robustness` (padded t, level .05). A probe is FAIL where its own growth is above
    zero with familywise error .05 (Holm over the probes of the baseline), or where it, one of its cases or its decision
    is gone. It is INCOMPLETE where it cannot be compared, and otherwise OBSERVED. The same verdicts of the same judge
    give differences of exactly zero.

    Raises:
        ConfigError: the baseline is of another kind of verdict, or a record is damaged.
    """
    if family_of(baseline.judge.task) != family_of(audit.judge.task):
        raise ConfigError(
            f"expected a baseline of a judge with task={audit.judge.task!r}, got task={baseline.judge.task!r}; "
            "accept a run of this judge"
        )
    compared = _compared(baseline, audit)
    tested = [c for c in compared if c.paired is not None and not c.paired.fault and len(c.paired.values) > 1]
    fallen = holm_rejects([_worse_at(c) for c in tested], LEVEL) if tested else []
    failed = {tested[i].key for i in fallen}
    left = {True: len(tested) - len(fallen) + 1, False: max(1, len(tested) - len(fallen))}
    found = [_probe_finding(c, worse=c.key in failed, level=LEVEL / left[c.key in failed]) for c in compared]
    return (_pooled(baseline, audit, compared, limit), *(f for f in found if f is not None))


def _compared(before: Audit, after: Audit) -> list[Compared]:
    """Return the probes of the baseline that claimed something, each with its claims of today."""
    groups: dict[tuple[str, ...], list[Finding]] = defaultdict(list)
    for finding in before.findings:
        if finding.claim is not None and finding.outcome is not Outcome.OBSERVED and finding.measure != WORSENING:
            groups[_probe_of(finding)].append(finding)
    names = Counter(_key(claims[0]) for claims in groups.values())
    now = {f.key: f for f in after.findings}
    scales = scale_of(before.judge), scale_of(after.judge)
    same = same_cases(before, after)
    found = []
    for claims in groups.values():
        key = _key(claims[0])
        if names[key] > 1 or claims[0].expects is None:
            key = f"{key}/{claims[0].measure}"
        found.append(_compare(key, claims, now, scales=scales, same=same))
    return sorted(found, key=lambda c: c.key)


def _probe_of(finding: Finding) -> tuple[str, ...]:
    """Return what identifies a probe; on the clean arm each measure is a probe of its own."""
    about = (finding.bias, finding.perturbation or "", finding.expects or "", finding.summary, finding.against or "")
    return about if finding.expects is not None else (*about, finding.measure)


def _key(finding: Finding) -> str:
    return "/".join(part for part in (finding.bias, WORSENING, finding.perturbation) if part)


def _compare(
    key: str,
    claims: Sequence[Finding],
    now: Mapping[str, Finding],
    *,
    scales: tuple[Scale, Scale],
    same: bool,
) -> Compared:
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
    chosen = _comparable(claims, now)
    if chosen is None:
        return Compared(key, claims[0], now.get(claims[0].key), None, tuple(gone), tuple(gaps), accepted)
    old, new = chosen
    paired = pair(old, new, scales)
    if paired.fault:
        gaps.append(paired.fault)
    lost = _vanished(paired, old, new, same=same)
    if lost and new.outcome is Outcome.INCOMPLETE:
        gaps.append(lost)
    elif lost:
        gone.append(lost)
        accepted = None
    changed = len(paired.changed)
    if changed > CHANGED * len(old.trials):
        gaps.append(_other_edits(changed, len(old.trials), paired.changed))
    return Compared(key, old, new, paired, tuple(gone), tuple(gaps), accepted)


def _comparable(claims: Sequence[Finding], now: Mapping[str, Finding]) -> tuple[Finding, Finding] | None:
    """Return the claim of a probe that is compared, then and now: net_robustness, else the first of the measures."""
    order = list(MEASURES)
    for old in sorted((c for c in claims if c.measure in MEASURES), key=lambda c: order.index(c.measure)):
        new = now.get(old.key)
        if new is not None and old.value is not None and new.value is not None:
            return old, new
    return None


def _vanished(paired: Paired, old: Finding, new: Finding, *, same: bool) -> Reason:
    """
    Return which cases are gone, or `NONE`.

    In an unchanged set of cases a few may lack a reply, as the claims themselves allow.
    """
    gone = paired.missing
    if not gone or (same and len(gone) <= LOST * len(old.trials)):
        return NONE
    found = because(Kind.CASES_GONE, len(gone), len(old.trials), _named(gone))
    return because(Kind.CASES_GONE_WHY, found, *new.excluded) if same and new.excluded else found


def _other_edits(changed: int, total: int, names: Sequence[str]) -> Reason:
    return because(Kind.OTHER_BASELINE, changed, total, _named(names))


def _named(cases: Sequence[str]) -> str:
    more = len(cases) - NAMED
    return ", ".join(cases[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _worse_at(compared: Compared) -> Callable[[float], bool]:
    return lambda level: _evidence(compared, level).low > 0


def _evidence(compared: Compared, level: float) -> Estimate:
    """Return by how much a probe is worse than in the baseline, with its bounds at `level`."""
    paired = compared.paired
    assert paired is not None
    claim = compared.old.claim
    if claim is not None and claim.op == "abs<=":
        return _further_from_zero(paired, level)
    drops = list(paired.drops.values())
    low, high = padded_t(drops, -paired.width, paired.width, level)
    return Estimate(fsum(drops) / len(drops), low, high, len(drops), level, paired.excluded)


def _further_from_zero(paired: Paired, level: float) -> Estimate:
    """
    Return by how much a mean moved away from zero.

    |new| > |old| means that the difference and the sum of the two means have the same sign. The sign is that of the
    measured sum. Each sign gets half of the level, and the difference counts only if the sum is certain.
    """
    sums = [new + old for old, new in paired.values.values()]
    sign = 1.0 if fsum(sums) >= 0 else -1.0
    drops = [sign * (new - old) for old, new in paired.values.values()]
    ends = -paired.width, paired.width
    low, high = padded_t(drops, *ends, level / 2)
    certain, _ = padded_t([sign * s for s in sums], *ends, level / 2)
    low = low if certain > 0 else min(low, 0.0)
    return Estimate(fsum(drops) / len(drops), low, high, len(drops), level, paired.excluded)


def _probe_finding(compared: Compared, *, worse: bool, level: float) -> Finding | None:
    """Return what a probe's comparison found; None where the baseline had nothing to compare with."""
    paired = compared.paired
    estimate = None
    if paired is not None and not paired.fault and len(paired.values) > 1:
        estimate = _evidence(compared, level)
    elif paired is None and not compared.gone and not compared.gaps:
        return None
    reasons = [*compared.gone, *compared.gaps]
    if worse:
        reasons.insert(0, because(Kind.WORSE, compared.old.measure))
    if worse or compared.gone:
        outcome = Outcome.FAIL
    elif compared.gaps:
        outcome = Outcome.INCOMPLETE
    elif estimate is not None:
        outcome = Outcome.OBSERVED
        reasons += _asides(paired)
    else:
        outcome = Outcome.NOT_TESTED
        reasons = reasons or [because(Kind.TOO_FEW_PAIRS), *_asides(paired)]
    old = compared.old
    return replace(
        compared.new or old,
        key=compared.key,
        summary=f"{old.measure} against the accepted run.",
        measure=WORSENING,
        claim=Limit("<=", 0.0) if worse else None,
        outcome=outcome,
        reason=listed(reasons),
        value=_rounded(estimate.value if estimate else None),
        low=_rounded(estimate.low if estimate else None),
        high=_rounded(estimate.high if estimate else None),
        level=estimate.level if estimate else None,
        n=estimate.n if estimate else 0,
        excluded=ordered(paired.excluded) if paired else {},
        robustness_rate=None,
        consistency_rate=None,
        flips={},
        cases_to_decide=None,
        channel="",
        accepted=None if worse or compared.gaps else compared.accepted,
        baseline=_recall(old),
        trials=(),
    )


def _asides(paired: Paired | None) -> list[Reason]:
    """Return why a few cases were not compared."""
    return [because(Kind.ASIDE, reason, count) for reason, count in (paired.excluded if paired else {}).items()]


def _pooled(before: Audit, after: Audit, compared: Sequence[Compared], limit: float) -> Finding:
    """Return the one claim about all probes: excess disagreement has not grown by more than the limit."""
    claim = Claim(WORSENING, "<=", limit)
    robust = [c for c in compared if c.old.measure == net_robustness.name and c.paired is not None]
    notes = [str(change) for change in changes(before, after)]
    reasons = [because(Kind.CHANGES, Said("; ".join(notes)))] if notes else []
    growth: dict[str, list[float]] = defaultdict(list)
    excluded: Counter[Reason] = Counter()
    for one in robust:
        assert one.paired is not None
        excluded.update(one.paired.excluded)
        for case, drop in one.paired.drops.items():
            growth[case].append(drop)
    values = [fsum(drops) / len(drops) for drops in growth.values()]
    outcome, estimate = Outcome.NOT_TESTED, None
    gaps = _pooled_gaps(robust)
    if not robust:
        reasons.insert(0, because(Kind.NO_ROBUSTNESS))
    elif len(values) < 2:
        outcome = Outcome.INCOMPLETE
        reasons[:0] = gaps or [because(Kind.TOO_FEW_PAIRS)]
    else:
        estimate = _pool(values, excluded)
        outcome = decide(estimate, claim)
        if _untouched(before, after, robust):
            outcome, estimate = Outcome.PASS, replace(estimate, low=0.0, high=0.0)
            reasons.insert(0, because(Kind.SAME_VERDICTS))
        if gaps:
            outcome = Outcome.INCOMPLETE
        reasons[:0] = [*(gaps or _changed_words(robust)), _pooled_words(robust, outcome)]
    needed = None
    if outcome is Outcome.UNDECIDED and estimate is not None:
        needed = cases_to_decide(estimate, claim, smallest_n(limit / _WIDTH, LEVEL))
    return Finding(
        key=POOLED,
        node="",
        bias="baseline",
        perturbation=None,
        expects=None,
        dose=None,
        summary="All probes together, against the accepted run.",
        task=after.judge.task,
        measure=WORSENING,
        claim=Limit("<=", limit),
        outcome=outcome,
        reason=listed(reasons),
        value=_rounded(estimate.value if estimate else None),
        low=_rounded(estimate.low if estimate else None),
        high=_rounded(estimate.high if estimate else None),
        level=estimate.level if estimate else None,
        n=estimate.n if estimate else 0,
        excluded=ordered(excluded),
        robustness_rate=None,
        consistency_rate=None,
        flips={},
        cases_to_decide=needed,
        channel="",
        asserted=True,
        accepted=None,
        asks=after.repeats,
    )


_WIDTH = net_robustness.high - net_robustness.low


def _pool(values: Sequence[float], excluded: Mapping[Reason, int]) -> Estimate:
    low, high = padded_t(values, -_WIDTH, _WIDTH, LEVEL)
    return Estimate(fsum(values) / len(values), low, high, len(values), LEVEL, dict(excluded))


def _pooled_gaps(robust: Sequence[Compared]) -> list[Reason]:
    """Return why the pooled claim would be about other data than the baseline."""
    gaps = [c.paired.fault for c in robust if c.paired is not None and c.paired.fault]
    changed = sum(len(c.paired.changed) for c in robust if c.paired is not None)
    total = sum(len(c.old.trials) for c in robust)
    if changed > CHANGED * total:
        gaps.append(_other_edits(changed, total, _changed_names(robust)))
    return gaps


def _pooled_words(robust: Sequence[Compared], outcome: Outcome) -> Reason:
    """Return how many probes the estimate is the mean of, and what that means where it decides nothing."""
    count = sum(1 for c in robust if c.paired is not None and c.paired.values)
    return because(Kind.POOLED_UNDECIDED if outcome is Outcome.UNDECIDED else Kind.POOLED, count)


def _changed_words(robust: Sequence[Compared]) -> list[Reason]:
    names = _changed_names(robust)
    if not names:
        return []
    return [because(Kind.OTHER_EDITS, len(names), _named(names))]


def _changed_names(robust: Sequence[Compared]) -> list[str]:
    return [f"{_name(c.old)} {case}" for c in robust if c.paired is not None for case in c.paired.changed]


def _name(finding: Finding) -> str:
    return f"{finding.bias}/{finding.perturbation}" if finding.perturbation else finding.bias


def _untouched(old: Audit, new: Audit, robust: Sequence[Compared]) -> bool:
    """Return whether this run is the baseline's own data again: nothing was sampled anew."""
    known = old.judge.fingerprint is not None
    same = old.judge.fingerprint == new.judge.fingerprint and old.judge.served == new.judge.served
    return known and same and all(c.paired is not None and c.paired.identical and not c.paired.excluded for c in robust)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6) + 0.0  # + 0.0 turns -0.0 into 0.0
