"""Records read back: from the codes of a finding to its trials, and the cases of one claim in two runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isfinite

from calm.core.measures import MEASURES, Measure, slot_pull
from calm.core.reasons import NONE, Kind, Reason, because
from calm.core.trials import Trial, Trials
from calm.core.verdict import FAMILY, Code, Family, Scale, Verdict, decode
from calm.errors import ConfigError
from calm.models.wire import Json
from calm.results.audit import Audit, Finding, JudgeRecord, TrialRecord

CLOSE = 2e-6
"""How far a value that is computed again may lie from the recorded one, which is rounded to six places."""
AIMED = ("gain", "mean_shift", "attack_success_rate", "net_detection")
"""Measures about one answer: two runs can be compared only where it is the same answer."""


def family_of(task: str) -> Family | None:
    """Return what a recorded task measures, or None for a task that calm does not know."""
    return next((family for known, family in FAMILY.items() if known == task), None)


def scale_of(judge: JudgeRecord) -> Scale:
    """
    Return the scale of a recorded judge.

    Raises:
        ConfigError: its ends are not numbers, or in the wrong order.
    """
    ends = judge.scale.get("low"), judge.scale.get("high")
    low, high = (float(e) if isinstance(e, int | float) and not isinstance(e, bool) else float("nan") for e in ends)
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ConfigError(
            f"the record of judge {judge.name!r}: expected a scale from low to high, got {dict(judge.scale)!r}"
        )
    return Scale(low, high)


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
    rows = tuple(_trial(finding.key, record) for record in finding.trials)
    trials = Trials(rows, family, scale, finding.excluded, asks=finding.asks)
    measure = MEASURES.get(finding.measure)
    if finding.value is None or measure is None:
        return trials
    _refuse_short_arms(finding, measure)
    without = Counter(v for v in (measure.per_case(row, scale) for row in rows) if isinstance(v, Reason))
    by_design = Counter(finding.excluded) - without  # the measure will leave these out again
    return Trials(rows, family, scale, dict(by_design), asks=finding.asks)


def _refuse_short_arms(finding: Finding, measure: Measure) -> None:
    clean, perturbed = measure.asks
    for record in finding.trials:
        if len(record.control or record.clean) < clean or len(record.perturbed) < perturbed:
            raise ConfigError(f"{finding.key}: case {record.case}: expected at least {clean}+{perturbed} verdicts")
        if measure.name == slot_pull.name and not record.slots:
            raise ConfigError(f"{finding.key}: case {record.case}: expected the slots of each perturbed ask, got none")


def _trial(key: str, record: TrialRecord) -> Trial:
    _refuse_damaged(key, record)
    clean = tuple(verdict_of(key, record, c) for c in record.control or record.clean)
    perturbed = tuple(verdict_of(key, record, c) for c in record.perturbed)
    return Trial(
        case=record.case,
        edit=record.edit,
        hash=record.hash,
        target=record.target,
        damaged=record.damaged,
        hit=record.hit,
        better=record.better,
        met=record.met,
        points=record.points,
        room=record.room,
        slots=record.slots,
        pilot=verdict_of(key, record, record.pilot) if record.pilot is not None else None,
        clean=clean,
        inert=tuple(verdict_of(key, record, c) for c in record.inert),
        perturbed=perturbed,
        floor=record.floor,
        cluster=record.cluster or record.case,
    )


def _refuse_damaged(key: str, record: TrialRecord) -> None:
    """Refuse a damaged record that the reader of the file let pass."""
    where = f"{key}: case {record.case}"
    if not all(_is_number(points) for points in record.points.values()):
        raise ConfigError(f"{where}: expected numbers as the points of criteria, got points={dict(record.points)!r}")
    if not all(isinstance(met, bool) for met in record.met.values()):
        raise ConfigError(f"{where}: expected the truth of criteria, got met={dict(record.met)!r}")
    if not all(order and all(isinstance(answer, str) for answer in order) for order in record.slots):
        raise ConfigError(f"{where}: expected the ids of the answers in each ask's slots, got slots={record.slots!r}")
    if record.slots and len(record.slots) != len(record.perturbed):
        raise ConfigError(
            f"{where}: expected slots for {len(record.perturbed)} perturbed asks, got them for {len(record.slots)}"
        )


def verdict_of(key: str, record: TrialRecord, code: Code) -> Verdict:
    """Return the verdict that a code of a record stands for; a `ConfigError` if it is none."""
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
class Paired:
    """
    The cases of one claim in two runs, matched one to one.

    `values` are the values (old, new) of the cases that can be compared. Of the others, `missing` are gone, `changed`
    have another edit or content, `turned` have another treated answer because the pilot chose another, and `without`
    have no value in one of the runs. `fault` says why no case can be compared.
    """

    measure: Measure
    values: Mapping[str, tuple[float, float]]
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    turned: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    identical: bool = False
    """Whether every verdict of every matched case is the same, ask by ask."""
    fault: Reason = NONE

    @property
    def worse(self) -> int:
        """1 where a case value that grew is worse, else -1."""
        return 1 if self.measure.flipped or self.measure.op == "<=" else -1

    @property
    def width(self) -> float:
        """The greatest possible difference of two case values."""
        return self.measure.high - self.measure.low

    @property
    def drops(self) -> dict[str, float]:
        """By how much each case is worse than before."""
        return {case: self.worse * (new - old) for case, (old, new) in self.values.items()}

    @property
    def excluded(self) -> dict[Reason, int]:
        """The cases that cannot be compared, counted by reason."""
        counts = {
            because(Kind.NOT_IN_RUN): len(self.missing),
            because(Kind.OTHER_EDIT): len(self.changed),
            because(Kind.OTHER_TARGET): len(self.turned),
            because(Kind.NO_PAIR): len(self.without),
        }
        return {reason: count for reason, count in counts.items() if count}


def same_cases(old: Audit, new: Audit) -> bool:
    """Return whether both runs had the same cases."""
    return old.cases.get("sha256") is not None and old.cases.get("sha256") == new.cases.get("sha256")


def pair(old: Finding, new: Finding, scales: tuple[Scale, Scale]) -> Paired:
    """
    Return the cases of one claim in two runs side by side, each computed from its own record on its own scale.

    A record that does not reproduce its own value is not compared: somebody changed the file.
    """
    measure = MEASURES[old.measure]
    rows = {r.case: r for r in old.trials}, {r.case: r for r in new.trials}
    missing = tuple(sorted(rows[0].keys() - rows[1].keys()))
    matched, changed, turned = [], [], []
    for case in sorted(rows[0].keys() & rows[1].keys()):
        before, after = rows[0][case], rows[1][case]
        aims = [(r.target, r.damaged, r.hit) for r in (before, after)]
        if before.hash == after.hash and (aims[0] == aims[1] or measure.name not in AIMED):
            matched.append(case)
        elif aims[0] != aims[1]:
            turned.append(case)
        else:
            changed.append(case)
    identical = all(_codes(rows[0][case]) == _codes(rows[1][case]) for case in matched)
    found = [_values(finding, measure, scale) for finding, scale in zip((old, new), scales, strict=True)]
    fault = next((f for f in found if isinstance(f, Reason)), NONE)
    values: dict[str, tuple[float, float]] = {}
    if isinstance(found[0], dict) and isinstance(found[1], dict):
        values = {c: (found[0][c], found[1][c]) for c in matched if c in found[0] and c in found[1]}
    without = tuple(c for c in matched if c not in values)
    return Paired(measure, values, missing, tuple(changed), tuple(turned), without, identical, fault)


def _codes(record: TrialRecord) -> tuple[object, ...]:
    return record.clean, record.perturbed, record.control, record.room


def _values(finding: Finding, measure: Measure, scale: Scale) -> dict[str, float] | Reason:
    """Return the value of each case that has one, or why the record cannot give them."""
    found = {r.case: measure.per_case(r, scale) for r in trials_of(finding, scale).rows}
    values = {case: value for case, value in found.items() if not isinstance(value, Reason)}
    again = fsum(values.values()) / len(values) if values else None
    if again is not None and measure.flipped:
        again = 1 - again
    if again is None or finding.value is None or abs(again - finding.value) > CLOSE:
        shown = "nothing" if again is None else f"{again:.6f}"
        return because(Kind.CHANGED_BY_HAND, finding.key, shown, str(finding.value))
    return values


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs between two runs."""

    what: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.what}: {self.old} -> {self.new}"


def changes(old: Audit, new: Audit) -> tuple[Change, ...]:
    """Return what differs in the provenance of two runs: judge, prompt, model, parameters, cases, seed and the like."""
    before, after = _provenance(old), _provenance(new)
    names = [*before, *(name for name in after if name not in before)]
    return tuple(
        Change(name, *_shown(before.get(name), after.get(name)))
        for name in names
        if before.get(name) != after.get(name)
    )


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
        "calm": audit.calm,
    }


def _flat(name: str, values: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in sorted(values.items()):
        path = f"{name}.{key}"
        found |= _flat(path, value) if isinstance(value, dict) and value else {path: value}
    return found


def _shown(old: Json, new: Json) -> tuple[str, str]:
    """Return two values as text; hashes are shortened unless they begin alike."""
    before, after = ("none" if value is None else str(value) for value in (old, new))
    short = before[:12], after[:12]
    hashes = all((len(text) == 64 and text.isalnum()) or text == "none" for text in (before, after))
    return short if hashes and short[0] != short[1] else (before, after)
