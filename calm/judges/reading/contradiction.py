"""Whether a judge that gave a verdict first sums up for the other answer: then it is unclear which one it means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Preferred, Score, Verdict
from calm.judges.reading.layout import with_holes
from calm.judges.reading.marks import Mark, short
from calm.judges.reading.meanings import number_of
from calm.judges.reading.views import View, names_of
from calm.judges.reading.words import Cue, cue, has, plain

TAIL: Final = 2_000
"""Characters after a verdict that are looked at."""
OPENING: Final = 30
"""A sentence sums up if it says so within so many characters."""
_SENTENCE: Final = re.compile(r"(?:[^.!?。！？\n]|(?<=\d)\.(?=\d)){5,400}")
_VALUE: Final = re.compile(
    r"(?<![\w.,/-])(\d+(?:[.,]\d+)?)(?=\s*(?:[,;)、，点分점]|$|/|out of|(?:is|would|seems|feels|fits|instead)\b))"
)
"""A number that a sentence gives as a score; "5 May" is none."""


def contradiction(text: str, marks: Sequence[Mark], mark: Mark, verdict: Verdict, view: View) -> Reason | None:
    """Return that a sentence after a verdict prefers the other answer, or gives another score; None if none does."""
    tail = with_holes(text, marks)[mark.stop : mark.stop + TAIL]
    if not tail.strip():
        return None
    if view.task == "score" and isinstance(verdict, Score):
        others = (s.start() for s in _SENTENCE.finditer(tail) if _rescores(s[0], number_of(mark.raw), view))
        at = next(others, None)
        return None if at is None else _reason(text, mark, at)
    if not isinstance(verdict, Preferred) or view.task != "pairwise":
        return None
    raw = str(mark.raw).casefold()
    named = [label for label in view.labels if names_of(label).search(raw.upper() if len(label) == 1 else raw)]
    if len(named) != 1 or len(view.labels) != 2:
        return None
    other = next(label for label in view.labels if label != named[0])
    corrected = re.compile(rf"[\"“„«「'‘]{re.escape(other)}[\"”“»」'’]")
    for sentence in _SENTENCE.finditer(tail):
        if corrected.search(sentence[0]) and not any(
            has(kind, sentence[0]) for kind in (Cue.OTHERS, Cue.IF, Cue.DENIED)
        ):
            return _reason(text, mark, sentence.start())
        if _prefers(sentence[0], other, named[0]):
            return _reason(text, mark, sentence.start())
    return None


def _reason(text: str, mark: Mark, start: int) -> Reason:
    """Return which verdict is contradicted, and the lines of both."""
    line = text.count("\n", 0, mark.stop + start + 2) + 1
    return because(Kind.VERDICT_CONTRADICTED, Said(short(mark.raw)), text.count("\n", 0, mark.start) + 1, line)


def _rescores(sentence: str, own: float | None, view: View) -> bool:
    """Return whether a sentence gives another score than the verdict: "a 6 is fairer", "I would rather give a 5"."""
    if own is None or not has(Cue.REVISED, sentence) or has(Cue.OTHERS, sentence) or has(Cue.IF, _no_would(sentence)):
        return False
    return any(value != own and view.scale.holds(value) for value in map(number_of, _VALUE.findall(sentence)) if value)


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
