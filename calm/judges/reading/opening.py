"""The label that opens a reply: the first token of it, or one of the first after words such as "Answer:"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from calm.core.case import Framing
from calm.judges.reading.marks import Mark
from calm.judges.reading.views import View, names_of
from calm.judges.reading.words import UNSPACED, Cue, has, one_of, table

FIRST_TOKENS: Final = 16
"""So many generated tokens, reasoning aside, are the opening of a reply."""
LONGEST_LEAD: Final = 60
"""Characters of the words that may lead to a label."""
MOST_WORDS: Final = 6
"""How many words may lead to a label."""
AHEAD: Final = 40
"""Characters after a label that are looked at."""

_SIGNS: Final = " \t\r\n$*_#>|~`\"'“”„«»()[]{}"
_OPENED: Final = re.compile(r"(?:[:：=→⇒➜]|\[\[)[\s$*_#>|~`\"'“”„«»(\[{]*\Z")
_STOP: Final = re.compile(r"[.!?。！？;；\n](?:\s|\Z)")
_CLOSERS: Final = r"[*_`\"'”»)\]}]{0,8}"
_ENDS: Final = re.compile(rf"{_CLOSERS}[.!]?{_CLOSERS}(?:</[A-Za-z_][\w.-]{{0,40}}>)?[ \t]{{0,12}}(?:\r?\n|\Z)")
_GOES_ON: Final = re.compile(rf"{_CLOSERS}(?:[.;]\s|\s?[—–]\s|\s-\s|\s\()")
_SAYS: Final = re.compile(r"[*_`\"']{0,4}[.,]\s(?!\s*\d)")
_SHUT: Final = re.compile(rf"{_CLOSERS}(?:[.!]{_CLOSERS}|\]\]|\*\*|</[A-Za-z_][\w.-]{{0,40}}>)[ \t]{{0,12}}\Z")


def opens(text: str, span: tuple[int, int], mark: Mark, view: View, *, cut: bool) -> bool:
    """
    Return whether a span of a text begins with a label, beyond doubt.

    Before it are only signs, or words that name a verdict or an answer. After it the line ends; where words with a
    colon or similar sign lead to it, a new sentence may begin. In a `cut` reply, something must also come after the
    label: "A" may have become "A good answer", and "B" may have become "Bob".
    """
    (begin, end), first, last = span, mark.start, mark.end
    if first - begin > 3 * LONGEST_LEAD or (first > begin and _joins(text[first - 1])):
        return False
    lead, after = text[begin:first], text[last : min(end, last + AHEAD)]
    told = bool(lead.strip(_SIGNS))
    opened = told and _OPENED.search(lead) is not None
    if told and not _leads(lead, view, opened=opened):
        return False
    if view.task == "score":
        after = re.sub(rf"\A{_CLOSERS}\s?/\s?{view.scale.high:g}(?![\d.,]*\d)", "", after)
    ends = _ENDS.match(after)
    if ends is not None and (not cut or "\n" in ends[0] or _shut(after, view)):
        return True
    if view.task == "rubric" and not told and _SAYS.match(after):
        return True
    copula = told and _last(copulas=True).search(lead.strip(_SIGNS)) is not None
    return (opened or copula) and _GOES_ON.match(after) is not None


def _joins(sign: str) -> bool:
    return sign.isalnum() or sign in "_-/&'’"


def _shut(after: str, view: View) -> bool:
    """Return whether a label is whole, whatever would have come next; a stop after a number may have been a point."""
    return _SHUT.match(after) is not None and not (view.task == "score" and after.rstrip().endswith("."))


def _leads(lead: str, view: View, *, opened: bool) -> bool:
    """Return whether some words lead to a label: they name a verdict or an answer, and nothing in them doubts it."""
    words = lead.strip(_SIGNS + ":：=→⇒➜")
    if len(words) > LONGEST_LEAD or len(words.split()) > MOST_WORDS or "\n" in words or _STOP.search(words):
        return False
    if view.task == "score" and re.search(r"\d", words):
        return False
    if view.task == "pairwise" and names_of(*view.labels).search(words):
        return False
    if any(has(kind, words) for kind in _doubts(view)):
        return False
    named = has(Cue.NOUN, words) or _answer().search(words) is not None
    headed = "\n" in lead[len(lead.rstrip(_SIGNS)) :]
    return named and (opened or headed or _last().search(words) is not None)


def _doubts(view: View) -> tuple[Cue, ...]:
    kinds = (Cue.DENIED, Cue.OTHERS, Cue.IF, Cue.WHOSE, Cue.THAN)
    if view.task == "score":
        return (*kinds, Cue.ASIDE)
    return kinds if view.framing is Framing.NEGATIVE else (*kinds, Cue.LESSER)


@lru_cache(maxsize=1)
def _answer() -> re.Pattern[str]:
    """Return an expression for a word that names an answer, in any language."""
    spaced = one_of("answers", *sorted(set(table()["answers"]) - UNSPACED))
    return re.compile(rf"(?<!\w)(?:{spaced})(?!\w)|(?:{one_of('answers', *sorted(UNSPACED))})", re.IGNORECASE)


@lru_cache(maxsize=2)
def _last(*, copulas: bool = False) -> re.Pattern[str]:
    """Return an expression for the last words before a label that has no colon: "is", or what the label names."""
    spaced, unspaced = sorted(set(table()["answers"]) - UNSPACED), sorted(UNSPACED)
    if copulas:
        return re.compile(rf"(?<!\w)(?:{one_of('copulas')})\Z", re.IGNORECASE)
    words = "|".join((one_of("copulas"), one_of("answers", *spaced)))
    return re.compile(rf"(?<!\w)(?:{words})\Z|(?:{one_of('answers', *unspaced)})\Z", re.IGNORECASE)
