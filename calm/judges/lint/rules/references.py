"""What the prompt says of the reference that it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from calm.judges.lint.edges import is_delimiter
from calm.judges.lint.subject import Found, Subject

_NAMED: Final = re.compile(
    r"\b(?:references?|ground[- ]truth|gold(?:en)?|expected|expert|ideal|(?:correct|true|right|model|target) "
    r"(?:answer|response|output|solution|translation)|solution|correct_answer|target)\b",
    re.IGNORECASE,
)
_CORRECT: Final = re.compile(r"\b(?:correct\w*|accura\w*|factual\w*|facts?)\b", re.IGNORECASE)
_OF_FORM: Final = re.compile(
    r"\b(?:gramma\w*|spelling|syntax|punctuation|orthograph\w*|formatting|tone)\b"
    r"(?:(?!\b(?:and|or|whether|if)\b)[^.,;:!?\n]){0,60}\Z",
    re.IGNORECASE,
)
"""What needs no reference to be correct."""
SENTENCE: Final = 6
"""Words of a line that says something of the reference, and is not only its heading."""


def rule_of_use(subject: Subject) -> Iterator[Found]:
    """
    Find a reference without a rule of use.

    A prompt that names it in a sentence says how to use it; one that asks whether an answer is correct, or that shows
    the criteria by which alone it judges, makes it plain.
    """
    slots = subject.page.of("reference")
    if not slots or subject.page.of("criteria") or _asks_for_truth(subject.page.prose):
        return
    lines = subject.page.prose.split("\n")
    if any(_NAMED.search(line) and len(line.split()) >= SENTENCE and not is_delimiter(line) for line in lines):
        return
    yield Found("reference-without-rule", subject.at(slots[0].at))


def _asks_for_truth(prose: str) -> bool:
    return any(not _OF_FORM.search(prose[: found.start()]) for found in _CORRECT.finditer(prose))
