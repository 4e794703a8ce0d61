"""What the prompt shows of a case, and what it only speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from calm.judges.lint.places import Place
from calm.judges.lint.subject import Found, Subject

_REFERENCE: Final = re.compile(
    r"\b(?:the|a|an|provided|given|following)\s+((?:reference|gold(?:en)?|ground[- ]truth|expected|ideal)\s+"
    r"(?:answer|response|output|solution|text)s?|ground[- ]truth)\b",
    re.IGNORECASE,
)
_MAKES: Final = re.compile(
    r"\b(?:generat|writ|produc|creat|propos|formulat)\w*\s+(?:\w+\s+){0,2}\Z|\b(?:no|without)\s+\Z", re.IGNORECASE
)
CACHED: Final = 4096
"""So many characters have about the 1,024 tokens that providers keep at least."""
_OPTIONAL: Final = re.compile(r"\b(?:if|when|where|may|might|can|optional)\b", re.IGNORECASE)


def answers(subject: Subject) -> Iterator[Found]:
    """Find answers that are not shown."""
    page = subject.page
    unsure = subject.reading is None and bool(page.of("unknown", "context", "reference"))
    shown = len(page.answers)
    if subject.reading is None and shown < subject.several and page.of("answer") and _looped(subject):
        return  # one placeholder within a loop shows them all
    if shown < subject.several and not unsure:
        details = (str(shown), str(subject.several))
        yield Found("answer-not-shown", subject.at(page.slots[0].at if page.slots else 0), details)


def _looped(subject: Subject) -> bool:
    return any("{% for" in source.text or "{{#" in source.text for source in subject.sources.files)


def question(subject: Subject) -> Iterator[Found]:
    """Find a prompt of a judge without a place for the question; a prompt without a judge.toml may need none."""
    if subject.reading is not None and not subject.page.of("question", "unknown", "context"):
        yield Found("question-not-shown", Place(subject.sources.files[0].file, 1))


def late(subject: Subject) -> Iterator[Found]:
    """Find a long text that is the same for all cases, and stands after a text of the case."""
    slots, prose = subject.page.slots, subject.page.prose
    if not slots or len(prose[: slots[0].at].strip()) >= CACHED:
        return
    if (late := len(prose[slots[0].at :].strip())) >= CACHED:
        yield Found("shared-text-late", subject.at(slots[0].at), (f"{late:,}",))


def leftovers(subject: Subject) -> Iterator[Found]:
    """Find placeholders that nothing fills."""
    for one in subject.leftovers:
        yield Found("placeholder-left", subject.at(one.at), (one.written, one.fix))


def unknown(subject: Subject) -> Iterator[Found]:
    """Find placeholders whose names say nothing, where one of them must be an answer."""
    if len(subject.page.answers) >= (1 if _looped(subject) else subject.several):
        return
    for slot in {slot.written: slot for slot in subject.page.of("unknown")}.values():
        name = re.sub(r"\W*(\w[\w.]*).*", r"\1", slot.written, flags=re.DOTALL)
        yield Found("placeholder-unknown", subject.at(slot.at), (slot.written, name))


def reference(subject: Subject) -> Iterator[Found]:
    """Find a prompt that speaks of a reference which it does not show."""
    page = subject.page
    if page.of("reference", "unknown", "context"):
        return
    for found in _REFERENCE.finditer(page.prose):
        start = max(0, found.start() - 60)
        sentence = re.split(r"[.!?\n]", page.prose[start : found.start(1)])[-1]
        if _MAKES.search(page.prose[start : found.start()]) or _OPTIONAL.search(sentence):
            continue
        yield Found("reference-not-shown", subject.at(found.start()), (found[1].lower(),))
        return


def parts(subject: Subject) -> Iterator[Found]:
    """Find parts of the cases that no judge of this prompt sees."""
    for one in subject.unseen:
        yield Found("part-not-shown", Place(subject.sources.files[0].file, 1), (one.part, str(one.cases), str(one.of)))


def room(subject: Subject) -> Iterator[Found]:
    """Find cases that the model's context does not hold."""
    for one in subject.rooms:
        needed = round(one.characters / CHARACTERS_A_TOKEN) + one.reply
        if needed > one.window:
            details = (
                f"case {one.case}" if one.case else "the prompt alone",
                f"{needed:,}",
                f"{one.window:,}",
                f"{CHARACTERS_A_TOKEN:g}",
            )
            yield Found("too-long", subject.sources.place_of_key("model"), details)


CHARACTERS_A_TOKEN: Final = 5.0
"""More than English text has on average (about 4.3), so that what does not fit by this count does not fit."""
