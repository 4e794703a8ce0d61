"""Verdicts that are lines of their own, and those on numbered criteria."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from calm.core.verdict import Unreadable, Verdict
from calm.judges.reading.formats import Format
from calm.judges.reading.marks import MAX_MARKS, Mark, line_of
from calm.judges.reading.meanings import all_criteria, is_met, meant
from calm.judges.reading.quotations import FENCE, is_quotation, quoted
from calm.judges.reading.views import View

MAX_LINES: Final = 10_000
"""Lines from the end of a reply in which verdicts on criteria are looked for."""

_LEAD = re.compile(
    r"(?:(?:so|thus|therefore|hence|my|the|final|overall)[ \t,:]{1,4}){0,4}+"
    r"(?:rating|score|verdict|answer|grade|judge?ment|decision|result|choice|winner|preference|points|ranking)"
    r"(?:[ \t]{1,4}is)?(?:[ \t]{0,4}[:=][ \t]{0,4}|[ \t]{1,4})",
    re.IGNORECASE,
)
_NUMBER_LIKE = re.compile(r"[+-]?[0-9.,/ ]{0,20}[0-9](?:[eE][+-]?[0-9]{1,6})?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_NUMBERED = re.compile(
    r"[ \t]{0,8}(?:[-*+•#>][ \t]{0,4}){0,4}+(?:\*\*|__)?(?:criterion[ \t]{1,4})?#?[\[(]?(?P<key>[^\s:)\]|*]{1,80})"
    r"(?:\*\*|__)?(?P<sep>[ \t]{0,4}[:)\]|–—-]{1,3})?(?:\*\*|__)?",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:[-*+•#>]{1,6}[ \t]{1,8}){1,4}")


def by_last_line(text: str, form: Format, view: View) -> Verdict | None:
    """Return the verdict that the last line is."""
    mark = next(_lines(text), None)
    if mark is None or len(line := str(mark.raw)) > 2_000:
        return None
    verdict = _said(line, form, view)
    if verdict is None:
        return None
    return None if is_quotation(text, mark.start, line.strip(), view.judged) else verdict


def by_numbers(text: str, marks: Sequence[Mark], form: Format, view: View) -> Verdict | None:
    """Return for each criterion the verdict of the last line that begins with its number."""
    lines: dict[int, list[Mark]] = {}
    for mark in marks[-MAX_LINES:]:
        lines.setdefault(line_of(text, mark)[0], []).append(mark)
    met: dict[str, bool | None] = {}
    for start, group in lines.items():
        before = text[start : group[0].start][:400]
        named = _key(before, view)
        if named is None or not (named[1] or not before[named[2] :].strip()):
            continue
        said = {is_met(m.raw, form) for m in group[:MAX_MARKS] if not quoted(text, m, view.judged)}
        if said:
            met[named[0]] = said.pop() if len(said) == 1 else None
    if met:
        return all_criteria({c: met.get(c) for c in view.criteria}, view)
    last = next((m for m in reversed(marks[-MAX_MARKS:]) if not quoted(text, m, view.judged)), None)
    return by_lines(str(last.raw), form, view) if last is not None else None


def by_lines(text: str, form: Format, view: View) -> Verdict | None:
    """Return for each criterion the verdict of the last line that is its number and a verdict."""
    met: dict[str, bool | None] = {}
    for mark in islice(_lines(text), MAX_LINES):
        line = str(mark.raw)
        named = _key(line, view) if len(line) <= 300 else None
        if named is None or named[0] in met:
            continue
        said = is_met(_bare(line[named[2] :]), form)
        if said is not None and not is_quotation(text, mark.start, line.strip(), view.judged):
            met[named[0]] = said
    return all_criteria({c: met.get(c) for c in view.criteria}, view) if met else None


def _said(line: str, form: Format, view: View) -> Verdict | None:
    """Return the verdict that a line is; None if it is something else."""
    bare = _bare(line)
    lead = _LEAD.match(bare)
    tries = [line.strip(), bare]
    if lead is not None:
        tries.append(_bare(bare[lead.end() :]))
    readings = [meant(part, form, view) for part in tries]
    for reading in readings:
        if not isinstance(reading, Unreadable):
            return reading
    if lead is not None and len(tries[-1].split()) <= 3:
        return readings[-1]
    return readings[1] if _NUMBER_LIKE.fullmatch(bare) else None


def _key(line: str, view: View) -> tuple[str, bool, int] | None:
    """Return the criterion that begins a line (number or id), whether it is set off, and where the rest begins."""
    found = _NUMBERED.match(line)
    if found is None:
        return None
    key = found["key"].rstrip(".").casefold()
    set_off = found["sep"] is not None or found["key"].endswith(".")
    if re.fullmatch(r"[0-9]{1,4}", key) and 1 <= int(key) <= len(view.criteria):
        return view.criteria[int(key) - 1], set_off, found.end()
    known = {c.casefold(): c for c in view.criteria}
    return (known[key], set_off, found.end()) if key in known else None


def _lines(text: str) -> Iterator[Mark]:
    """Return the lines that hold something, the last one first; fences are not lines."""
    end = len(text)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if line.strip() and not FENCE.match(line):
            yield Mark(start, end, line)
        end = start - 1


def _bare(line: str) -> str:
    """Return a line without the marks of Markdown and quotes around it."""
    line = line.strip()
    bullet = _BULLET.match(line)
    line = line[bullet.end() :] if bullet else line
    for sign in ("**", "__", "`"):
        line = line.replace(sign, "")
    return line.strip(" \t*\"'“”‘’").rstrip(".!").rstrip()
