"""
What a terminal shows of a run: the outcome and why, a sentence for each bias that is not proven, and what to do next.

Figures, reasons and notes are under `-v` and in the report. Lines are broken between words, and no name is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm.core.claims import Outcome
from calm.core.plugins import hook
from calm.core.reasons import Kind, Reason, shared
from calm.results.audit import AGREEMENT, Audit, control_without_result
from calm.results.codes import State
from calm.results.sentences import Resolution, in_order, name_of, resolution, sentence, unmeasured
from calm.results.steps import Trouble, next_step, subject, troubles, verdict_of
from calm.results.tabular import as_read, unread, unread_words
from calm.results.wording import bill, figures, lines, plan, printable, tested, untested_by_reason
from calm.results.worsening import since_baseline

WIDTH, HEIGHT = 100, 24
"""Columns and lines of a screen whose size is not known, as of a log."""
LOG: Final = 4_000
"""Columns of an output that is no terminal: what reads it breaks lines itself."""
OTHERS: Final = 5
"""Lines of a screen that others take: the prompt, what a command says, pytest's dots, heading and last line."""
FEWEST: Final = 3
"""So many biases have their sentence, however low the terminal is."""
NOTES: Final = 3
"""So many notes are shown at once, under `-v`; the report has all."""
_TOLD_APART: Final = (Kind.AT_RESOLUTION, Kind.SCALE_BACKWARDS, Kind.SCALE_DIFFERS, Kind.SCORES_NARROW)
"""Notes that have a line of their own."""
MORE: Final = "-v shows all"
_COLOURS: Final = {Outcome.FAIL: "red", Outcome.INCOMPLETE: "red", Outcome.UNDECIDED: "yellow", Outcome.PASS: "green"}
_INSTALLED: Final = re.compile(r"[^\s:,]*site-packages[/\\]")


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
        return self.height - OTHERS - self.above

    def rows(self, line: Line) -> int:
        """Return how many lines of the screen a line takes."""
        return max(1, -(-len(line.text) // self.width) if line.whole else len(lines(line.text, self.width)))


@dataclass(frozen=True, slots=True)
class Ended:
    """
    How a run ended: whether the gate is green, the exit status, the files written, and that of the baseline.

    `replaced` is of how many tests the results were that these files replaced, if of more than this run has.
    """

    green: bool
    status: int
    written: Sequence[Path] = ()
    baseline: str = ""
    replaced: int = 0


def shown(audit: Audit, screen: Screen, ended: Ended) -> list[Line]:
    """Return what is shown of a run below a heading: at most `screen.room` lines, unless commands are long."""
    audit = as_read(audit)
    notes = [note for note in audit.run.notes if note.kind not in _TOLD_APART]
    said = f"; {len(notes)} note{'s' * (len(notes) != 1)} in the report" if notes else ""
    end = [Line(printable(text)) for text in (tested(audit), *_protocol(audit), f"{bill(audit)}{said}")]
    end += _last(audit, ended)
    first = [*_first(audit, ended), *_broke_off(audit)]
    found = [*_troubles(audit), *_loose(audit), *_accepted(audit)]
    room = screen.room - sum(map(screen.rows, (*first, *end)))
    kept = _fitting(found, room, screen)
    if len(kept) < len(found):
        kept = _fitting(found, room - 1, screen)
        kept = [*kept, Line(f"and {len(found) - len(kept)} more: {MORE}", "yellow")]
    return [*first, *kept, *end]


def whole(audit: Audit, ended: Ended) -> list[Line]:
    """Return all that a terminal can show of a run: a sentence for each finding, and its figures behind it."""
    audit = as_read(audit)
    listed = [f for outcome in _COLOURS for f in in_order(audit.of(outcome))]
    kept = (Resolution.RUN, AGREEMENT)  # what is proven of all cases is shown, too
    listed = [f for f in listed if f.outcome is not Outcome.PASS or resolution(f) in kept or f.bias in kept]
    found = [*_first(audit, ended), *_loose(audit)]
    for one in listed:
        note = f" (accepted: {one.accepted})" if one.accepted else ""
        where = f" ({one.node})" if one.outcome is not Outcome.FAIL and one.red and one.node else ""
        colour = "yellow" if one.accepted else _COLOURS[one.outcome]
        found.append(Line(printable(f"{one.outcome.value} {one.key}: {sentence(one)}{note}{where}"), colour))
        silent = "" if unmeasured(one) else unread_words(unread(one.trials))
        if behind := "; ".join(filter(None, [figures(one), silent])):
            found.append(Line(printable(f"  {behind}")))
    for names, why, _ in untested_by_reason(audit):
        found.append(Line(printable(f"not tested: {names}{f' ({why})' if why else ''}")))
    found += [Line(text) for text in _protocol(audit)]
    notes = [note for note in audit.run.notes if note.kind not in _TOLD_APART]
    found += [Line(f"note: {_short(str(note))}", "yellow") for note in notes[:NOTES]]
    if len(notes) > NOTES:
        found.append(Line(f"notes that only the report has: {len(notes) - NOTES}", "yellow"))
    return [*found, Line(printable(tested(audit))), Line(printable(bill(audit))), *_last(audit, ended)]


def _first(audit: Audit, ended: Ended) -> list[Line]:
    word, why = verdict_of(audit, green=ended.green)
    status = "" if audit.cut_short else f" (exit {ended.status})"
    text = ". ".join(filter(None, [f"{word}{status}: {why}", since_baseline(audit, ended.baseline)]))
    return [Line(_short(text), "green" if ended.green else "red")]


def _broke_off(audit: Audit) -> list[Line]:
    kinds = (Kind.CACHE_FAILED, Kind.REPLIES_LOST)
    notes = [next((note for note in audit.run.notes if note.kind is kind), None) for kind in kinds]
    return [Line(_short(str(note)), "red") for note in notes if note is not None]


def _last(audit: Audit, ended: Ended) -> list[Line]:
    red = (Kind.SCALE_BACKWARDS, Kind.SCALE_DIFFERS)
    told = [Line(printable(f"check: {note}"), "red") for note in audit.run.notes if note.kind in red]
    told += [Line(printable(f"note: {note}"), "yellow") for note in audit.run.notes if note.kind is Kind.SCORES_NARROW]
    found = [note for note in audit.run.notes if note.kind is Kind.AT_RESOLUTION and ended.green]
    told += [Line(printable(f"what green means here: {note}"), "green") for note in found]
    results = next((str(path) for path in ended.written if path.suffix == ".json"), "")
    if (step := next_step(audit, results, green=ended.green)) is not None:
        known = subject(audit).whole or not step.command
        names = "" if known else ", with your own names in the place of the capitals"
        told.append(Line(printable(f"next: {step.what[:1].lower()}{step.what[1:].rstrip('.')}{names}")))
        if step.command:
            told.append(Line(printable(f"  {step.command}"), whole=True))
    if not ended.written:
        return told
    files = sorted(ended.written, key=lambda path: path.suffix != ".html")
    beside = ", ".join(path.name if path.parent == files[0].parent else str(path) for path in files[1:])
    word = "report" if files[0].suffix == ".html" else "wrote"
    told.append(Line(printable(f"{word}: {files[0]}{f' (beside it {beside})' if beside else ''}")))
    if ended.replaced:
        earlier = f"an earlier run of {ended.replaced} tests"
        told.append(Line(f"note: that replaced {earlier}: to keep both, write elsewhere (calm audit -o DIR)", "yellow"))
    return told


def _troubles(audit: Audit) -> Iterable[Line]:
    alike: dict[tuple[Outcome, Reason], list[Trouble]] = {}
    found = troubles(audit)
    for one in found:
        if unmeasured(one.lead):
            alike.setdefault((one.outcome, shared(one.lead.reason)), []).append(one)
    for one in found:
        same = alike.get((one.outcome, shared(one.lead.reason)), [one]) if unmeasured(one.lead) else [one]
        if len(same) == 1:
            yield trouble_line(one)
        elif one is same[0]:
            names = ", ".join(name_of(other.bias) for other in same)
            text = f"{one.outcome.value} {names}: {shared(one.lead.reason)}"
            yield Line(printable(text), _COLOURS[one.outcome])


def trouble_line(one: Trouble) -> Line:
    """Return a bias that is not proven as a sentence, with the edit that says most and what decides it."""
    lead = one.lead
    edit = lead.reason.worst or lead.perturbation or ""
    name = f"{name_of(one.bias)}{f' ({edit})' if edit else ''}"
    needed = next(filter(None, map(plan, one.findings)), "") if one.outcome is Outcome.UNDECIDED else ""
    if one.outcome is Outcome.INCOMPLETE and not unmeasured(lead) and not lead.reason.unfinished:  # the heading says it
        needed = str(lead.reason)
    also = len(one.findings) - 1
    more = f"{also} more claim{'s' * (also > 1)}" if also else ""
    behind = "; ".join(filter(None, [needed, more]))
    text = f"{one.outcome.value} {name}: {sentence(lead)}{f'; {behind}' if behind else ''}"
    return Line(printable(text), _COLOURS[one.outcome])


def _accepted(audit: Audit) -> Iterable[Line]:
    found = [f for f in audit.findings if f.accepted is not None and f.outcome in (Outcome.FAIL, Outcome.UNDECIDED)]
    return [Line(printable(f"accepted ({f.accepted}): {f.key}: {sentence(f)}"), "yellow") for f in found]


def _loose(audit: Audit) -> list[Line]:
    crashed = (f"{one.node} crashed: {one.reason}" for one in audit.tests if one.state is State.CRASHED)
    first = verdict_of(audit, green=False)[1]
    said = audit.outcome is Outcome.FAIL or audit.cut_short
    shown = {control_without_result(one.bias) for one in troubles(audit)}
    loose = [] if said else [text for text in audit.loose_ends if text not in first and text not in shown]
    return [Line(_short(text), "red") for text in (*loose, *crashed)]


def _short(text: str) -> str:
    """
    Return a text without the folders of an installation, as one line.

    >>> _short("1 of 2 tests crashed: .venv/lib/python3.12/site-packages/calm/suites/test_position.py::test_it")
    '1 of 2 tests crashed: calm/suites/test_position.py::test_it'
    """
    return _INSTALLED.sub("", printable(" ".join(text.split())))


def _fitting(found: Sequence[Line], room: int, screen: Screen) -> list[Line]:
    kept = list(found)
    while len(kept) > FEWEST and sum(map(screen.rows, kept)) > room:
        kept.pop()
    return kept


def _protocol(audit: Audit) -> list[str]:
    """Return the lines of CALM's figures, if a plug-in knows them."""
    told = hook("terminal.protocol")
    return [] if told is None else list(told(audit))
