"""How the answers are kept apart from the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from calm.judges.lint.edges import WHOLE, closing, is_delimiter, opening
from calm.judges.lint.page import Slot
from calm.judges.lint.subject import Found, Subject

_ORDERS: Final = r"(?:instruction|command|order|request|direction|directive|prompt|demand|attempt)s?\b"
_DATA: Final = re.compile(
    rf"\b(?:ignor\w*|disregard\w*|(?:do not|don['’]t|never|not to|must not|should not) (?:follow|obey|execute|act on|"
    rf"comply with|be (?:influenced|swayed|misled) by)|take no notice|resist)\b[^.\n]{{0,80}}{_ORDERS}"
    r"|\bnothing (?:in|inside|within) (?:it|them|the)\b[^.\n]{0,60}\baddressed\b|\bnot addressed to\b"
    r"|\b(?:treat|regard|consider|handle)\b[^.\n]{0,80}\bas (?:only |just |mere |pure |untrusted )*"
    r"(?:data|material|content|text|untrusted)\b|\buntrusted\b|\bprompt[- ]injection"
    rf"|\b(?:is|are) (?:only |just )?(?:data|material)\b[^.\n]{{0,60}}\b(?:not|never|nothing)\b"
    rf"|\b(?:never|not|no)\b (?:an? )?{_ORDERS} (?:to|for) (?:you|the (?:judge|evaluator|grader))"
    rf"|\b(?:is|are) (?:never|not|no)\b (?:to be (?:taken|read|treated) as )?(?:an? |any )?{_ORDERS}"
    rf"|\b{_ORDERS}[^.\n]{{0,60}}\b(?:in|inside|within|from)\b[^.\n]{{0,60}}\b(?:must|should|are to) be ignored",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_ONLY: Final = re.compile(r"\bonly\b", re.IGNORECASE)
SENTENCE: Final = 4
"""Words that a line must have to be taken for a sentence that says what to do."""


def delimited(subject: Subject) -> Iterator[Found]:
    """Find an answer that nothing keeps apart from the prompt."""
    for slot in subject.page.of("answer"):
        lacks = [what for what, found in (("begins", opening), ("ends", closing)) if not found(subject.page, slot)]
        if lacks:
            yield Found("slot-undelimited", subject.at(slot.at), (_called(subject, slot), " and ".join(lacks)))
            return


def closable(subject: Subject) -> Iterator[Found]:
    """Find a delimiter that an answer can write."""
    for slot in subject.page.of("answer"):
        mark = closing(subject.page, slot)
        if mark in ("", WHOLE) or not opening(subject.page, slot) or not subject.arrives(slot, mark):
            continue
        at = slot.at + 1 + len(mark) - len(mark.lstrip())
        yield Found("delimiter-closable", subject.at(at), (repr(mark.strip()),))
        return


def orders(subject: Subject) -> Iterator[Found]:
    """Find a prompt that does not say that the answers are material."""
    slots = subject.page.of("answer")
    if slots and not _DATA.search(subject.page.prose):
        yield Found("answers-may-order", subject.at(slots[0].at))


def last_words(subject: Subject) -> Iterator[Found]:
    """Find a prompt that ends with an answer."""
    page, slots = subject.page, subject.page.of("answer", "question", "context", "reference", "criteria")
    if not page.of("answer"):
        return
    after = page.text[slots[-1].at + 1 :]
    if not any(_says(line) for line in after.split("\n")):
        last = slots[-1]
        what = "an answer" if last.role == "answer" else f"the {last.role}, which comes after the answers"
        yield Found("ends-with-answer", subject.at(last.at), (what,))


def _says(line: str) -> bool:
    """Return whether a line says something: a sentence, or a heading that is one."""
    words = len(_WORDS.findall(line))
    if _ONLY.search(line):
        return True
    return words >= SENTENCE and (not is_delimiter(line) or (words >= 2 * SENTENCE and line.lstrip()[:1] not in "[<"))


def _called(subject: Subject, slot: Slot) -> str:
    return "the answer" if len(subject.page.answers) < 2 else f"answer {slot.number + 1}"
