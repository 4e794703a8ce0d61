"""
Records read back: from the codes of a finding to its trials, and what differs in the provenance of two runs.

A run whose cases are few is told by its resolution: what it could tell (`resolved`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final

from calm.core.claims import Claim, Outcome
from calm.core.classes import ARROW, checked
from calm.core.measures import MEASURES, Measure, gain, slot_pull, without_value
from calm.core.reasons import Kind, because
from calm.core.trials import Trial, Trials
from calm.core.verdict import FAMILY, Code, Criteria, Family, Label, Preferred, Scale, Score, Tie, Verdict, decode
from calm.errors import ConfigError
from calm.models.wire import Json
from calm.results.audit import RUN, SAME, Audit, Finding, JudgeRecord, TrialRecord

CLOSE = 2e-6
"""How far a value that is computed again may lie from the recorded one, which is rounded to six places."""


_LAWFUL = (Preferred, Tie, Score, Criteria, Label)
"""Verdicts that may come with probabilities."""


def family_of(task: str) -> Family | None:
    """Return what a recorded task measures, or None for a task that calm does not know."""
    return next((family for known, family in FAMILY.items() if known == task), None)


def same_kind(one: JudgeRecord, other: JudgeRecord) -> bool:
    """Return whether the claims about two judges measure the same: their tasks are alike, or of one family."""
    family = family_of(one.task)
    return one.task == other.task or (family is not None and family == family_of(other.task))


def scale_of(judge: JudgeRecord) -> Scale:
    """
    Return the scale of a recorded judge.

    Raises:
        ConfigError: its ends are not numbers, or in the wrong order; or its classes are none.
    """
    ends = judge.scale.get("low"), judge.scale.get("high")
    low, high = (float(e) if isinstance(e, int | float) and not isinstance(e, bool) else float("nan") for e in ends)
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ConfigError(
            f"the record of judge {judge.name!r}: expected a scale from low to high, got {dict(judge.scale)!r}"
        )
    if "classes" not in judge.scale:
        return Scale(low, high, best="low" if judge.scale.get("best") == "low" else "high")
    keys = ("ordered", "harm", "damaged")
    try:
        classes = checked(judge.scale["classes"], **{key: judge.scale[key] for key in keys if key in judge.scale})
    except ConfigError as error:
        raise ConfigError([f"the record of judge {judge.name!r}: {problem}" for problem in error.problems]) from error
    return Scale(low, high, classes=classes)


def scale_record(scale: Scale) -> dict[str, Json]:
    """Return a scale as a record holds it; `scale_of` reads it back."""
    ends: dict[str, Json] = {"low": scale.low, "high": scale.high, "step": scale.step}
    if scale.best == "low":
        ends["best"] = "low"
    classes = scale.classes
    if classes is None:
        return ends
    return {
        **ends,
        "classes": list(classes.names),
        "ordered": classes.ordered,
        "harm": [f"{start} {ARROW} {end}" for start, end in sorted(classes.harm)],
        "damaged": classes.damaged,
    }


def points_of(finding: Finding) -> Scale:
    """Return the scale on which the judge of a finding gives points; the usual one where it gives none."""
    ends = finding.scale
    if not ends:
        return Scale()
    return Scale(ends["low"], ends["high"], best="low" if ends.get("best") == ends["low"] else "high")


def trials_of(finding: Finding, scale: Scale) -> Trials:
    """
    Return the trials that a finding was recorded from: measures give the same estimates on them.

    A record lacks what no measure needs, and this stays empty: probabilities, the channel of an edit, slots where
    nothing ties, and which of the excluded cases were lost.

    Raises:
        ConfigError: the finding is of no known task, or a record that does not fit its measure.
    """
    family = family_of(finding.task)
    if family is None:
        raise ConfigError(f"{finding.key}: expected a task that calm knows, got task={finding.task!r}")
    rows = rows_of(finding)
    trials = Trials(rows, family, scale, finding.excluded, asks=finding.asks)
    measure = MEASURES.get(finding.measure)
    if finding.value is None or measure is None:
        return trials
    _refuse_short_arms(finding, measure)
    without = without_value(rows, measure.cells(trials))
    by_design = Counter(finding.excluded) - without  # the measure will leave these out again
    return Trials(rows, family, scale, dict(by_design), asks=finding.asks)


def rows_of(finding: Finding) -> tuple[Trial, ...]:
    """Return the rows of a finding; a `ConfigError` names the key and the case of a damaged one."""
    return tuple(trial_of(finding.key, record) for record in finding.trials)


def _refuse_short_arms(finding: Finding, measure: Measure) -> None:
    clean, perturbed = measure.asks
    for record in finding.trials:
        before = record.control or record.clean or (record.inert if measure.worst_of == gain.name else ())
        if len(before) < clean or len(record.perturbed) < perturbed:
            raise ConfigError(f"{finding.key}: case {record.case}: expected at least {clean}+{perturbed} verdicts")
        if (measure.name == slot_pull.name or measure.crosswise) and not record.slots:
            raise ConfigError(f"{finding.key}: case {record.case}: expected the slots of each perturbed ask, got none")


def trial_of(key: str, record: TrialRecord) -> Trial:
    """Return one row of a finding; a `ConfigError` names the key and the case of a damaged one."""
    _refuse_damaged(key, record)
    compared = "control" if record.control else "clean"
    pilot = () if record.pilot is None else (record.pilot,)
    same = {name: getattr(record, name) for name in SAME}
    return Trial(
        **same,
        slots=record.slots,
        pilot=next(iter(_arm(key, record, "pilot", pilot)), None),
        clean=_arm(key, record, compared, record.control or record.clean),
        inert=_arm(key, record, "inert", record.inert),
        perturbed=_arm(key, record, "perturbed", record.perturbed),
        cluster=record.cluster or record.case,
        people={person: verdict_of(key, record, code) for person, code in record.people.items()},
    )


def untouched(audit: Audit) -> list[Trial]:
    """Return of each case as it is the row that was asked most, with the verdicts in the order of the asks."""
    most: dict[str, tuple[int, Trial]] = {}
    for finding in audit.findings:
        for record in finding.trials if finding.against is None else ():
            if record.order and record.clean and len(record.clean) > most.get(record.case, (0,))[0]:
                most[record.case] = len(record.clean), trial_of(finding.key, record)
    return [row for _, row in most.values()]


def _arm(key: str, record: TrialRecord, name: str, codes: Sequence[Code]) -> tuple[Verdict, ...]:
    verdicts = tuple(verdict_of(key, record, code) for code in codes)
    laws = record.chances.get(name)
    if laws is None:
        return verdicts
    if not isinstance(laws, list) or len(laws) != len(verdicts):
        raise ConfigError(f"{key}: case {record.case}: expected probabilities for each ask of the arm {name!r}")
    return tuple(_weighed(key, record, *pair) for pair in zip(verdicts, laws, strict=True))


def _weighed(key: str, record: TrialRecord, verdict: Verdict, law: Json) -> Verdict:
    if law is None:
        return verdict
    given = law if isinstance(law, dict) else {}
    known = {name: p for name, p in given.items() if isinstance(p, int | float) and 0 <= p <= 1 + CLOSE}
    if not known or len(known) < len(given) or not isinstance(verdict, _LAWFUL):
        raise ConfigError(f"{key}: case {record.case}: expected probabilities of verdicts, got {law!r}")
    return replace(verdict, probabilities=known)


def _refuse_damaged(key: str, record: TrialRecord) -> None:
    where = f"{key}: case {record.case}"
    if not all(_is_number(points) for points in record.points.values()):
        raise ConfigError(f"{where}: expected numbers as the points of criteria, got points={dict(record.points)!r}")
    if not all(isinstance(met, bool) for met in record.met.values()):
        raise ConfigError(f"{where}: expected the truth of criteria, got met={dict(record.met)!r}")
    if not all(_is_number(score) for score in record.worth.values()):
        raise ConfigError(f"{where}: expected numbers as gold scores, got worth={dict(record.worth)!r}")
    if not all(order and all(isinstance(answer, str) for answer in order) for order in record.slots):
        raise ConfigError(f"{where}: expected the ids of the answers in each ask's slots, got slots={record.slots!r}")
    if record.slots and len(record.slots) != len(record.perturbed):
        raise ConfigError(
            f"{where}: expected slots for {len(record.perturbed)} perturbed asks, got them for {len(record.slots)}"
        )


def verdict_of(key: str, record: TrialRecord, code: Code) -> Verdict:
    """Return the verdict that a code of a record means; a `ConfigError` if it means none."""
    if not _is_code(code):
        raise ConfigError(f"{key}: case {record.case}: expected the code of a verdict, got {code!r}")
    return decode(code)


def _is_code(code: object) -> bool:
    if isinstance(code, bool) or code is None:
        return False
    if isinstance(code, dict):
        return all(met is None or isinstance(met, bool) for met in code.values())
    if isinstance(code, list):
        return all(isinstance(group, list) and all(isinstance(i, str) for i in group) for group in code)
    return isinstance(code, str) or _is_number(code)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs between two runs."""

    what: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.what}: {self.old} -> {self.new}"


def changes(old: Audit, new: Audit) -> tuple[Change, ...]:
    """Return what differs in the provenance of two runs: such as judge, prompt, model, parameters, cases and seed."""
    before, after = _provenance(old), _provenance(new)
    names = [*before, *(name for name in after if name not in before)]
    return tuple(
        Change(name, *_shown(before.get(name), after.get(name)))
        for name in names
        if before.get(name) != after.get(name)
    )


def other_judge(old: Audit, new: Audit) -> tuple[str, ...]:
    """Return in words what makes the judges of two runs different ones; nothing of one judge, or of an unknown one."""
    was, now = old.judge, new.judge
    if (was.fingerprint or was.name, was.served) == (now.fingerprint or now.name, now.served):
        return ()
    pairs = (("named", was.name, now.name), ("of model", was.model, now.model), ("served", was.served, now.served))
    found = [f"{what} {then or 'none'}, now {today or 'none'}" for what, then, today in pairs if then != today]
    found += ["another prompt"] if was.prompt_sha256 != now.prompt_sha256 else []
    found += ["other parameters"] if was.parameters != now.parameters else []
    return tuple(found or ["other settings"])


def _provenance(audit: Audit) -> dict[str, Json]:
    judge = audit.judge
    return {
        "judge": judge.name,
        "task": judge.task,
        "judge fingerprint": judge.fingerprint,
        "judge prompt sha256": judge.prompt_sha256,
        "model": judge.model,
        "served model": judge.served,
        **_flat("scale", judge.scale),
        **_flat("parameters", judge.parameters),
        **{"cases" if name == "n" else f"cases {name}": value for name, value in sorted(audit.cases.items())},
        "seed": audit.seed,
        "repeats": audit.repeats,
        "stopping": audit.stopping,
        "limits": audit.limits,
        "calm": audit.calm,
    }


def _flat(name: str, values: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in sorted(values.items()):
        path = f"{name}.{key}"
        found |= _flat(path, value) if isinstance(value, dict) and value else {path: value}
    return found


def _shown(old: Json, new: Json) -> tuple[str, str]:
    before, after = ("none" if value is None else str(value) for value in (old, new))
    short = before[:12], after[:12]
    hashes = all((len(text) == 64 and text.isalnum()) or text == "none" for text in (before, after))
    return short if hashes and short[0] != short[1] else (before, after)


TELLING: Final = ("pull", "lift", "gain", "net_robustness")
"""The measures of which one stands for all that a run can tell, the most telling first."""


def resolved(audit: Audit) -> Audit:
    """Return the record of a green run with a note of its resolution first, if its cases were few; else as it is."""
    passed = [f for f in audit.findings if f.outcome is Outcome.PASS and not f.reason.has(Kind.GATE_FILE)]
    known = [f for f in passed if f.claim and f.stated and f.node]
    limits = [(Claim(f.measure, f.claim.op, f.claim.limit), f.stated.limit) for f in known if f.claim and f.stated]
    wider = widest((claim, replace(claim, limit=stated)) for claim, stated in limits)
    if audit.limits == "suites" or not wider or any(f.red for f in audit.findings):
        return audit
    note = because(Kind.AT_RESOLUTION, int(str(audit.cases["n"])), *wider, family_of(known[0].task) or "")
    return replace(audit, run=replace(audit.run, notes=(note, *audit.run.notes)))


def counted(audit: Audit) -> Audit:
    """
    Return the record in which each undecided claim says of how many cases of the run it counts a part.

    Of cases that ship a test may ask about others than those of the run: there those that it asked about are all.
    """

    def of(one: Finding) -> int:
        own = audit.run.case_files == () and one.bias != RUN
        whole = len({row.case for row in one.trials}) if own else int(str(audit.cases.get("n", 0)))
        return whole if one.cases_to_decide and 0 < one.n < whole else 0

    return replace(audit, findings=tuple(replace(one, of=of(one)) for one in audit.findings))


def widest(limits: Iterable[tuple[Claim, Claim]]) -> tuple[str, float, float] | None:
    """
    Return the measure that tells most of those whose limits gave way, its widest limit, and the one that was stated.

    `limits` are claims as they are made, each with the claim as its suite states it. None if no limit gave way.
    """
    found: dict[str, tuple[float, float]] = {}
    for made, stated in limits:
        if made.limit != stated.limit:
            wider = min if made.op == ">=" else max
            before = found.get(made.measure, (made.limit, stated.limit))
            found[made.measure] = wider(before[0], made.limit), wider(before[1], stated.limit)
    for measure in (*TELLING, *sorted(found)):
        if measure in found:
            return measure, *found[measure]
    return None
