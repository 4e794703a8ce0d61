"""What the answers are called, whether they may tie, and who wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from calm.judges.lint.page import Slot
from calm.judges.lint.subject import Found, Subject

_NOUN: Final = (
    r"answer|response|output|assistant|text|candidate|model|option|summary|contestant|completion|reply|submission|"
    r"solution|translation|story|essay|result|system"
)
_NAMED: Final = re.compile(
    rf"\b(?:{_NOUN})s?(?:\s+(?:text|from|by|of|label|index|number|no\.?|id))?[\s_#:=\"'(\[<-]{{0,4}}"
    r"([A-Za-z]\b|\d{1,2}\b|(?:one|two|three|i{1,3}|iv)\b)",
    re.IGNORECASE,
)
_ORDINAL: Final = re.compile(
    rf"\b(first|second|third|1st|2nd|3rd|left|right|top|bottom)[\s_-]+(?:{_NOUN})\b", re.IGNORECASE
)
_RANKED: Final = re.compile(
    rf"\b(baseline|chosen|rejected|preferred|winner|winning|loser|losing|best|worst|better|worse|gold|golden|"
    rf"improved|new|old|original|strong|weak|treatment|control|champion|challenger)[\s_-]+(?:{_NOUN})\b"
    rf"|\b(?:{_NOUN})[\s_#:=\"'(\[-]{{1,3}}(baseline|chosen|rejected|preferred|winner|loser|gold|improved|challenger)\b",
    re.IGNORECASE,
)
_ATTRIBUTE: Final = re.compile(r"<\w+[^<>\n]{0,20}?(\d{1,2})\s*\"?\s*>\s*\Z")
_COUNTS: Final = re.compile(r"\d+(?:, \d+)?|one|two|three|i{1,3}|iv", re.IGNORECASE)
_CONCLUDES: Final = r"(?![ -](?:on|upon|from|attention|up|out|down|any|your|(?:\w+ )?conclusions?)\b)"
_TIE: Final = re.compile(
    rf"\b(?:ties?|tied(?! to\b)|tie-?break\w*|draw{_CONCLUDES}|neither|"
    r"equally (?:good|bad|well|strong|helpful|correct|capable)|"
    r"(?:of |are |is |have |the )?(?:equal|same|similar|comparable) (?:quality|score|level|merit)|"
    r"(?:are|is|be) (?:about |roughly |relatively )?(?:equal|the same|indistinguishable|on par|comparable)|"
    r"relatively the same|both (?:(?:of them|answers|responses|outputs|assistants|texts) )?(?:are|is|seem|perform)|"
    r"no (?:clear )?(?:winner|preference|difference))\b"
    r"|\[\[[CT]\]\]|\bA\s*={1,2}\s*B\b|\b1\s*={1,2}\s*2\b",
    re.IGNORECASE,
)
_FORBIDS: Final = re.compile(
    r"\b(?:do not|don['’]t|never|must not|may not|not allowed to|avoid|no)\b(?![^.\n]{0,20}\b(?:hesitate|afraid|let)\b)"
    r"[^.!?\n]{0,50}\b(?:ties?|draw|neither|both)\b"
    r"|\b(?:ties?|draws?) (?:is|are) not (?:allowed|possible|permitted)|\bforced choice\b",
    re.IGNORECASE,
)
_SCORES_EACH: Final = re.compile(
    r"\b(?:two|both|each|every|separate)\b[^.\n]{0,60}\b(?:scores?|ratings?|values?|grades?)\b"
    r"|\b(?:scores?|rate|rating|grade)\b[^.\n]{0,40}\b(?:each|both|separately)\b",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(r"\b(?:better|best|prefer\w*|winner|worse|superior|select|choose|compare)\b", re.IGNORECASE)
_MODELS: Final = re.compile(
    r"\b(?:chat-?gpt|gpt-?[345o][\w.-]*|o[134](?:-mini|-preview)?(?= )|claude(?:[ -][\w.]+)?|gemini(?:[ -][\w.]+)?|"
    r"llama[ -]?\d[\w.]*|mistral|mixtral|qwen[\w.]*|deepseek(?:[ -][\w.]+)?|grok(?:-\d)?|text-davinci-\d+|"
    r"vicuna(?:-\d+b)?|alpaca-\d+b|palm ?2?|command[- ]r)\b",
    re.IGNORECASE,
)
_WROTE: Final = re.compile(
    r"\b(?:written|wrote|writes|generated|produced|given|created|answered|replied|says|said|response|answer|output|reply|from|by|author|model)\b",
    re.IGNORECASE,
)


def order(subject: Subject) -> Iterator[Found]:
    """Find labels that count."""
    if subject.task not in ("pairwise", "listwise"):
        return
    labels = [(label, slot) for slot in _firsts(subject) if (label := _label(subject, slot))]
    counted = [label for label, _ in labels if _counts(label)]
    if len(counted) >= min(2, max(1, len(subject.page.answers))):
        place = subject.at(subject.page.ahead(labels[0][1]))
        yield Found("ordered-labels", place, (" and ".join(dict.fromkeys(counted)),))


def rank(subject: Subject) -> Iterator[Found]:
    """Find labels that say which answer is better."""
    if subject.task not in ("pairwise", "listwise"):
        return
    for slot in _firsts(subject):
        header = _header(subject, slot)
        found = _RANKED.search(header)
        if found is not None:
            yield Found("ranked-labels", subject.at(subject.page.ahead(slot)), (found[1] or found[2],))
            return


def tie(subject: Subject) -> Iterator[Found]:
    """Find a prompt about two answers that does not say what to do when they are equally good, or forbids to say so."""
    if subject.task != "pairwise":
        return
    prose = subject.page.prose
    if forbidden := _FORBIDS.search(prose):
        yield Found("tie-forbidden", subject.at(forbidden.start()), (repr(forbidden[0]),))
    elif not _TIE.search(prose) and not _SCORES_EACH.search(prose):
        asked = list(_ASKED.finditer(prose))
        yield Found("no-tie-rule", subject.at(asked[-1].start() if asked else 0))


def author(subject: Subject) -> Iterator[Found]:
    """Find what shows who wrote an answer."""
    for slot in subject.page.of("name"):
        yield Found("author-named", subject.at(slot.at), (slot.written,))
        return
    for slot in subject.page.of("answer"):
        header = _header(subject, slot)
        found = _MODELS.search(header)
        if found is not None and _WROTE.search(header):
            yield Found("author-named", subject.at(subject.page.ahead(slot)), (found[0],))
            return


def _firsts(subject: Subject) -> list[Slot]:
    return [slots[0] for slots in subject.page.answers]


def _header(subject: Subject, slot: Slot) -> str:
    """Return the last two lines with words before a slot."""
    before = subject.page.before(slot)
    return "\n".join([line for line in before.split("\n") if line.strip()][-2:])[-200:]


def _counts(label: str) -> bool:
    return bool(_COUNTS.fullmatch(label) or _ORDINAL.search(f"{label} answer"))


def _label(subject: Subject, slot: Slot) -> str:
    """Return what an answer is called: a name that counts in the lines before it, else the last one."""
    header = _header(subject, slot)
    if any(one.at < slot.at and "loop.index" in one.written for one in subject.page.slots[-60:]):
        return "1, 2"
    found = [*_NAMED.finditer(header), *_ORDINAL.finditer(header)]
    attribute = _ATTRIBUTE.search(header)
    if attribute is not None:
        return attribute[1]
    named = [str(one[1]) for one in sorted(found, key=lambda one: one.start())]
    return next((one for one in reversed(named) if _counts(one)), named[-1] if named else "")
