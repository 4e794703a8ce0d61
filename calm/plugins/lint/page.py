"""A prompt as the linter looks at it: one text, in which each slot is a single sign, and its lines in the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

Role: TypeAlias = Literal[
    "question", "answer", "reference", "context", "criteria", "name", "note", "draft", "example", "unknown"
]
"""What stands in a slot."""

FIRST_SIGN: Final = 0xE000
MOST_SLOTS: Final = 6_000
"""Signs of the private use area, which mean nothing in a prompt; see `without_signs`."""
SIGNS: Final = f"{chr(FIRST_SIGN)}-{chr(FIRST_SIGN + MOST_SLOTS)}"
"""The signs of slots, for a class of a regular expression."""
_SIGN: Final = re.compile(f"[{SIGNS}]")
STRANGE: Final = "\N{REPLACEMENT CHARACTER}"
"""What stands in the page for such a sign that the prompt itself holds."""
BETWEEN: Final = "\n\n"
"""What stands between two turns."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that a case fills: role, number of the answer (from 0), the place of its sign, how it is written."""

    role: Role
    number: int
    at: int
    written: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the prompt: from `start` to `stop` in the page's text; `line` is where it begins in its file."""

    role: str
    start: int
    stop: int
    line: int | None = None


@dataclass(frozen=True)
class Page:
    """A prompt with signs for slots."""

    text: str
    slots: tuple[Slot, ...]
    turns: tuple[Turn, ...]

    def of(self, *roles: Role) -> list[Slot]:
        """Return the slots of some roles, in their order."""
        return [slot for slot in self.slots if slot.role in roles]

    @cached_property
    def answers(self) -> tuple[tuple[Slot, ...], ...]:
        """The slots of each answer, the answer that is shown first at the head."""
        numbers = dict.fromkeys(slot.number for slot in self.of("answer"))
        return tuple(tuple(s for s in self.of("answer") if s.number == number) for number in numbers)

    @cached_property
    def prose(self) -> str:
        """The text of the prompt alone: a slot is one space."""
        return _SIGN.sub(" ", self.text)

    def line(self, at: int) -> tuple[int, int]:
        """Return where the line with a place begins and ends."""
        stop = self.text.find("\n", at)
        return self.text.rfind("\n", 0, at) + 1, len(self.text) if stop < 0 else stop

    def turn(self, at: int) -> Turn:
        """Return the turn with a place."""
        return next((turn for turn in self.turns if at <= turn.stop), self.turns[-1])

    def ahead(self, slot: Slot) -> int:
        """Return the place of the last sign before a slot that is no space; the slot's own if there is none."""
        text = self.text[: slot.at].rstrip()
        return max(len(text) - 1, 0) if text else slot.at

    def before(self, slot: Slot) -> str:
        """Return the text from the slot before it, or the beginning of its turn, to a slot."""
        start = max([self.turn(slot.at).start, *(s.at + 1 for s in self.slots if s.at < slot.at)])
        return self.text[start : slot.at]

    def after(self, slot: Slot) -> str:
        """Return the text from a slot to the next slot, or to the end of its turn."""
        stop = min([self.turn(slot.at).stop, *(s.at for s in self.slots if s.at > slot.at)])
        return self.text[slot.at + 1 : stop]


def without_signs(text: str) -> str:
    """Return a text of the same length in which no character passes for a slot."""
    return _SIGN.sub(STRANGE, text)


def page_of(
    turns: Sequence[tuple[str, str]], slots: Iterable[tuple[Role, int, str]], lines: Sequence[int] = ()
) -> Page:
    """
    Return the page of some turns, whose texts hold the sign of each slot in the order of `slots`.

    `lines` are those of the file where the turns begin, if they stand in it as they are.
    """
    known = list(slots)
    text, made = "", []
    for place, (role, said) in enumerate(turns):
        start = len(text) + (len(BETWEEN) if text else 0)
        text = f"{text}{BETWEEN if text else ''}{said}"
        made.append(Turn(role, start, len(text), lines[place] if lines else None))
    found = []
    for sign in _SIGN.finditer(text):
        role_of, number, written = known[ord(sign[0]) - FIRST_SIGN]
        found.append(Slot(role_of, number, sign.start(), written))
    return Page(text, tuple(found), tuple(made))


def sign(number: int) -> str:
    """Return the sign of a slot."""
    return chr(FIRST_SIGN + min(number, MOST_SLOTS))


SHORTEST: Final = 4
"""Characters that a piece of a line must have to be looked for."""
_LITERALS: Final = re.compile(rf"[^{SIGNS}{STRANGE}\n]+")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; lines count from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Source:
    """A file and its text."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a prompt: its templates first, the judge.toml that names them last."""

    files: tuple[Source, ...]

    def place(self, line: str, *, words: tuple[str, ...] = ()) -> Place:
        """Return the place of a line that is sent: its longest piece, else any of `words`, else the beginning."""
        pieces = sorted((piece.strip() for piece in _LITERALS.findall(line)), key=len, reverse=True)
        for wanted in (*[p for p in pieces if len(p) >= SHORTEST], *words):
            for source in self.files:
                at = source.text.find(wanted)
                if at >= 0:
                    return Place(source.file, source.text.count("\n", 0, at) + 1)
        return Place(self.files[0].file, 1)

    def place_of_key(self, key: str) -> Place:
        """Return the line of judge.toml that sets a key; its first line if none does."""
        last = self.files[-1]
        found = re.search(rf"^\s*{re.escape(key)}\s*=", last.text, re.MULTILINE)
        return Place(last.file, 1 if found is None else last.text.count("\n", 0, found.end()) + 1)


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
    r"\s*(?:please|now|reply|respond|answer(?= with| in\b| only| using| by| your)|give|output|return|write|say|choose"
    r"|decide|rate|provide|finish|state|evaluate|compare|select|which|is|does|do|based|after|before|considering|analy[sz]e|you|your"
    r"|the (?:rating|score|verdict)|conclude|put|print|produce|emit|submit|assign|add|append|include|insert|use|place"
    r"|make|enclose|wrap|indicate|express|fill|complete|keep|follow|let|ensure|mention|explain|assess|consider|think"
    r"|pick|determine|identify|classify|begin|start|always|never|don['’]t|only|then|finally|lastly"
    r"|first(?=,| (?:write|give))|(?:end|close)(?= (?:with|by|in|on|your|the|each|it|this)\b)"
    r"|(?:score|grade|judge|report|format|mark|label|name|rank|present|show|type|check)"
    r"(?= (?:with|your|it|each|every|the|an?|one|only|both|how|whether|this|these|them)\b))\b(?:\W+\w+){3}",
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
