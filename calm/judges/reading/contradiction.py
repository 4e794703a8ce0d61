"""Whether a judge that gave a verdict first sums up for the other answer: then it is unclear which one it means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from calm.core.case import Framing
from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Preferred, Score, Tie, Verdict
from calm.judges.reading.marks import Mark, short
from calm.judges.reading.meanings import better, number_of
from calm.judges.reading.views import View, names_of
from calm.judges.reading.words import Cue, cue, has, one_of, plain

TAIL: Final = 2_000
"""Characters after a verdict that are looked at."""
OPENING: Final = 30
"""A sentence sums up if it says so within so many characters."""
_SENTENCE: Final = re.compile(r"(?:[^.!?。！？\n]|(?<=\d)\.(?=\d)){5,400}")
_COUNTED: Final = re.compile(r"\s*(?:minus|plus|less|[-+−–])\s*\d")
"""What goes on to count after a score: "[[8]] minus 2"."""
_FINAL: Final = re.compile(
    r"\b(?i:final|overall|corrected|revised|new|adjusted) (?i:score|rating|verdict|grade)\b"
    r"[ *_]*(?:(?:is|:|=|of)[ *_]*)+(\d+(?:[.,]\d+)?)(?!\w)"
)
LONGEST_BEFORE: Final = 120
"""Characters before a verdict that are looked at."""
_BEFORE: Final = re.compile(r"[^.!?。！？\n]*\Z")
_VALUE: Final = re.compile(
    r"(?:(?<=\ba )|(?<=\ban )|(?<=\beine )|(?<=\bune )|(?<=\bun )|(?<=\buma ))(\d+(?:[.,]\d+)?)(?![\w-])"
    r"|(?<![\w.,/-])(\d+(?:[.,]\d+)?)(?=\s*(?:[,;)、，点分점]|$|/|-->|out of|(?:is|would|seems|feels|fits|instead)\b))"
)
"""A number that a sentence gives as a score; "5 May" is none."""


def contradiction(page: str, mark: Mark, verdict: Verdict, names: Sequence[str], view: View) -> Reason | None:
    """
    Return that words around a verdict prefer another answer, or give another score; None if none do.

    `page` is the reply with a hole in place of each verdict, `names` are what the judge calls the two answers, by slot.
    """
    tail = page[mark.stop : mark.stop + TAIL]
    if view.task == "score" and isinstance(verdict, Score):
        own = number_of(mark.raw)
        if own is not None and _COUNTED.match(tail):
            return _reason(page, mark, 0)
        at = next((s.start() for s in _SENTENCE.finditer(tail) if own is not None and _rescores(s[0], own, view)), None)
        return None if at is None else _reason(page, mark, at)
    if view.task != "pairwise" or len(names) != 2:
        return None
    if isinstance(verdict, Tie):
        at = next((s.start() for s in _SENTENCE.finditer(tail) if _decides_a_tie(s[0], names)), None)
        return None if at is None else _reason(page, mark, at)
    if not isinstance(verdict, Preferred):
        return None
    slot = better(view.ids.index(verdict.answer), view)
    own_name, other = names[slot], names[1 - slot]
    before = _BEFORE.search(page, max(0, mark.start - LONGEST_BEFORE), mark.start)
    if before is not None and _praises(before[0], other, own_name) and view.framing is not Framing.NEGATIVE:
        return _reason(page, mark, before.start() - mark.stop)
    corrected = re.compile(rf"[\"“„«「'‘]{re.escape(other)}[\"”“»」'’]")
    for sentence in _SENTENCE.finditer(tail):
        if corrected.search(sentence[0]) and not any(
            has(kind, sentence[0]) for kind in (Cue.OTHERS, Cue.IF, Cue.DENIED)
        ):
            return _reason(page, mark, sentence.start())
        if _prefers(sentence[0], other, own_name):
            return _reason(page, mark, sentence.start())
    return None


def _praises(sentence: str, other: str, own: str) -> bool:
    """Return whether a sentence calls one answer better, names no other one, and doubts nothing."""
    if names_of(other).search(sentence) is None or names_of(own).search(sentence) is not None:
        return False
    doubts = (Cue.OTHERS, Cue.IF, Cue.DENIED, Cue.LESSER, Cue.THAN, Cue.WHOSE)
    return has(Cue.BETTER, sentence) and not any(has(kind, sentence) for kind in doubts)


def _decides_a_tie(sentence: str, names: Sequence[str]) -> bool:
    """Return whether a sentence says of one answer alone that it is better: "answer B is in fact much better"."""
    for one, other in (names, reversed(names)):
        is_better = rf"{re.escape(one)}\s+(?:{one_of('copulas')})\s+(?:\w+\s+){{0,4}}"
        said = re.search(is_better, sentence)
        if said is not None and cue(Cue.BETTER).match(sentence.lower(), said.end()) and _praises(sentence, one, other):
            return True
    return False


def _reason(page: str, mark: Mark, start: int) -> Reason:
    """Return which verdict is contradicted, and the lines of both."""
    line = page.count("\n", 0, mark.stop + start + 2) + 1
    return because(Kind.VERDICT_CONTRADICTED, Said(short(mark.raw)), page.count("\n", 0, mark.start) + 1, line)


def _rescores(sentence: str, own: float, view: View) -> bool:
    """Return whether a sentence gives another score than the verdict: "a 6 is fairer", "5 is too high"."""
    final = _FINAL.search(sentence)
    if final is not None and number_of(final[1]) not in (None, own) and not has(Cue.IF, sentence):
        return True
    if (
        cue(Cue.REVISED).search(sentence.lower()) is None
        or has(Cue.OTHERS, sentence)
        or has(Cue.IF, _no_would(sentence))
    ):
        return False
    return any(
        view.scale.holds(value)
        for value in (number_of(m[m.lastindex or 0]) for m in _VALUE.finditer(sentence))
        if value is not None
    )


def _no_would(sentence: str) -> str:
    return re.sub(r"(?i)\bwould\b", "", sentence)


def _prefers(sentence: str, other: str, own: str) -> bool:
    """Return whether a sentence sums up, and calls the other answer better, or denies its own one."""
    if has(Cue.OTHERS, sentence) or has(Cue.IF, _no_would(sentence)):
        return False
    low = plain(sentence)
    turned = has(Cue.REVISED, sentence) or any(cue(kind).search(low, 0, OPENING) for kind in (Cue.TURN, Cue.PAUSE))
    if turned and names_of(other).search(sentence) and not names_of(own).search(sentence):
        return (has(Cue.BETTER, sentence) or has(Cue.CHOICE, sentence)) and not has(Cue.DENIED, sentence)
    ends = re.search(rf"\b(?:{one_of('copulas')})\W+{re.escape(other)}\W*\Z", sentence)
    if ends is not None and has(Cue.NOUN, sentence) and not has(Cue.DENIED, sentence) and not has(Cue.LESSER, sentence):
        return names_of(own).search(sentence[: ends.start()]) is None
    summary = cue(Cue.SUMMARY).search(low)
    if summary is None or summary.start() > OPENING:
        return False
    if names_of(other).search(sentence) is None:
        return False
    if names_of(own).search(sentence) is None:
        return has(Cue.BETTER, sentence) and not has(Cue.DENIED, sentence)
    clauses = re.split(r"[,;，、；]|\s(?:and|und|et|y|e|и|while|aber|but)\s", sentence)
    alone = [c for c in clauses if names_of(own).search(c) and not names_of(other).search(c)]
    praised = [c for c in clauses if names_of(other).search(c) and not names_of(own).search(c)]
    return any(has(Cue.DENIED, c) for c in alone) and not any(has(Cue.DENIED, c) for c in praised)
