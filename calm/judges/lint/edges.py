"""The text around a slot: what shows where its text begins, and what shows where it ends."""

from __future__ import annotations

import re
from typing import Final

from calm.judges.lint.page import Page, Slot

_FENCE: Final = re.compile(
    r"```\w*|\"\"\"|'''|[-=*_#~]{3,}|[-=*_~]{2}$|</?[A-Za-z_|][^<>\n]{0,80}>|<\|"
    r"|\[/?[^\W\d_][^\[\]\n]{0,80}\]|/[A-Z ]{3,40}/"
)
"""What nobody takes for a sentence: a fence, a rule, a tag, words in brackets."""
_HEADING: Final = re.compile(
    r"\s{0,8}(?:#{1,6}\s|\*\*[^*\n]{1,80}\*\*|[-*]\s+\*\*|[^\n]{1,60}:\s*$|END\b|DATA\b"
    r"|(?:[-*]\s+)?[\"'(\[]?[A-Z0-9][^\n.?!:]{0,60}\)?[\"'\]]?\s?:(?:\s+\S+){0,5}\s*$)"
)
"""A line that names what follows."""
_INSTRUCTS: Final = re.compile(
    r"\s*(?:please|now|reply|respond|answer(?= with| in\b| only| using| by)|give|output|return|write|say|choose"
    r"|decide|rate|provide|finish|state|evaluate|compare|select|which|is|does|do|based|after|before|considering|analy[sz]e|you|your"
    r"|the (?:rating|score|verdict))\b(?:\W+\w+){3}",
    re.IGNORECASE,
)
"""The beginning of a sentence that says what to do, even if it has a colon."""
_ENDS_OPEN: Final = re.compile(r"(?:[:=<>|\]\"'`#*~-]|\)\s?)\s*\Z")
WHOLE: Final = "the message"
"""What begins or ends a text that stands alone at that end of its message."""
_QUOTES: Final = "\"'`“”‘’«»"


def opening(page: Page, slot: Slot) -> str:
    """Return what shows where the text of a slot begins; empty if nothing does."""
    before = page.before(slot)
    if not before.strip():
        return WHOLE if page.turn(slot.at).start == slot.at - len(before) else ""
    line = before.rsplit("\n", 1)[-1]
    above = before.rstrip().rsplit("\n", 1)[-1].strip()
    if line.strip():
        return above if _ENDS_OPEN.search(line) or _FENCE.search(line) else ""
    return above if _ENDS_OPEN.search(above) or _FENCE.search(above) or _HEADING.match(above) else ""


def closing(page: Page, slot: Slot) -> str:
    """Return what shows where the text of a slot ends, up to the end of its line; empty if nothing does."""
    after = page.after(slot)
    line = after.split("\n", 1)[0]
    opened = page.before(slot).rsplit("\n", 1)[-1].rstrip()[-1:]
    if line.strip():
        found = line.strip()
        quoted = found[0] in _QUOTES and opened in tuple(_QUOTES)
        listed = found[0] in "}]," and "{" in page.text[slice(*page.line(slot.at))]
        if quoted or listed or _FENCE.match(found) or (opened == "<" and found[0] == ">"):
            return line.rstrip()
        return ""
    rest = after.lstrip()
    if not rest:
        return WHOLE if page.turn(slot.at).stop == slot.at + 1 + len(after) else ""
    below = rest.split("\n", 1)[0].rstrip()
    if is_delimiter(below):
        return after[: len(after) - len(rest)] + below
    return ""


def is_delimiter(line: str) -> bool:
    """Return whether a line is a delimiter or a heading, and no sentence."""
    if _FENCE.match(line.strip()):
        return True
    return bool(_HEADING.match(line)) and not _INSTRUCTS.match(line)
