"""Two runs side by side: what moved, by how much with its interval, which cases flipped, and what else differs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import get_args

from calm.core.claims import Outcome, decimals
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import Reason
from calm.core.trials import same
from calm.core.verdict import CLASS, Code, Task, Verdict, code
from calm.errors import ConfigError, few_of
from calm.experiment.stopping import LEVEL
from calm.results.audit import RUN, Audit, Finding, TrialRecord
from calm.results.gatefile import WORSENING
from calm.results.pairing import Paired, growth, pair, probes_of, widest, worse_way
from calm.results.parts import INDENT, aligned, section
from calm.results.records import Change, changes, other_judge, same_kind, scale_of, verdict_of
from calm.results.sentences import capital, highest
from calm.results.tabular import ARMS, Unread, as_read, mute, unread_in, unread_of
from calm.results.wording import printable
from calm.results.worsening import NAMED, gone_cases

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
    unread: tuple[Mapping[str, Unread], Mapping[str, Unread]] = ({}, {})
    """The replies without a verdict of the old and of the new run, by arm."""

    @property
    def silent(self) -> str:
        """How many replies of each arm hold no verdict, then and now, in words; nothing where all were read."""
        return then_and_now(self.unread)

    @property
    def changed(self) -> bool:
        """Whether outcome, limit or value differ, or the cases that compare moved."""
        then, now = ((f.outcome, f.claim, f.value) for f in (self.old, self.new))
        return then != now or bool(self.difference and self.difference.value)

    @property
    def way(self) -> int:
        """
        -1 for what got worse, 1 for what got better, 0 where that is unknown.

        A claim got worse if it is disproven now, or no longer proven, and better if it was disproven and is proven.
        Any other claim got worse or better if it moved by more than chance explains among all claims: fewer cases,
        another limit or a test that did not run do not make a judge better.
        """
        if turned := self._turned:
            return turned
        found = self.difference
        if found is None or not found.sure or not found.worse:
            return 0
        return -1 if found.worse > 0 else 1

    @property
    def _turned(self) -> int:
        old, new = self.old.outcome, self.new.outcome
        lost = old is Outcome.PASS and new in (Outcome.INCOMPLETE, Outcome.NOT_TESTED)
        if old is new or (self.old.claim != self.new.claim and not lost):
            return 0
        if new is Outcome.FAIL or old is Outcome.PASS:
            return -1
        return 1 if (old, new) == (Outcome.FAIL, Outcome.PASS) else 0


@dataclass(frozen=True, slots=True)
class Flip:
    """
    A case whose most frequent verdict differs between the runs, in the perturbed arm if there is one.

    `edit` is the variant that it was shown under, `hash` what the judge was shown: the texts of both runs have it, too.
    `asks` are the places of the first ask of this verdict in the arm of each run.
    """

    case: str
    key: str
    old: Code
    new: Code
    edit: str = ""
    hash: str = ""
    asks: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that differs between two runs, the worst first."""

    moved: tuple[Moved, ...]
    only_old: tuple[Finding, ...]
    only_new: tuple[Finding, ...]
    flips: tuple[Flip, ...]
    changes: tuple[Change, ...]
    gaps_old: tuple[Reason, ...] = ()
    gaps_new: tuple[Reason, ...] = ()
    """Why each run is not whole: keys that one run lacks may be those of tests that crashed or did not run."""
    unread: tuple[Mapping[str, Unread], Mapping[str, Unread]] = ({}, {})
    """The replies without a verdict in all of the old and of the new run, by arm."""
    other_judge: tuple[str, ...] = ()
    """What makes the judge of the new run another one, in words."""
    gone: tuple[str, ...] = ()
    """The cases that the new run does not have."""

    @property
    def worse(self) -> tuple[Moved, ...]:
        """The claims that got worse, the worst first."""
        return tuple(m for m in self.moved if m.way < 0)

    @property
    def better(self) -> tuple[Moved, ...]:
        """The claims that got better."""
        return tuple(m for m in self.moved if m.way > 0)

    @property
    def unclear(self) -> tuple[Moved, ...]:
        """The claims that moved, but neither worse nor better for sure."""
        return tuple(m for m in self.moved if not m.way and m.changed)

    @property
    def same(self) -> int:
        """How many claims have the same outcome, limit and value."""
        return sum(not m.changed and m.new.value is not None for m in self.moved)

    @property
    def unmeasured(self) -> int:
        """How many claims were measured in neither run."""
        return sum(not m.changed and m.new.value is None for m in self.moved)

    @property
    def silent(self) -> str:
        """How many replies of each arm hold no verdict, then and now, in words; nothing of runs that kept no reply."""
        return then_and_now(self.unread, every=True)

    @property
    def headline(self) -> str:
        """What changed, in a sentence: the page and the terminal show the same."""
        return self.since("")

    def since(self, name: str) -> str:
        """Return what changed since the old run, by the name of its file, in a sentence; "" names none."""
        worse, better, unclear = len(self.worse), len(self.better), len(self.unclear)
        first = f"{worse} claim{'s' * (worse != 1)} got worse" if worse else "nothing got worse"
        if unclear and not worse:  # what moved by no more than chance may be worse all the same
            first = "no claim is proven worse"
        parts = [f"{first}{f' than in {name}' if unclear and not worse else f' since {name}'}" if name else first]
        parts.append(f"{better or 'none'} got better")
        if unclear:
            parts.append(f"{unclear} moved by no more than chance explains, or cannot be compared")
        if failing := sum(one.outcome is Outcome.FAIL for one in self.only_new):
            parts.append(f"{failing} that fail{'s' * (failing == 1)} {'is' if failing == 1 else 'are'} new")
        if self.gone:
            cases = "1 case of the old run is" if len(self.gone) == 1 else f"{len(self.gone)} cases of the old run are"
            parts.append(f"{cases} not in the new one ({few_of(self.gone, NAMED)})")
        other = f"; the new run has another judge ({', '.join(self.other_judge)})" if self.other_judge else ""
        text = f"{', '.join(parts)}; {self.flipped}{other}"
        return capital(text)

    @property
    def flipped(self) -> str:
        """How many verdicts of how many cases flipped, in words."""
        verdicts, cases = len(self.flips), len({flip.case for flip in self.flips})
        if not verdicts:
            return "no verdict flipped"
        return f"{verdicts} verdict{'s' * (verdicts != 1)} of {cases} case{'s' * (cases != 1)} flipped"


def then_and_now(unread: tuple[Mapping[str, Unread], Mapping[str, Unread]], *, every: bool = False) -> str:
    """
    Return how many replies hold no verdict in two runs, by arm; nothing where all were read, unless `every` is wanted.

    >>> then_and_now(({"clean": Unread(0, 120)}, {"clean": Unread(7, 120)}))
    'replies without a verdict: 0 of 120 clean, now 7 of 120 clean'
    """
    if not any(one.count or every for side in unread for one in side.values()):
        return ""
    was, now = (", ".join(f"{one} {ARMS[arm]}" for arm, one in side.items()) or "none asked" for side in unread)
    return f"replies without a verdict: {f'{was}, now {now}' if was != now else f'{was} in each run'}"


def compare(old: Audit, new: Audit) -> Comparison:
    """
    Return what differs between two runs, case by case.

    A difference has an interval where both records reproduce their own values and at least two cases have the same
    content and edit in both runs. A figure of an arm in which no reply could be read is none.

    Raises:
        ConfigError: the judges have tasks of different kinds, no claim or no case is in both runs, or a record is
            damaged.
    """
    _refuse_other_task(old, new)
    for audit in (old, new):
        if audit.findings or audit.judge.scale:  # in a run that crashed at once no judge told its scale
            scale_of(audit.judge)
    # what a run says against a baseline is a comparison itself
    first, second = ({f.key: f for f in as_read(audit).findings if f.measure != WORSENING} for audit in (old, new))
    both = sorted(first.keys() & second.keys())
    _refuse_unlike(old, new, both)
    measured = sum(first[key].value is not None and second[key].value is not None for key in both)
    moved = [_with_unread(_moved(first[key], second[key], (old, new), measured), (old, new)) for key in both]
    return Comparison(
        moved=tuple(sorted(moved, key=_badness)),
        only_old=tuple(first[key] for key in sorted(first.keys() - second.keys())),
        only_new=tuple(second[key] for key in sorted(second.keys() - first.keys())),
        flips=_flips([(first[key], second[key]) for key in both]),
        changes=changes(old, new),
        gaps_old=old.gaps,
        gaps_new=new.gaps,
        unread=(unread_of(old), unread_of(new)),
        other_judge=other_judge(old, new),
        gone=tuple(sorted(gone_cases(old, new)[0])),
    )


def _refuse_unlike(old: Audit, new: Audit, both: Sequence[str]) -> None:
    fix = "compare two runs of the same tests on the same cases"
    whole = [f"the {which} run is not whole: {gap}" for which, run in (("old", old), ("new", new)) for gap in run.gaps]
    if not both:
        raise ConfigError(["nothing can be compared, as no claim is in both runs; " + fix, *whole])
    was, now = ({(row.case, row.hash) for f in audit.findings for row in f.trials} for audit in (old, new))
    if was and now and was.isdisjoint(now):
        ids = [{case for case, _ in rows} for rows in (was, now)]
        alike = "has the same text in both runs" if set.intersection(*ids) else "is in both runs"
        counts = (
            f"the old one has {len(ids[0])}, such as {min(ids[0])}, the new one {len(ids[1])}, such as {min(ids[1])}"
        )
        raise ConfigError([f"nothing can be compared, as no case {alike} ({counts}); {fix}", *whole])


def _refuse_other_task(old: Audit, new: Audit) -> None:
    known = {old.judge.task, new.judge.task} <= set(get_args(Task))  # a run that broke early may not know its judge
    if known and not same_kind(old.judge, new.judge):
        raise ConfigError(
            f"expected two runs of judges with the same task, got {old.judge.name!r} with task={old.judge.task!r} "
            f"(old) and {new.judge.name!r} with task={new.judge.task!r} (new): their claims have the same names and "
            "measure other things; compare two runs of one judge, or of two judges with the same task"
        )


def _with_unread(moved: Moved, audits: tuple[Audit, Audit]) -> Moved:
    old, new = audits
    silent = unread_in(moved.old, old), unread_in(moved.new, new)
    mutes = [which for which, one in (("old", moved.old), ("new", moved.new)) if mute(one)]
    why = f"no reply of an arm could be read in the {' and the '.join(mutes)} run" if mutes else moved.why
    return replace(moved, why=why, unread=silent)


def _moved(old: Finding, new: Finding, audits: tuple[Audit, Audit], measured: int) -> Moved:
    if old.value is None or new.value is None:
        alone = [which for which, one in (("old", old), ("new", new)) if one.value is not None]
        return Moved(old.key, old, new, None, f"measured in {f'the {alone[0]} run alone' if alone else 'neither run'}")
    if old.measure not in MEASURES or new.measure not in MEASURES:
        return Moved(old.key, old, new, None, "a figure of all cases together: no case has its own value")
    several = _pairs_of_run(old, audits) if old.bias == RUN else [pair(old, new, audits)]
    left_out = sum(count for paired in several for count in paired.excluded.values())
    was, now = (_worst_variant(finding) for finding in (old, new))
    if was != now:
        return Moved(old.key, old, new, None, f"the worst variant is {now} now and was {was}", left_out)
    if fault := next((paired.fault for paired in several if paired.fault), None):
        return Moved(old.key, old, new, None, str(fault), left_out)
    two_sided = old.claim is not None and old.claim.two_sided
    found = difference(several, MEASURES[old.measure], measured, two_sided=two_sided)
    if found is None:
        return Moved(old.key, old, new, None, "fewer than two cases have the same edit in both runs", left_out)
    return Moved(old.key, old, new, found, "", left_out, now)


def _pairs_of_run(finding: Finding, audits: tuple[Audit, Audit]) -> list[Paired]:
    measure = MEASURES[finding.measure]
    before, after = (
        {probe.key: widest(audit.findings, probe) for probe in probes_of(audit.findings, measure.name)}
        for audit in audits
    )
    return [pair(before[key], after[key], audits, measure) for key in sorted(before.keys() & after.keys())]


def _worst_variant(finding: Finding) -> str:
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
    new = RANK.index(moved.new.outcome)
    fallen = moved.way < 0 and moved.old.outcome is not moved.new.outcome
    worse = moved.difference.worse if moved.difference else 0.0
    return not fallen, new if fallen else 0, moved.new.bias != RUN, -worse, moved.key


def _flips(both: Sequence[tuple[Finding, Finding]]) -> tuple[Flip, ...]:
    found: list[Flip] = []
    seen: set[tuple[object, ...]] = set()
    for old, new in sorted(both, key=lambda pair: pair[1].value is None):  # by a claim that was tested, if there is one
        after = {(record.case, record.hash): record for record in new.trials}
        for record in sorted(old.trials, key=lambda r: (r.case, r.edit)):
            other = after.get((record.case, record.hash))
            if other is None:
                continue
            arms = _verdicts(old.key, record), _verdicts(new.key, other)
            modes = [_most_frequent(arm) for arm in arms]
            if not all(modes) or any(same(u, v) for u in modes[0] for v in modes[1]):
                continue
            probe = (old.bias, old.perturbation, old.expects, old.summary, old.against, record.case, record.edit)
            if probe not in seen:
                seen.add(probe)
                found.append(_flip(old.key, record, arms, (modes[0][0], modes[1][0])))
    return tuple(found)


def _flip(key: str, record: TrialRecord, arms: Sequence[Sequence[Verdict]], said: tuple[Verdict, Verdict]) -> Flip:
    first, second = (
        next(place for place, one in enumerate(arm) if same(one, v)) for arm, v in zip(arms, said, strict=True)
    )
    return Flip(record.case, key, code(said[0]), code(said[1]), record.edit, record.hash, (first, second))


def _verdicts(key: str, record: TrialRecord) -> list[Verdict]:
    return [verdict_of(key, record, c) for c in record.perturbed or record.control or record.clean]


def _most_frequent(verdicts: Sequence[Verdict]) -> list[Verdict]:
    counts = [sum(same(u, v) for v in verdicts) for u in verdicts]
    modes = [v for v, count in zip(verdicts, counts, strict=True) if count == max(counts)]
    return sorted(modes, key=lambda v: _code(code(v)))


def _code(value: Code) -> str:
    if isinstance(value, str):
        return value.removeprefix(CLASS)
    return f"{value:g}" if isinstance(value, int | float) else json.dumps(value, sort_keys=True)


def render_text(comparison: Comparison, width: int | None = 100, *, lines: int = LINES, since: str = "") -> str:
    """
    Return a comparison for a terminal: the worst first, at most `lines` of a kind, no line wider than `width`.

    `since` is the name of the file of the old run. A claim that does not fit takes two lines, so that its interval is
    shown; without a `width` nothing is cut.
    Characters that a terminal would act on are written as escapes.
    """

    def claims(title: str, moved: Sequence[Moved]) -> list[str]:
        return section(title, _fitted([_cells(m) for m in moved], width), lines)

    def rows(title: str, cells: Sequence[tuple[str, ...]]) -> list[str]:
        return section(title, [[line] for line in aligned(cells)], lines)

    headline = printable(comparison.since(since))
    parts = [
        [headline] if width is None else wrap(headline, width),
        rows("The new run is not whole", [(str(gap),) for gap in comparison.gaps_new]),
        rows("The old run is not whole", [(str(gap),) for gap in comparison.gaps_old]),
        claims("Got worse", comparison.worse),
        claims("Got better", comparison.better),
        claims("Moved without a clear direction", comparison.unclear),
        wrap(comparison.silent.capitalize(), width or len(comparison.silent) + 1),
        _count(comparison.same, "claim is", "claims are", "the same in both runs"),
        _count(comparison.unmeasured, "claim was", "claims were", "measured in neither run"),
        rows("Only in the old run", [(one.key, one.outcome.value) for one in comparison.only_old]),
        rows("Only in the new run", [(one.key, one.outcome.value) for one in comparison.only_new]),
        rows("Verdicts that flipped", [(f.case, f.key, f"{_code(f.old)} -> {_code(f.new)}") for f in comparison.flips]),
        rows("What else differs", [(c.what, f"{c.old} -> {c.new}") for c in comparison.changes]),
    ]
    return "\n".join(_cut(line, width) for part in parts for line in part)


def _fitted(rows: Sequence[tuple[str, str, str, str]], width: int | None) -> list[list[str]]:
    lines = aligned(rows)
    if width is None or all(len(line) + len(INDENT) <= width for line in lines):
        return [[line] for line in lines]
    heads = aligned([row[:2] for row in rows])
    figures = [", ".join(part for part in row[2:] if part) for row in rows]
    return [[head, f"{INDENT}{figure}"] for head, figure in zip(heads, figures, strict=True)]


def _cells(moved: Moved) -> tuple[str, str, str, str]:
    old, new = moved.old, moved.new
    outcome = old.outcome.value if old.outcome is new.outcome else f"{old.outcome.value} -> {new.outcome.value}"
    unmeasured = old.value is None and new.value is None
    found = moved.difference
    change = (
        f"{_signed(found.value)} [{_signed(found.low)}, {_signed(found.high)}], n={found.n}" if found else moved.why
    )
    if moved.variant:
        change += f", worst variant {moved.variant}"
    if moved.left_out:
        change += f", {moved.left_out} left out"
    if moved.silent:
        change += f", {moved.silent}"
    if old.claim != new.claim:
        limits = [decimals(f.claim.limit) if f.claim is not None else "none" for f in (old, new)]
        change += f", limit {limits[0]} -> {limits[1]}"
    return moved.key, outcome, "" if unmeasured else f"{_value(old)} -> {_value(new)}", change


def _value(finding: Finding) -> str:
    if finding.value is None:
        return "-" if mute(finding) else "not measured"
    return f"{max(-1.0, min(highest(finding), finding.value)):z.2f}"


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}"  # + 0.0 turns -0.0 into 0.0


def _count(count: int, one: str, many: str, what: str) -> list[str]:
    return [f"{count} {one if count == 1 else many} {what}"] if count else []


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: max(0, width - 3)]}..."
