"""A finding as a report's table and its section show it, and the order in which findings should be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calm.core.claims import Claim, Outcome
from calm.core.reasons import in_words
from calm.results.audit import AGREEMENT, RUN, Audit, Finding
from calm.results.meaning import resolution
from calm.results.reports.charts import Axis, Plot, axis_of, plot_of
from calm.results.reports.texts import Text, cut
from calm.results.sentences import allows, capital, sentence, unmeasured
from calm.results.tabular import ARMS, unread_in, unread_words
from calm.results.wording import (
    beside_others,
    claim,
    control,
    floor,
    in_points,
    own_texts,
    places,
    points,
    untested_findings,
    value,
)

SLUG = 80
"""Characters of a name that an id is made of."""
REASON = 1_000
"""Characters shown of a reason; the rest is cut, and the report says how much."""

ORDER = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED, Outcome.PASS, Outcome.OBSERVED, Outcome.NOT_TESTED)
"""Outcomes by how soon they should be read."""

WORDS: Mapping[Outcome, str] = {
    Outcome.PASS: "Passed",
    Outcome.FAIL: "Failed",
    Outcome.UNDECIDED: "Undecided",
    Outcome.INCOMPLETE: "Incomplete",
    Outcome.NOT_TESTED: "Not tested",
    Outcome.OBSERVED: "Observed",
}


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding as the table and its section show it; `group` numbers its bias."""

    finding: Finding
    anchor: str
    claim: str
    measured: str
    points: str
    control: str
    others: str
    floor: str
    places: str
    sentence: str
    means: str
    decided: str
    reason: Text
    flips: str
    unread: str
    silent: str
    excluded: tuple[tuple[str, int], ...]
    own: str
    plot: Plot | None
    cost: str

    @property
    def alone(self) -> bool:
        """Whether it is about one variant of a rotation and decides nothing: such rows stand in the table alone."""
        return self.finding.single and not self.finding.red


@dataclass(frozen=True, slots=True)
class Bias:
    """The findings about one bias, as a group of the table."""

    name: str
    rows: tuple[FindingRow, ...]

    @property
    def alone(self) -> int:
        """How many of its rows are about one variant and decide nothing."""
        return sum(row.alone for row in self.rows)


def anchors(prefix: str, names: Sequence[str]) -> list[str]:
    """Return an id for each name: the same in every report, but for names that differ in signs alone."""
    taken: set[str] = set()
    found = []
    for name in names:
        slug = re.sub(r"[^a-z0-9_]+", "-", name[:SLUG].lower()).strip("-")[:SLUG]
        stem = anchor = f"{prefix}-{slug or 'x'}"
        number = 1
        while anchor in taken:
            number += 1
            anchor = f"{stem}-{number}"
        taken.add(anchor)
        found.append(anchor)
    return found


def claim_in_words(one: Finding) -> str:
    """Return a claim with the signs that people write, or the name of a measure that was only observed."""
    return claim(one).replace("<=", "\N{LESS-THAN OR EQUAL TO}").replace(">=", "\N{GREATER-THAN OR EQUAL TO}")


def measured(one: Finding) -> str:
    """
    Return value and interval, each clipped to what is possible; nothing where nothing is known.

    The numbers are those of `calm.results.wording.value`, with the signs that people write.
    """
    return "" if unmeasured(one) else _signed(value(one))


def _signed(numbers: str) -> str:
    return numbers.replace("-", "\N{MINUS SIGN}")


def _points(one: Finding) -> str:
    """Return a value in points with the signs that people write; a scale keeps its hyphen."""
    share, on, scale = points(one).partition(" points on ")
    return f"{_signed(share)}{on}{scale}"


def rows_of(audit: Audit) -> tuple[FindingRow, ...]:
    """Return the findings of a run in words and numbers, in their order."""
    axis = axis_of(audit.findings)
    named = zip(audit.findings, anchors("f", [f.key for f in audit.findings]), strict=True)
    return tuple(_row_of(finding, anchor, axis, audit) for finding, anchor in named)


def _row_of(one: Finding, anchor: str, axis: Axis, audit: Audit) -> FindingRow:
    """Return a finding in words and numbers."""
    moved = one.flips
    counts = unread_in(one, audit)
    figures = audit.run.per_finding.get(one.key, {})
    return FindingRow(
        finding=one,
        anchor=anchor,
        claim=claim_in_words(one),
        measured=measured(one),
        points=_signed(in_points(one)),
        control=_signed(control(one)),
        others=beside_others(one),
        floor=floor(one),
        places=places(one),
        sentence=sentence(one),
        means="" if one.claim is None else capital(allows(Claim(one.measure, one.claim.op, one.claim.limit), one.task)),
        decided=_decided(one),
        reason=cut(str(one.reason), REASON),
        flips=" / ".join(str(moved.get(way, 0)) for way in ("toward", "away", "other")) if moved else "",
        unread=" / ".join(str(counts[arm].count) if arm in counts else "-" for arm in ARMS) if counts else "",
        silent=unread_words(counts),
        excluded=tuple(sorted(in_words(one.excluded).items(), key=lambda item: (-item[1], item[0]))),
        own=own_texts(one),
        plot=plot_of(one, axis),
        cost=", ".join(f"{name} {figure:g}" for name, figure in figures.items()),
    )


def _decided(one: Finding) -> str:
    """Return what the figures of a finding decide, in a sentence."""
    if one.claim is None:
        return "There is no limit: nothing is decided by it." if one.outcome is Outcome.OBSERVED else ""
    more = f" About {one.cases_to_decide} cases would tell." if one.cases_to_decide else ""
    words = {
        Outcome.PASS: "The whole interval keeps to the limit: this is proven.",
        Outcome.FAIL: "The whole interval is beyond the limit: this is disproven.",
        Outcome.UNDECIDED: f"The interval has the limit inside it: too few data to tell.{more}",
        Outcome.INCOMPLETE: "Replies are missing, so nothing is decided.",
        Outcome.NOT_TESTED: "This was not asked.",
        Outcome.OBSERVED: "This was only observed: nothing is decided by it.",
    }
    return words[one.outcome]


def biases_of(rows: Sequence[FindingRow]) -> tuple[Bias, ...]:
    """
    Return the table's groups, all probes together first, then those that need attention.

    What was not tested has a section of its own.
    """
    groups: dict[str, list[FindingRow]] = {}
    for row in rows:
        if row.finding.outcome is not Outcome.NOT_TESTED:
            groups.setdefault(row.finding.bias, []).append(row)
    urgent = sorted(
        groups.items(), key=lambda item: (item[0] != RUN, min(_urgency(r.finding) for r in item[1]), item[0])
    )
    return tuple(Bias(name, tuple(sorted(found, key=lambda r: resolution(r.finding)))) for name, found in urgent)


def parted(groups: Sequence[Bias]) -> tuple[tuple[FindingRow, ...], tuple[FindingRow, ...]]:
    """
    Return the rows to read at once, and those that can wait.

    At once: claims about all probes or all cases, what is not proven, and what was accepted. The rest passed or was
    only observed.
    """
    at_once: list[FindingRow] = []
    later: list[FindingRow] = []
    for row in (row for bias in groups for row in bias.rows):
        one = row.finding
        total = one.bias in (RUN, AGREEMENT) and one.claim is not None
        (at_once if total or one.red or one.accepted is not None else later).append(row)
    at_once.sort(key=lambda row: (row.finding.bias != RUN, ORDER.index(row.finding.outcome)))
    return tuple(at_once), tuple(later)


def outcomes_of(rows: Sequence[FindingRow]) -> list[tuple[Outcome, int]]:
    """Return how many rows have each outcome, the most urgent first."""
    counts = Counter(row.finding.outcome for row in rows)
    return [(outcome, counts[outcome]) for outcome in ORDER if counts[outcome]]


def _urgency(one: Finding) -> int:
    return ORDER.index(one.outcome) if one.red or one.outcome not in ORDER[:3] else ORDER.index(Outcome.PASS)


def untested_of(audit: Audit, rows: Sequence[FindingRow]) -> tuple[tuple[str, Text, tuple[FindingRow, ...]], ...]:
    """Return what was not tested, each with its reason and the findings that say so."""
    by_key = {row.finding.key: row for row in rows if row.finding.outcome is Outcome.NOT_TESTED}
    return tuple(
        (name, cut(str(findings[0].reason), REASON), tuple(by_key[f.key] for f in findings if f.key in by_key))
        for name, findings in untested_findings(audit).items()
    )
