"""Passages: change an answer in place, and leave alone its code, formulas, numbers and final answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise

from calm import Treated
from calm.core.additions import in_case
from calm.core.markup import without_code
from calm.perturbations.cues import on_better
from calm.perturbations.prose import sentences

_TAG = re.compile(r"<[^<>\n]*>")
_FORMULA_LINE = re.compile(r"^[^\n$\\]*[$\\][^\n]*$", re.MULTILINE)
_DISPLAYED = ("$$", "\\[", "\\begin")


def on_stronger(case: Treated) -> Treated | None:
    """Return the case with its better answer, or its only one, as the treated one; None if none is known as best."""
    return case if len(case.answers) == 1 else on_better(case)


def body(text: str) -> str:
    """
    Return the text with blanks for what may not be changed; every offset stays.

    That is code, addresses, tags, lines with a formula or a price, and the last sentence, which is the final answer.
    """
    if any(mark in text for mark in _DISPLAYED):  # a displayed formula may be of any shape
        return " " * len(text)
    free = without_code(text)
    for pattern in (_TAG, _FORMULA_LINE):
        free = pattern.sub(lambda found: " " * len(found[0]), free)
    start = final(text)
    return free[:start] + " " * (len(text) - start)


def open_sentences(text: str) -> list[tuple[int, int]]:
    """Return the complete sentences by offset, none of a line with a formula between double dollars."""
    found = sentences(text)
    if "$$" not in text:
        return found
    return [(start, end) for start, end in found if "$$" not in _line_of(text, start)]


def _line_of(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : len(text) if end < 0 else end]


def final(text: str) -> int:
    """Return where the last sentence begins, or the last line if it is no complete sentence."""
    end = len(text.rstrip())
    line = text.rfind("\n", 0, end) + 1
    ends = sentences(text[line:end])
    return line + ends[-1][0] if ends and line + ends[-1][1] == end else line


def replaced(text: str, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> str:
    """Return the text with each match in its body changed."""
    parts, at = [], 0
    for found in pattern.finditer(body(text)):
        parts += [text[at : found.start()], change(found)]
        at = found.end()
    return "".join([*parts, text[at:]])


def reworded(case: Treated | None, change: Callable[[str], str]) -> Treated | None:
    """Return the case with the treated answer changed; None if there is no case, or nothing to change."""
    if case is None:
        return None
    before = case[case.target].text
    after = change(before)
    return None if after == before else case.edit(case.target, lambda _: after)


def like(old: str, new: str) -> str:
    """
    Return a word with the first letter's case of another.

    >>> like("Do", "don't"), like("do", "Don't")
    ("Don't", "don't")
    """
    return (new[0].upper() if old[0].isupper() else new[0].lower()) + new[1:]


def any_word(words: Iterable[str], *, flags: str = "") -> str:
    """
    Return a pattern of some words in lower case or with a capital; `flags` hold for what is behind the first letter.

    >>> re.findall(any_word(["do", "don't"]), "Don't undo it: do!")
    ["Don't", 'do']
    """
    # words by first letter, in both cases, and what stands before a word is looked at last: a search then skips to the
    # letters that any word begins with, where a flag or a look behind would stop it at each place
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        for first in (word[0], word[0].upper()):
            groups.setdefault(first, []).append(re.escape(word[1:]))
    rest = f"(?{flags}:" if flags else "(?:"
    any_of = "|".join(f"{first}(?<![\\w'’-]{first}){rest}{'|'.join(rests)})" for first, rests in groups.items())
    return f"(?:{any_of})(?![\\w'’-])"


def lexicon(pairs: dict[str, str], *, before: str = "") -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    """Return a pattern of some words (`before` what else), and what puts another in the place of each, in its case."""
    return re.compile(f"{any_word(pairs)}{before}"), lambda found: like(found[0], pairs[found[0].lower()])


def asides(case: Treated, said: str) -> Treated | None:
    """Return the case with words before the full stop of each statement of the treated answer but its last."""
    text = case[case.target].text
    spans = open_sentences(text)[:-1]
    stops = [end - 1 for _, end in spans if text[end - 1] == "." and text[end - 2 : end - 1].isalpha()]
    parts = [text[start:end] for start, end in pairwise([0, *stops, len(text)])]
    return reworded(case, lambda _: in_case(text, said).join(parts))
