"""Markup: which parts of a text are code, what may be added before or behind it, and where two texts are alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

from calm.core.case import Case

ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])[ \t]+(?=\S)")
"""The marker of a list item, at the start of its line."""
COMPLETE = re.compile(r"[.!?…。！？؟۔।]['\")\]*_»”’）」』]*$")
"""How a complete sentence ends."""

_WIDE = re.compile(r"[。！？：、，；）」』》]")
"""A mark of Chinese or Japanese, which needs no space behind it."""
_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_OTHER = re.compile(r" {0,3}(?:#{1,6}\s|[|>$\\<]|\*\*[^*]+\*\*\s*$|[-*_=]{3})| {4}|\t")


def closed(text: str, addition: str, *, block: bool = False) -> str | None:
    """
    Return a text with prose added behind it; None if it is blank or ends inside code.

    The addition goes on the last line if that is prose and ends in a full stop, else, or as a `block`, apart from it.
    """
    if not text.strip() or fenced(text.split("\n"))[1]:
        return None
    body = text.rstrip()
    last = body.rpartition("\n")[2]
    inline = not block and is_prose(last) and COMPLETE.search(last[-40:]) is not None
    return f"{body}{_gap(body) if inline else chr(10) * 2}{in_case(text, addition)}{text[len(body) :]}"


def opened(text: str, opening: str) -> str | None:
    """Return a text with prose put before it, on its first line if that is prose; None if it is blank."""
    if not text.strip():
        return None
    inline = not text[0].isspace() and is_prose(text.partition("\n")[0])
    return f"{in_case(text, opening)}{_gap(opening) if inline else chr(10) * 2}{text}"


def _gap(text: str) -> str:
    return "" if _WIDE.fullmatch(text[-1:]) else " "


def in_case(text: str, addition: str) -> str:
    """Lower an addition to a text without capital letters, which may have been asked for."""
    return addition.lower() if text.islower() else addition


def called(case: Case, answer_id: str) -> str:
    """Return what a note calls an answer: by its label where there are several."""
    ids = [answer.id for answer in case.shown]
    return f"answer {case.slot_labels[ids.index(answer_id)]}" if len(ids) > 1 else "this answer"


def fenced(lines: Sequence[str]) -> tuple[list[bool], bool]:
    """Return for each line whether it belongs to a code block, and whether the last block is still open."""
    inside, fence = [], ""
    for line in lines:
        mark = _FENCE.match(line)
        inside.append(bool(fence or mark))
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
    return inside, bool(fence)


def is_prose(line: str) -> bool:
    """Return whether a line is prose: no heading, table, list item, formula, fence or indented code, and not blank."""
    return bool(line.strip()) and not (_OTHER.match(line) or ITEM.match(line) or _FENCE.match(line))


BULLET: Final = re.compile(r"^([ \t]*)[-*+•][ \t]+", re.MULTILINE)
"""The marker of an item of a list without numbers."""

_INLINE = re.compile(r"`[^`\n]+`|https?://\S+")
_CODE = ("`", "~~~", "://")
"""Without any of these a text has no code and no address."""
_RULE = re.compile(r"^[ \t]*(?:\|?[ \t]*:?-{3,}:?[ \t]*\|[-:| \t]*|[-*_]{3,}[ \t]*)$")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+")
_QUOTE = re.compile(r"^ {0,3}>[ \t]?")
_STRONG = re.compile(r"(?<![0-9A-Za-z*_])(\*{2,3}|__(?=[^_\n]* ))(?=[^\s*_])([^*_\n]+)(?<=[^\s*_])\1(?![0-9A-Za-z*_])")
_TAG = re.compile(r"</?(?:a|b|br|div|em|h[1-6]|hr|i|li|ol|p|span|strong|table|td|th|tr|u|ul)\b[^<>\n]*>", re.IGNORECASE)

_EMPHASIS = re.compile(r"(?<![0-9A-Za-z*])\*(?=[^\s*])([^*\n]+)(?<=[^\s*])\*(?![0-9A-Za-z*])")
_SIGN = r"[\u2600-\u27bf\u2b50\U0001f300-\U0001faff]\ufe0f?"
_ROW_OF_SIGNS = re.compile(rf"^[ \t]*{_SIGN}(?:[ \t]*{_SIGN})+[ \t]*")
_HEADING_SIGN = re.compile(rf"^( {{0,3}}#{{1,6}}[ \t]+){_SIGN}[ \t]*")
_DASH = re.compile(r"(?<=[^\W\d_])[ \t]*—[ \t]*(?=[^\W\d_])")
_DASH_BULLET = re.compile(r"^[ \t]*— ")
_CURLED = str.maketrans("“”„‘’‚", "\"\"\"'''")
_CONTAINER = re.compile(
    r"\s*(?:(?P<fence>`{3,}|~{3,})(?:text|txt|plain|plaintext|markdown|md)[ \t]*\n(?P<fenced>.*)\n(?P=fence)"
    r"|\\begin\{(?P<kind>quote|quotation|center)\}[ \t]*\n(?P<quoted>.*)\n\\end\{(?P=kind)\})\s*",
    re.DOTALL,
)
_KEYS = frozenset({"answer", "content", "message", "output", "reply", "response", "text"})
"""Names that say of a value only that it is the text."""


def without_code(text: str) -> str:
    """Return the text with blanks for its code blocks, inline code and addresses; every offset stays."""
    if not any(mark in text for mark in _CODE):
        return text
    lines = text.split("\n")
    code, _ = fenced(lines)
    bare = "\n".join(" " * len(line) if inside else line for line, inside in zip(lines, code, strict=True))
    return _INLINE.sub(lambda found: " " * len(found[0]), bare)


def without_markup(text: str) -> str:
    """
    Return the text without headings, bullets, bold, quotes, tables and tags.

    Numbers of list items, code, formulas, and lines with any of them stay as they are.

    >>> without_markup("* **Never** mix 2**3**4 and __init__")
    'Never mix 2**3**4 and __init__'
    """
    return _each_free_line(text, lambda line: None if _RULE.match(line) else _plain_line(line))


def plain_words(text: str) -> str:
    """
    Return the words of a text without its layout: what it says stays, and so does its code.

    Beyond `without_markup`, no emphasis, no rows of emoji and none before a heading, no curled quotation marks, no long
    dashes; of a container around the whole text (a fence marked as text, a LaTeX quotation, a JSON object with one
    text), its content. A text of nothing but layout stays as it is.

    >>> plain_words("✅ ✨ It is “fine” — *really*: 2 * 3 * 4.")
    'It is "fine" — really: 2 * 3 * 4.'
    """
    inside = _content(text)
    plain = _each_free_line(without_markup(_each_free_line(inside, _bare_line)), _plain_marks)
    return plain if plain.strip() else text


def _each_free_line(text: str, change: Callable[[str], str | None]) -> str:
    """Return the text with each line changed that has no code and no formula; None leaves a line out."""
    kept = []
    for line, free in zip(text.split("\n"), without_code(text).split("\n"), strict=True):
        changed = line if line != free or "$" in line or "\\" in line else change(line)
        if changed is not None:
            kept.append(changed)
    return "\n".join(kept)


def _plain_line(line: str) -> str:
    line = BULLET.sub(r"\1", _QUOTE.sub("", _HEADING.sub("", line)))
    if line.lstrip().startswith("|"):
        line = ", ".join(cell.strip() for cell in line.strip().strip("|").split("|"))
    return _TAG.sub("", _STRONG.sub(r"\2", line))


def _bare_line(line: str) -> str | None:
    """Return a line without the emoji that decorate it, of a line of nothing else nothing."""
    bare = _HEADING_SIGN.sub(r"\1", _ROW_OF_SIGNS.sub("", line))
    return bare if bare.strip() or not line.strip() else None


def _plain_marks(line: str) -> str:
    line = _DASH.sub(" - ", _DASH_BULLET.sub("", line))
    return _EMPHASIS.sub(r"\1", line).translate(_CURLED)


def _content(text: str) -> str:
    """Return what a container around a whole text holds; the text if it is in none."""
    if found := _CONTAINER.fullmatch(text):
        return found["fenced"] if found["fence"] else found["quoted"]
    if not text.lstrip().startswith("{"):
        return text
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(held, dict) and len(held) == 1 and (key := next(iter(held))).lower() in _KEYS:
        return held[key] if isinstance(held[key], str) else text
    return text


WORD: Final = 80
"""Characters of the longest word that is kept in one piece."""


def shared(a: str, b: str) -> int:
    """
    Return how many characters the common beginning of two texts has, without a word that they share only in part.

    A very long word may be split.

    >>> shared("the sea is deep", "the seal is grey"), shared("same", "same")
    (4, 4)
    """
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    count = low
    split = any(re.match(r"\w", text[count : count + 1]) for text in (a, b))
    word = re.search(r"\w*\Z", a[max(0, count - WORD) : count])
    return count - len(word.group()) if split and word else count
