"""Two runs side by side: what moved, by how much with its interval, which cases flipped, and what else differs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from calm.core.claims import Outcome, decimals
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import Reason
from calm.core.trials import same
from calm.core.verdict import Code, Verdict, code
from calm.experiment.stopping import LEVEL
from calm.results.audit import RUN, Audit, Finding, TrialRecord
from calm.results.gatefile import WORSENING
from calm.results.pairing import Paired, growth, pair, worse_way
from calm.results.parts import aligned
from calm.results.pooled import probes_of, widest
from calm.results.records import Change, changes, scale_of, verdict_of
from calm.results.wording import printable
from calm.selfpreference.symbols import TABLE_MEASURES

LINES = 20
"""How many lines of a kind are shown before the rest is counted."""
RANK = (
    Outcome.FAIL,
    Outcome.INCOMPLETE,
    Outcome.UNDECIDED,
    Outcome.NOT_TESTED,
    Outcome.OBSERVED,
    Outcome.PASS,
)
"""Outcomes from the worst to the best."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A measured value that changed: new less old over the `n` cases that compare, with a bound at .05 on each side."""

    value: float
    low: float
    high: float
    n: int
    worse: float
    """The same with the sign that makes more worse."""
    sure: bool = False
    """Whether bounds that hold for all differences of a comparison together (Bonferroni) exclude 0."""


@dataclass(frozen=True, slots=True)
class Moved:
    """One key of both runs. Without a difference, `why` says why its cases were not compared."""

    key: str
    old: Finding
    new: Finding
    difference: Difference | None
    why: str = ""
    left_out: int = 0
    """Cases of the old run that were not compared."""
    variant: str = ""
    """The worst variant of both runs, where the key is about it."""

    @property
    def changed(self) -> bool:
        """Whether outcome, limit or value differ."""
        return (self.old.outcome, self.old.claim, self.old.value) != (self.new.outcome, self.new.claim, self.new.value)


@dataclass(frozen=True, slots=True)
class Flip:
    """A case whose most frequent verdict differs between the runs, in the perturbed arm if there is one."""

    case: str
    key: str
    old: Code
    new: Code


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that differs between two runs, the worst first."""

    moved: tuple[Moved, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    flips: tuple[Flip, ...]
    changes: tuple[Change, ...]
    gaps_old: tuple[Reason, ...] = ()
    gaps_new: tuple[Reason, ...] = ()
    """Why each run is not whole: keys that one run lacks may be those of tests that crashed or did not run."""


def compare(old: Audit, new: Audit) -> Comparison:
    """
    Return what differs between two runs, case by case.

    A difference has an interval where both records reproduce their own values and at least two cases have the same
    content and edit in both runs.

    Raises:
        ConfigError: a record is damaged.
    """
    for audit in (old, new):
        if audit.findings or audit.judge.scale:  # in a run that crashed at once no judge told its scale
            scale_of(audit.judge)
    # what a run says against a baseline is a comparison itself
    first, second = ({f.key: f for f in audit.findings if f.measure != WORSENING} for audit in (old, new))
    both = sorted(first.keys() & second.keys())
    measured = sum(first[key].value is not None and second[key].value is not None for key in both)
    moved = [_moved(first[key], second[key], (old, new), measured) for key in both]
    return Comparison(
        moved=tuple(sorted(moved, key=_badness)),
        only_old=tuple(sorted(first.keys() - second.keys())),
        only_new=tuple(sorted(second.keys() - first.keys())),
        flips=_flips([(first[key], second[key]) for key in both]),
        changes=changes(old, new),
        gaps_old=old.gaps,
        gaps_new=new.gaps,
    )


def _moved(old: Finding, new: Finding, audits: tuple[Audit, Audit], measured: int) -> Moved:
    if old.value is None or new.value is None:
        return Moved(old.key, old, new, None, "not measured in both runs")
    if old.measure not in MEASURES or new.measure not in MEASURES:
        return Moved(old.key, old, new, None, "a figure of all cases together: none of them has a value of its own")
    several = _pairs_of_run(old, audits) if old.bias == RUN else [pair(old, new, audits)]
    left_out = sum(count for paired in several for count in paired.excluded.values())
    was, now = (_worst_variant(finding) for finding in (old, new))
    if was != now:
        return Moved(old.key, old, new, None, f"the worst variant is {now} now and was {was}", left_out)
    if fault := next((paired.fault for paired in several if paired.fault), None):
        return Moved(old.key, old, new, None, str(fault), left_out)
    two_sided = old.claim is not None and old.claim.op == "abs<="
    found = difference(several, MEASURES[old.measure], measured, two_sided=two_sided)
    if found is None:
        return Moved(old.key, old, new, None, "fewer than two cases have the same edit in both runs", left_out)
    return Moved(old.key, old, new, found, "", left_out, now)


def _pairs_of_run(finding: Finding, audits: tuple[Audit, Audit]) -> list[Paired]:
    """Return the rows side by side of each probe that is in a claim about the whole run, in both runs."""
    measure = MEASURES[finding.measure]
    before, after = (
        {probe.key: widest(audit.findings, probe) for probe in probes_of(audit.findings, measure.name)}
        for audit in audits
    )
    return [pair(before[key], after[key], audits, measure) for key in sorted(before.keys() & after.keys())]


def _worst_variant(finding: Finding) -> str:
    """Return the name of the worst variant of a finding about it, else nothing."""
    names = {record.edit for record in finding.trials}
    return ", ".join(sorted(names)) if MEASURES[finding.measure].worst_of else ""


def difference(
    several: Sequence[Paired], measure: Measure, measured: int, *, two_sided: bool = False
) -> Difference | None:
    """
    Return by how much a measure changed; None if fewer than two clusters of cases compare.

    Args:
        several: the rows of each probe in both runs, in [-1, 1] each.
        measure: what was measured.
        measured: how many differences the comparison shows: bounds that hold for all of them say which are sure.
        two_sided: whether the claim is one on both sides of zero.
    """
    sign = -1 if measure.flipped else 1
    found = growth([(paired, lambda row: sign * (row.new - row.old)) for paired in several])
    if not found.enough:
        return None
    worse = growth([(paired, worse_way(paired, two_sided=two_sided)) for paired in several])
    low, high = found.bounds(LEVEL)
    lowest, highest = found.shift(LEVEL / max(1, measured))
    n = len({row.case for paired in several for row in paired.rows})
    return Difference(found.mean + 0.0, low, high, n, worse.mean + 0.0, sure=lowest > 0 or highest < 0)


def _badness(moved: Moved) -> tuple[object, ...]:
    """Order by what the outcome became, if it got worse, the whole run first, then by how much worse the value is."""
    old, new = RANK.index(moved.old.outcome), RANK.index(moved.new.outcome)
    fallen = new < old
    worse = moved.difference.worse if moved.difference else 0.0
    return not fallen, new if fallen else 0, moved.new.bias != RUN, -worse, moved.key


def _flips(both: Sequence[tuple[Finding, Finding]]) -> tuple[Flip, ...]:
    """Return the cases whose most frequent verdict changed; two claims of one probe show a case once."""
    found: list[Flip] = []
    seen: set[tuple[object, ...]] = set()
    for old, new in sorted(both, key=lambda pair: pair[1].value is None):  # by a claim that was tested, if there is one
        after = {(record.case, record.hash): record for record in new.trials}
        for record in sorted(old.trials, key=lambda r: (r.case, r.edit)):
            other = after.get((record.case, record.hash))
            if other is None:
                continue
            modes = _most_frequent(old.key, record), _most_frequent(new.key, other)
            if not all(modes) or any(same(u, v) for u in modes[0] for v in modes[1]):
                continue
            probe = (old.bias, old.perturbation, old.expects, old.summary, old.against, record.case, record.edit)
            if probe not in seen:
                seen.add(probe)
                found.append(Flip(record.case, old.key, code(modes[0][0]), code(modes[1][0])))
    return tuple(found)


def _most_frequent(key: str, record: TrialRecord) -> list[Verdict]:
    """Return the most frequent verdicts of an arm, in a fixed order."""
    arm = record.perturbed or record.control or record.clean
    verdicts = [verdict_of(key, record, c) for c in arm]
    counts = [sum(same(u, v) for v in verdicts) for u in verdicts]
    modes = [v for v, count in zip(verdicts, counts, strict=True) if count == max(counts)]
    return sorted(modes, key=lambda v: _code(code(v)))


def _code(value: Code) -> str:
    if isinstance(value, str):
        return value
    return f"{value:g}" if isinstance(value, int | float) else json.dumps(value, sort_keys=True)


def render_text(comparison: Comparison, width: int = 100, *, lines: int = LINES) -> str:
    """
    Return a comparison for a terminal: the worst first, at most `lines` of a kind, no line wider than `width`.

    Characters that a terminal would act on are written as escapes.
    """
    lacking = {m.key for m in comparison.moved if m.old.value is None and m.new.value is None and not m.changed}
    rest = [m for m in comparison.moved if m.key not in lacking]
    moved = [m for m in rest if m.changed or m.difference is None or m.difference.value]
    still = len(rest) - len(moved)
    parts = [
        _section("The new run is not whole", [str(gap) for gap in comparison.gaps_new], lines),
        _section("The old run is not whole", [str(gap) for gap in comparison.gaps_old], lines),
        _section("Measured", aligned([_cells(m) for m in moved]), lines),
        _count(still, "key is", "keys are", "the same in both runs"),
        _count(len(lacking), "key was", "keys were", "measured in neither run"),
        _section("Only in the old run", comparison.only_old, lines),
        _section("Only in the new run", comparison.only_new, lines),
        _section(
            "Cases that flipped",
            aligned([(f.case, f.key, f"{_code(f.old)} -> {_code(f.new)}") for f in comparison.flips]),
            lines,
        ),
        _section("What else differs", aligned([(c.what, f"{c.old} -> {c.new}") for c in comparison.changes]), lines),
    ]
    shown = [line for part in parts for line in part]
    return "\n".join(_cut(line, width) for line in shown or ["the runs have nothing in common to compare"])


def _cells(moved: Moved) -> tuple[str, ...]:
    old, new = moved.old, moved.new
    outcome = old.outcome.value if old.outcome is new.outcome else f"{old.outcome.value} -> {new.outcome.value}"
    values = f"{_value(old)} -> {_value(new)}"
    found = moved.difference
    change = (
        f"{_signed(found.value)} [{_signed(found.low)}, {_signed(found.high)}], n={found.n}" if found else moved.why
    )
    if moved.variant:
        change += f", worst variant {moved.variant}"
    if moved.left_out:
        change += f", {moved.left_out} left out"
    if old.claim != new.claim:
        limits = [decimals(f.claim.limit) if f.claim is not None else "none" for f in (old, new)]
        change += f", limit {limits[0]} -> {limits[1]}"
    return moved.key, outcome, values, change


def _value(finding: Finding) -> str:
    if finding.value is None:
        return "none"
    ratio = (figure := TABLE_MEASURES.get(finding.measure)) is not None and figure.log
    return f"{max(-1.0, min(inf if ratio else 1.0, finding.value)):z.2f}"


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}"  # + 0.0 turns -0.0 into 0.0


def _count(count: int, one: str, many: str, what: str) -> list[str]:
    return [f"{count} {one if count == 1 else many} {what}"] if count else []


def _section(title: str, rows: Sequence[str], lines: int) -> list[str]:
    """Return a title, its first rows and a count of the rest; nothing without rows."""
    if not rows:
        return []
    shown = [f"  {printable(row)}" for row in rows[:lines]]
    rest = len(rows) - len(shown)
    return [f"{title} ({len(rows)})", *shown, *([f"  and {rest} more"] if rest else [])]


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: max(0, width - 3)]}..."
