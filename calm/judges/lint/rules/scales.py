"""What the prompt says of the scale of a score."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from calm.judges.lint.subject import Found, Subject
from calm.judges.prompts.direction import direction_of
from calm.judges.prompts.forms import range_in

_N: Final = r"\d{1,4}(?:\.\d{1,2})?"
_ASKS: Final = re.compile(r"\b(?:scor(?:e|es|ing)|rat(?:e|ing)|grade|stars?|points?)\b", re.IGNORECASE)
_LISTED: Final = re.compile(
    rf"(?:^[ \t>*#+-]*|[\s(\"'`*])(?:score|rating|level|grade|say|give|assign)?[\s*:\"'`]{{0,4}}(?<![\d.])({_N})\)?"
    r"(?:\.0+)?[\"'`*]{0,3}[ \t]*(?:(?:points?|stars?)\b[ \t]*)?"
    r"(?:[=:–—→]|-(?=\s)|,? if\b|for\b|means?\b|indicat\w*\b|represents?\b|being\b|is\b|corresponds?\b|would\b|\()"
    r"[ \t\n]*[*_\"'`(]{0,3}[A-Za-z]",
    re.IGNORECASE | re.MULTILINE,
)
"""A value of the scale with words after it."""
_SPOKEN: Final = re.compile(
    rf"\b(?:scores?|rating|grade|value|give|assign|say|award|return|output)\b[^.\n\d]{{0,30}}?({_N})(?![\d.]*\s*(?:-|–|to|and)\s*\d)",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(r"\b(?:if|when|only|worst|best|perfect|fully|completely|not|no)\b", re.IGNORECASE)
_ENDS: Final = re.compile(
    r"\b(?:worst|best|lowest|highest|poor\w*|excellent|perfect\w*|bad|good|terrible|ideal|least|most|fully|not at all)"
    r"\b"
    rf"[^.\n\d]{{0,40}}?\(?({_N})\b",
    re.IGNORECASE,
)
_ADDED: Final = re.compile(
    r"\b(?:add|award|give|deduct|subtract|plus)\b[^.\n]{0,20}\b(?:\d|one|a|an|another|half)[^.\n]{0,20}\bpoints?\b",
    re.IGNORECASE,
)
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDED: Final = re.compile(rf"^[ \t>*#+-]*({'|'.join(_NUMBERS)})\b[^:\n]{{0,12}}:", re.IGNORECASE | re.MULTILINE)
_SAID: Final = re.compile(
    rf"\b(?:scores?|rating|grade|value)s? of ({'|'.join(_NUMBERS)})\b(?: (hundred)\b)?"
    r"[^.\n]{0,20}\b(?:means?|indicat|if)",
    re.IGNORECASE,
)
_TITLED: Final = re.compile(rf"^[ \t#>*-]*\[[\w ]{{1,30}}:[ \t]*({_N})\][ \t]*\W?[A-Za-z]", re.MULTILINE)
LEAST: Final = 2
"""Values that must have words, so that the judge knows both ends."""
NEAR: Final = 400
"""Characters of a line before and after a value that are looked at."""
LISTED: Final = 3
"""Values that must stand in a list before its order can be wrong."""


@dataclass(frozen=True, slots=True)
class _Value:
    value: float
    at: int


def stated(subject: Subject) -> Iterator[Found]:
    """Find a prompt that asks for a score without a scale, or with one whose values have no words."""
    page = subject.page
    if subject.task != "score" or page.of("criteria"):
        return  # the rubric that a case brings may say all of it
    prose = page.prose
    values = _values(prose)
    found = _range(subject, prose)
    if found is None:
        if len({one.value for one in values}) < LEAST and not _ADDED.search(prose):
            asked = list(_ASKS.finditer(prose))
            yield Found("scale-not-stated", subject.at(asked[-1].start() if asked else 0))
        return
    low, high, at = found
    known = sorted({one.value for one in values if low <= one.value <= high})
    if len(known) >= LEAST or _ADDED.search(prose):
        return
    named = f"only {known[0]:g} has words" if known else "no value has words"
    yield Found("scale-without-anchors", subject.at(at), (f"{low:g} to {high:g}", named))


def ordered(subject: Subject) -> Iterator[Found]:
    """Find a list of values that neither rises nor falls."""
    if subject.task != "score":
        return
    prose = subject.page.prose
    lines: list[_Value] = []
    for one in (_Value(float(m[1]), m.start(1)) for m in _LISTED.finditer(prose)):
        begins = prose[max(0, one.at - NEAR) : one.at].rpartition("\n")[2]
        if not re.search(r"[A-Za-z]{8,}", begins) and all(one.value != other.value for other in lines):
            lines.append(one)
    values = _without_ends([one.value for one in lines])
    if len(lines) >= LISTED and values not in (sorted(values), sorted(values, reverse=True)):
        yield Found("scale-unordered", subject.at(lines[0].at), (", ".join(f"{v:g}" for v in values),))


def directed(subject: Subject) -> Iterator[Found]:
    """Find a scale whose high end is bad news, where nothing says so to calm."""
    how = subject.reading
    if how is None or how.directed or subject.scale is None or how.form.parts:
        return  # a formula of parts says itself which end of each is good
    names = (how.form.field, how.form.tag, re.sub(r"\W+", " ", how.form.pattern))
    way = direction_of(subject.page.prose, subject.scale, how.form.values, filter(None, names))
    if way.fault:
        yield Found("scale-direction", subject.at(way.at), (repr(way.fault),))


def _without_ends(values: list[float]) -> list[float]:
    """Return values without the two ends of the scale, where a prompt names both of them before or after the others."""
    ends = {min(values, default=0.0), max(values, default=0.0)}
    if set(values[:2]) == ends:
        return values[2:]
    return values[:-2] if set(values[-2:]) == ends else values


def _range(subject: Subject, prose: str) -> tuple[float, float, int] | None:
    """Return the ends of the scale, and where the prompt states them."""
    found = range_in(prose)
    if found is not None or subject.scale is None:
        return found
    low, high = subject.scale.low, subject.scale.high
    shown = [re.search(rf"(?<![\d.]){end:g}(?![\d.])", prose) for end in (low, high)]
    return (low, high, min(one.start() for one in shown if one)) if all(shown) else None


def _values(prose: str) -> list[_Value]:
    """Return the values of a scale that the prompt gives words to."""
    found = [_Value(float(m[1]), m.start(1)) for m in _LISTED.finditer(prose)]
    found += [_Value(float(m[1]), m.start(1)) for m in _ENDS.finditer(prose)]
    found += [_Value(float(_NUMBERS.index(m[1].lower())), m.start(1)) for m in _WORDED.finditer(prose)]
    found += [_Value(float(m[1]), m.start(1)) for m in _TITLED.finditer(prose)]
    for m in _SAID.finditer(prose):
        found.append(_Value(_NUMBERS.index(m[1].lower()) * (100.0 if m[2] else 1.0), m.start(1)))
    for m in _SPOKEN.finditer(prose):
        before, after = prose[max(0, m.start() - NEAR) : m.start()], prose[m.end() : m.end() + NEAR]
        if _CONDITION.search(before.rpartition("\n")[2] + prose[m.start() : m.end()] + after.partition("\n")[0]):
            found.append(_Value(float(m[1]), m.start(1)))
    return found
