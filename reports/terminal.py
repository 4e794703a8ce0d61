"""
What a terminal shows of a run: one screen, the worst first. The whole of it is in the report, and shown by `-v`.

Each line fits the width of the terminal, but for commands, which are to be copied. In a log no line is cut.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from calm.core.claims import Outcome
from calm.core.reasons import Kind, Reason, shared
from calm.results.audit import AGREEMENT, BASELINE, RUN, Audit, Finding
from calm.results.endings import State
from calm.results.meaning import Resolution, in_order, meanings, resolution
from calm.results.reports import calm_protocol
from calm.results.tabular import as_read, unread, unread_words
from calm.results.troubles import ORDER, troubles
from calm.results.wording import (
    bill,
    cases,
    clipped,
    line,
    points,
    printable,
    tally,
    unmeasured,
    untested,
    untested_by_reason,
    value,
)
from calm.results.wording import headline as full_headline

WIDTH, HEIGHT = 100, 24
"""Columns and lines of a screen whose size is not known, as of a log."""
LOG: Final = 4_000
"""Columns of an output that is no terminal: what reads it breaks lines itself, so that only a flood is cut."""
OTHERS: Final = 7
"""Lines of a screen that others take: the prompt, what a command says, pytest's dots, heading and last line."""
FEWEST: Final = 12
"""Lines that are used in any case, however low the terminal is."""
MOST_HUNTS: Final = 3
"""So many commands that hunt for a smallest example are shown."""
MOST_ROWS: Final = 2
"""Lines of the screen that one reason or note may take."""
MORE: Final = "-v shows all"
_NOT_TESTED: Final = "; not tested: "
_COLOURS: Final = {Outcome.FAIL: "red", Outcome.INCOMPLETE: "red", Outcome.UNDECIDED: "yellow", Outcome.PASS: "green"}
_NAMES: Final = {RUN: "all probes", BASELINE: "baseline"}
_OPS: Final = {"<=": "<= ", ">=": ">= ", "abs<=": "\N{PLUS-MINUS SIGN}"}
_INSTALLED: Final = re.compile(r"[^\s:,]*site-packages[/\\]")
RATES: Final = "RR, CR: shares of verdicts that stayed under the edit, and when the judge was only asked again"
"""What the two rates are, as the paper that named them defines them."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and its colour if it has one; a command stays whole."""

    text: str
    colour: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Screen:
    """The size of a screen in characters, and how much of its height is ours."""

    width: int = WIDTH
    height: int = HEIGHT
    above: int = 1
    """Lines that calm said before the first test."""

    @property
    def room(self) -> int:
        """Lines that are free for what calm says below its heading."""
        return max(FEWEST, self.height - OTHERS - self.above)

    def rows(self, line: Line) -> int:
        """Return how many lines of the screen a line takes."""
        return max(1, -(-len(line.text) // self.width))

    def fitted(self, line: Line, rows: int = 1) -> Line:
        """Return a line cut to so many lines of the screen, unless it is to be copied."""
        return line if line.whole else replace(line, text=clipped(line.text, self.width * rows - 4 * (rows - 1)))


def shown(
    audit: Audit, screen: Screen, hunts: Sequence[str] = (), written: Sequence[Path] = (), *, green: bool
) -> list[Line]:
    """
    Return what is shown of a run below a heading: at most `screen.room` lines, unless commands are long.

    Args:
        audit: the record of the run.
        screen: the size of the terminal.
        hunts: commands that hunt for the smallest examples of what failed, a line each.
        written: the files that the run wrote.
        green: whether the gate is green.
    """
    audit = as_read(audit)
    head = [Line(printable(headline(audit, min(WIDTH, screen.width))))]
    at = [note for note in audit.run.notes if note.kind is Kind.AT_RESOLUTION]
    end = [Line(printable(text)) for text in (*calm_protocol.told(audit), bill(audit), *_files(written))]
    end += [Line(printable(f"GREEN {note}"), "green") for note in at if green]
    parts = _Parts(
        groups=_groups(audit, green=green),
        loose=[Line(_short(text), "red") for text in (*_reasons(audit), *audit.loose_ends, *_crashes(audit))],
        found=[Line(printable(f"smallest example: {one}"), whole=True) for one in hunts],
        missing=_missing(audit, head[0]),
        notes=[Line(f"note: {_short(str(note))}", "yellow") for note in audit.run.notes if note not in at],
    )
    room = screen.room - sum(map(screen.rows, (*head, *end)))
    middle, left_out = parts.within(room, screen)
    if left_out:
        middle, left_out = parts.within(room - 1, screen)
    told = [Line(f"{', '.join(left_out)}: {MORE}", "yellow")] if left_out else []
    return [*head, *middle, *told, *end]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What there is to show of a run between its first line and its bill; what is not tested is counted by name."""

    groups: Sequence[Sequence[Finding]]
    loose: Sequence[Line]
    found: Sequence[Line]
    missing: Sequence[tuple[Line, int]]
    notes: Sequence[Line]

    def within(self, room: int, screen: Screen) -> tuple[list[Line], list[str]]:
        """Return the lines that fit so much room, and what is left out: how many of which kind."""
        left = room
        loose = _cut(self.loose, max(2, left // 2), screen)
        left -= sum(map(screen.rows, loose))
        table, rated = _table(self.groups, max(1, left), screen)
        left -= len(table)
        found = _cut(self.found, max(0, min(left, MOST_HUNTS)), screen)
        left -= sum(map(screen.rows, found))
        means = meanings(f for group in self.groups for f in group if f.red)
        meant = [Line(printable(f"{claim}: {words}")) for words, claim in means.items()]
        meant = _fitting([*([Line(RATES)] if rated else []), *meant], left, screen)
        left -= sum(map(screen.rows, meant))
        missing = _cut([one for one, _ in self.missing], max(0, left), screen)
        left -= sum(map(screen.rows, missing))
        notes = _cut(self.notes, max(0, left), screen)
        counts = [
            (len(self.loose) - len(loose), "reason", loose),
            (len(self.found) - len(found), "smallest example", found),
            (len(self.notes) - len(notes), "note", notes),
        ]
        said = [f"{left} {'more ' * bool(some)}{what}{'s' * (left != 1)}" for left, what, some in counts if left]
        if untold := sum(count for _, count in self.missing[len(missing) :]):
            said.append(f"{untold} {'more ' * bool(missing)}not tested")
        return [*table, *loose, *meant, *found, *missing, *notes], said


def whole(audit: Audit, hunts: Sequence[str] = (), written: Sequence[Path] = ()) -> list[Line]:
    """Return all that a terminal can show of a run, with the same arguments as `shown`: a line for each finding."""
    audit = as_read(audit)
    listed = in_order(f for outcome in _COLOURS for f in audit.of(outcome))
    told = (Resolution.RUN, AGREEMENT)  # what is proven of all cases is shown, too
    listed = [f for f in listed if f.outcome is not Outcome.PASS or resolution(f) in told or f.bias in told]
    found = [Line(full_headline(audit))]
    for one in listed:
        note = f" (accepted: {one.accepted})" if one.accepted else ""
        where = f" ({one.node})" if one.outcome is not Outcome.FAIL and one.red and one.node else ""
        silent = "" if unmeasured(one) else unread_words(unread(one.trials))
        said = "; ".join(filter(None, [f"{one.key}: {line(one)}", silent]))
        found.append(Line(f"{said}{note}{where}", "yellow" if one.accepted else _COLOURS[one.outcome]))
    found += [Line(f"{claim} means: {words}") for words, claim in meanings(f for f in listed if f.red).items()]
    found += [Line(printable(f"smallest example: {one}"), whole=True) for one in hunts]
    found += [Line(text) for text in calm_protocol.told(audit)]
    found += [Line(text, "red") for text in (*audit.loose_ends, *_crashes(audit))]
    found += [Line(f"note: {remark}", "yellow") for remark in audit.run.notes]
    return [*found, *(Line(text) for text in (bill(audit), *_files(written)))]


def headline(audit: Audit, width: int) -> str:
    """Return how many biases were tested and what failed, and what was not tested and why, as far as that fits."""
    missing = untested(audit)
    alone = {name for name, reason in missing.items() if reason.has(Kind.VARIANT)} - set(audit.biases)
    names = ", ".join(name for name in missing if name not in alone)
    said = (full_headline(audit), _NOT_TESTED.join(filter(None, [tally(audit), names])))
    return next((text for text in said if len(text) <= width), tally(audit))


def _missing(audit: Audit, head: Line) -> list[tuple[Line, int]]:
    """
    Return why some was not tested, the reason first, where the headline had no room for it.

    Beside each line stands how many of its names are nowhere else.
    """
    if head.text == printable(full_headline(audit)):
        return []
    named = _NOT_TESTED in head.text
    return [
        (
            Line(printable(f"not tested ({reason}): {names}" if reason else f"not tested: {names}")),
            0 if named else count,
        )
        for names, reason, count in untested_by_reason(audit)
    ]


def _reasons(audit: Audit) -> list[str]:
    """Return why claims are incomplete, or have no figures at all: what several share once, with how many they are."""
    found: dict[tuple[Outcome, Reason], list[Reason]] = {}
    for one in audit.findings:
        if one.red and (one.outcome is Outcome.INCOMPLETE or one.value is None) and one.reason:
            found.setdefault((one.outcome, shared(one.reason)), []).append(one.reason)
    return [
        f"{outcome.value.lower()}: {f'{common} ({len(of)} claims)' if len(of) > 1 else of[0]}"
        for (outcome, common), of in found.items()
    ]


def _groups(audit: Audit, *, green: bool) -> list[Sequence[Finding]]:
    """Return the findings to show by bias: what is red, the worst first, then what was accepted, and what is proven."""
    red = [one.findings for one in troubles(audit)]
    rest: dict[str, list[Finding]] = {}
    for one in audit.findings:
        proven = green and one.outcome is Outcome.PASS and one.bias in (RUN, AGREEMENT)  # said of all cases
        if proven or (one.accepted is not None and one.outcome in ORDER):
            rest.setdefault(one.bias, []).append(one)
    return [*red, *sorted(rest.values(), key=lambda group: group[0].accepted is None)]


def _table(groups: Sequence[Sequence[Finding]], room: int, screen: Screen) -> tuple[list[Line], bool]:
    """
    Return a line for each finding in columns, or for the worst of each bias where there are too many.

    Also return whether any of them has a rate of robustness or consistency.
    """
    if not groups:
        return [], False
    every = sum(map(len, groups)) <= room
    rows = [
        (finding, place == 0, 0 if every else len(group) - 1)
        for group in groups
        for place, finding in enumerate(group if every else group[:1])
    ]
    kept = rows if len(rows) <= room else rows[: room - 1]
    cells = [_cells(finding, first) for finding, first, _ in kept]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    texts, rated = [], False
    for row, (finding, first, others) in zip(cells, kept, strict=True):
        columns = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        said = _fitted_remarks(_remarks(finding, first=first, others=others), screen.width - len(columns) - 2)
        rated |= any(one.startswith(("RR ", "CR ")) for one in said)
        texts.append(f"{columns}  {'; '.join(said)}".rstrip())
    colours = ["yellow" if f.accepted else _COLOURS[f.outcome] for f, *_ in kept]
    table = [Line(printable(text), colour) for text, colour in zip(texts, colours, strict=True)]
    if len(kept) < len(rows):
        names = [_NAMES.get(f.bias, f.bias) for f, *_ in rows[len(kept) :]]
        table.append(Line(f"and {len(names)} more: {', '.join(names)}; {MORE}", "red"))
    return [screen.fitted(one) for one in table], rated


def _fitted_remarks(remarks: Iterable[str], room: int) -> list[str]:
    """Return the remarks that fit beside each other, in their order; of a first one that is too long, its beginning."""
    found: list[str] = []
    for one in filter(None, remarks):
        if len("; ".join([*found, one])) <= room:
            found.append(one)
        elif not found and room > len("..."):
            return [clipped(one, room)]
    return found


def _cells(finding: Finding, first: bool) -> tuple[str, ...]:
    """Return the columns of a finding: bias, outcome, measure, figures, limit and cases."""
    about = finding.key.partition("/")[2] or finding.measure
    limit = ""
    if finding.claim is not None:
        limit = f"{_OPS[finding.claim.op]}{finding.claim.limit:.2f}"
    figures = "-" if unmeasured(finding) else value(finding)
    return (
        _NAMES.get(finding.bias, finding.bias) if first else "",
        finding.outcome.value,
        about,
        figures,
        limit,
        f"n={cases(finding)}" if finding.value is not None else "",
    )


def _remarks(finding: Finding, *, first: bool, others: int) -> Iterable[str]:
    """Yield what stands behind the figures of a finding, the most important first."""
    if finding.accepted:
        yield f"accepted: {finding.accepted}"
    if finding.value is None or finding.outcome is Outcome.INCOMPLETE:
        yield f"+{others} more" if others else ""
        return  # its reason is said below
    if finding.outcome is Outcome.UNDECIDED and finding.cases_to_decide:
        yield f"needs n={finding.cases_to_decide}"
    if told := points(finding):
        yield told
    yield unread_words(unread(finding.trials))
    if first and finding.bias not in (RUN, AGREEMENT):
        rates = (("RR", finding.robustness_rate), ("CR", finding.consistency_rate))
        yield " ".join(f"{name} {rate:.2f}" for name, rate in rates if rate is not None)
    if others:
        yield f"+{others} more"
    if finding.reason.kind is Kind.WORST:
        yield f"worst: {finding.reason.details[1]}"
    elif finding.reason:
        yield str(finding.reason)


def _crashes(audit: Audit) -> Iterable[str]:
    return (f"{one.node} crashed: {one.reason}" for one in audit.tests if one.state is State.CRASHED)


def _short(text: str) -> str:
    """
    Return a text without the folders of an installation, as one line.

    >>> _short("1 of 2 tests crashed: .venv/lib/python3.12/site-packages/calm/suites/test_position.py::test_it")
    '1 of 2 tests crashed: calm/suites/test_position.py::test_it'
    """
    return _INSTALLED.sub("", printable(" ".join(text.split())))


def _cut(texts: Sequence[Line], room: int, screen: Screen) -> list[Line]:
    """Return as many lines as there is room for: all of two lines of the screen each, or the first of one each."""
    whole = [screen.fitted(one, MOST_ROWS) for one in texts]
    if sum(map(screen.rows, whole)) <= room:
        return whole
    kept = [screen.fitted(one) for one in texts]
    while kept and sum(map(screen.rows, kept)) > room:
        kept.pop()
    return kept


def _fitting(texts: Sequence[Line], room: int, screen: Screen) -> list[Line]:
    """Return the lines for which there is room, in their order; the others can be missed."""
    found: list[Line] = []
    for one in texts:
        if sum(map(screen.rows, (*found, one))) <= room:
            found.append(one)
    return found


def _files(written: Sequence[Path]) -> list[str]:
    """
    Return where the files of a run are, in one line.

    >>> _files([Path("out/results.json"), Path("out/report.html")]), _files([Path("a.json"), Path("b/c.html")])
    (['wrote results.json, report.html in out/'], ['wrote a.json, b/c.html'])
    """
    folders = {path.parent for path in written}
    if len(folders) == 1 and (folder := folders.pop()) != Path():
        return [f"wrote {', '.join(path.name for path in written)} in {folder}{os.sep}"]
    return [f"wrote {', '.join(map(str, written))}"] if written else []
