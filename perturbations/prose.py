"""Prose: add to a text, cut from it or change it in place; its code, numbers and final answer stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from calm import Treated
from calm.core.checks import verify
from calm.core.languages import ENGLISH, language_of
from calm.core.markup import COMPLETE, ITEM, closed, fenced, in_case, is_prose, opened, without_code
from calm.perturbations.cues import on_better

NEVER = re.compile(r"(?!)")
"""The trigger of a module whose edits add nothing to a text."""

_MARK = re.compile(r"\$\$?|\\[()]")
_MARK_BUT_DOLLAR = re.compile(r"\\[()]")
_FORMULAS = {"$$": "$$", "\\[": "\\]", "\\begin": "\\end"}


def stock(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a trigger: a pattern that finds any of some stock phrases, in any letter case."""
    alike: dict[str, list[str]] = {}  # by their first letter, so that a place in a text is not tried with each of them
    for phrase in phrases:
        alike.setdefault(phrase[0].lower(), []).append(re.escape(phrase[1:]))
    return re.compile("|".join(f"{re.escape(f)}(?:{'|'.join(rest)})" for f, rest in alike.items()), re.IGNORECASE)


def append(case: Treated, addition: str, *, block: bool = False) -> Treated | None:
    """Return the case with prose added behind the treated answer; None if its text is blank or ends inside code."""
    added = closed(case[case.target].text, addition, block=block)
    return None if added is None else case.edit(case.target, lambda _: added)


def prepend(case: Treated, opening: str) -> Treated | None:
    """Return the case with prose put before the treated answer; None if its text is blank."""
    added = opened(case[case.target].text, opening)
    return None if added is None else case.edit(case.target, lambda _: added)


def items(text: str) -> list[tuple[int, int, int]]:
    """Return the list items outside code, each by the offsets of its line, of its words and of its end."""
    return [
        (start, start + marker.end(), start + len(line.rstrip()))
        for start, line in _lines(text)
        if (marker := ITEM.match(line))
    ]


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the complete sentences of prose and of list items by offset; none of code, headings, tables, formulas."""
    found: list[tuple[int, int]] = []
    language = ENGLISH if text.isascii() else language_of(text) or ENGLISH
    for first, last in _blocks(text):
        start = end = first
        open_marks = 0
        block = text[first:last].replace("\n", " ")
        marked = any(mark in block for mark in "`$\\")
        marks = _MARK if block.count("$") % 2 == 0 else _MARK_BUT_DOLLAR
        for piece in _pieces(block, language):
            end += len(piece)
            if marked:
                open_marks ^= piece.count("`") % 2 | len(marks.findall(piece)) % 2 << 1
            if open_marks:  # no sentence ends inside inline code or a formula; a dollar alone is a price
                continue
            sentence = text[start:end]
            if COMPLETE.search(sentence.rstrip()):
                found.append((end - len(sentence.lstrip()), start + len(sentence.rstrip())))
            start = end
    return found


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return the paragraphs and list items by offset, an item without its marker."""
    found: list[tuple[int, int]] = []
    for start, line in _lines(text):
        end = start + len(line)
        if marker := ITEM.match(line):
            found.append((start + marker.end(), end))
        elif is_prose(line) and found and found[-1][1] == start - 1:
            found[-1] = (found[-1][0], end)
        elif is_prose(line):
            found.append((start, end))
    return found


def _pieces(line: str, language: str) -> list[str]:
    from sentencex import segment

    try:
        pieces = [str(piece) for piece in segment(language, line)]
    except UnicodeEncodeError:  # half a surrogate pair, which is no text that can be split
        return [line]
    return pieces if "".join(pieces) == line else [line]


def _lines(text: str) -> list[tuple[int, str]]:
    lines = text.split("\n")
    code, _ = fenced(lines)
    found, offset, closing = [], 0, ""
    for line, inside in zip(lines, code, strict=True):
        opening = next((mark for mark in _FORMULAS if line.lstrip().startswith(mark)), "")
        if closing:
            closing = "" if closing in line else closing
        elif opening and not inside:
            closing = _FORMULAS[opening] if _FORMULAS[opening] not in line.lstrip()[2:] else ""
        elif not inside:
            found.append((offset, line))
        offset += len(line) + 1
    return found


NUMBER = re.compile(r"\d[\d.,:]*\d|\d")
"""A number as it stands in a text, with its points, commas and colons."""

_MARKER = re.compile(r"^[ \t]*(?:[0-9]+[.)](?=\s|$)|#{1,6}[ \t][^\n]*)", re.MULTILINE)
_NEXT = re.compile(r"[ \t]*%|[ \t\u00a0-]?([^\W\d_]+)")
_BEFORE = re.compile(r"([^\W_]+|[^\w\s])[\s*_\"'(]*$")
_NEAR = 40
"""Characters before a number in which the word or sign before it is looked for."""


def unmarked(text: str) -> str:
    """Return the text with blanks for its headings and the numbers of its list items; every offset stays."""
    return _MARKER.sub(lambda found: " " * len(found[0]), text)


def counted(text: str, start: int, end: int) -> str:
    """
    Return what a number of a text counts, in small letters: the word right behind it, else the word before it.

    >>> counted("We have 2 Kids.", 8, 9), counted("It was in 1871.", 10, 14), counted("7 + 2 = 9", 8, 9)
    ('kids', 'in', '=')
    """
    if behind := _NEXT.match(text, end):
        return (behind[1] or "%").casefold()
    before = _BEFORE.search(text, max(0, start - _NEAR), start)
    return "" if before is None else before[1].casefold()


_TOKEN = re.compile(r"[^\W_]{4,}|(?<!\w)[^\W_]*\d[^\W_]*(?:[-:.,/][^\W_]+)*")
_COMMON = frozenset(
    (
        *("about", "also", "been", "could", "does", "each", "every", "from", "have", "here", "into", "just", "like"),
        *("many", "more", "most", "much", "must", "need", "only", "other", "over", "please", "same", "should", "some"),
        *("such", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "very", "want"),
        *("were", "what", "when", "where", "which", "while", "will", "with", "would", "your"),
    )
)
"""Words that any sentence may share with any case."""
_NUMBER_WORTH = 3
_MOST_TRIED = 20


@dataclass(frozen=True, slots=True)
class Known:
    """
    What is known of the answer that is harmed.

    `right` holds the sentences that are known to be right, on one line each; None where no more is known of some.
    `beside` is what the case says beside the answer. `checks` are those of the criteria that the answer meets.
    """

    right: frozenset[str] | None = None
    beside: str = ""
    checks: tuple[Mapping[str, object], ...] = ()


NOTHING: Final = Known()


def known_of(case: Treated) -> tuple[str, Known]:
    """Return the treated answer, and what is known of it."""
    answer = case[case.target]
    said = [case.question, case.reference or "", *(t.text for t in case.turns), *(p.text for p in case.context)]
    met = case.met.get(answer.id, {})
    checks = tuple(c.check for c in case.criteria if c.check is not None and met.get(c.id) and c.points > 0)
    return answer.text, Known(_right(case, answer.text), "\n".join(said), checks)


def _right(case: Treated, text: str) -> frozenset[str] | None:
    """Return what a graded answer beside a reference says as that does, if it says any of it; None of another one."""
    if len(case.answers) > 1 or case.criteria or not case.reference:  # criteria are verified themselves
        return None
    reference = on_line(case.reference)
    said = (on_line(text[start:end]) for start, end in sentences(text))
    return frozenset(sentence for sentence in said if sentence in reference) or None


def on_line(text: str) -> str:
    """Return a text without its line breaks and repeated spaces."""
    return " ".join(text.split())


def unharmed(text: str, known: Known) -> str:
    """Return the text with blanks for its code and for what may be wrong already; every offset stays."""
    free = without_code(text)
    if known.right is None:
        return free
    parts, at = [], 0
    for start, end in sentences(text):
        kept = free[start:end] if on_line(text[start:end]) in known.right else " " * (end - start)
        parts += [" " * (start - at), kept]
        at = end
    return "".join([*parts, " " * (len(text) - at)])


def weights(text: str, spans: Sequence[tuple[int, int]], known: Known) -> list[tuple[bool, int]]:
    """
    Return for each span of a text whether a check fails without it, and how much it says of what the case is about.

    A number, or a sign with a digit, counts as much as three words. Checks are tried on the spans that say most.
    """
    topic = _tokens(known.beside)
    shares = [_shared(text[start:end], topic) for start, end in spans]
    tried = sorted(range(len(spans)), key=lambda i: -shares[i])[:_MOST_TRIED] if known.checks else []
    needed = {i for i in tried if _fails(text[: spans[i][0]] + text[spans[i][1] :], known)}
    return [(i in needed, share) for i, share in enumerate(shares)]


@lru_cache(maxsize=1)
def _tokens(said: str) -> frozenset[str]:
    """Return the words and numbers of a text; of one case they are asked for again and again."""
    return frozenset(_TOKEN.findall(said.casefold()))


def _shared(said: str, topic: frozenset[str]) -> int:
    found = topic.intersection(_TOKEN.findall(said.casefold()))
    return sum(_NUMBER_WORTH if any(map(str.isdigit, token)) else token not in _COMMON for token in found)


def _fails(text: str, known: Known) -> bool:
    return not all(verify(check, text) for check in known.checks)


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


_NAME = re.compile(r"(?<=[^\W_,;:] )[A-Z][\w'’-]{2,}")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_YES = re.compile(r"\W*(?:yes|ja|oui|sí|sim|да)(?=\W|$)", re.IGNORECASE)
_NO = re.compile(r"\W*(?:no|nein|nee|non|não|нет)(?=[,.;:!]|\W*$)", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot)\b|n['’]t\b", re.IGNORECASE)
_CONTENT = re.compile(r"[^\W_]{3,}")
_LITTLE = frozenset({"", "the", "a", "an", "and", "or", "der", "die", "das", "le", "la", "el"})
"""Words beside a name or number that say nothing of what it is."""
_ALIKE, _LEAST = 0.75, 3
"""Sentences are the same but for a denial if they share so large a part of their words, and have so many."""
_MOST = 4000
"""Characters of a text that are read."""
_OF_NOUNS = "de"
"""In this language each noun begins like a name."""


def contradicts(text: str, right: str, reference: str, *, asked: str = "") -> bool:
    """
    Return whether a text says otherwise than another one that agrees with a reference.

    It does if it gives another number of the same things, another name in the same place and none of those that both
    others give, the other one of yes and no, or a sentence that one of the two denies. What the question says, too,
    does not count. A text that only says less, or more, or the same in other words does not contradict. Of a long text
    the beginning is read.
    """
    text, right, reference = (one[:_MOST] for one in (text, right, reference))
    return (
        _other_number(text, right, reference, asked)
        or _other_name(text, right, reference, asked)
        or bool((_YES.match(text) and _NO.match(right)) or (_NO.match(text) and _YES.match(right)))
        or _denied(text, right, reference)
    )


def _other_number(text: str, right: str, reference: str, asked: str) -> bool:
    said, known, agreed = _numbers(text), _numbers(reference), _numbers(right)
    numbers = {number for number, _ in said}
    both = {number for number, _ in known} & {number for number, _ in agreed} - numbers
    elsewhere = {number for number, _ in known | agreed | _numbers(asked)}
    counts = {of for number, of in known | agreed if number in both}
    return bool((counts & {of for number, of in said if number not in elsewhere}) - _LITTLE)


def _numbers(text: str) -> set[tuple[str, str]]:
    free = unmarked(text)
    return {(one[0], counted(free, one.start(), one.end())) for one in NUMBER.finditer(free)}


def _other_name(text: str, right: str, reference: str, asked: str) -> bool:
    if language_of(reference) == _OF_NOUNS:
        return False
    names = {name for one in (text, right, reference) for name in _NAME.findall(one)} - set(_WORD.findall(asked))
    said, known, agreed = (_named(one, names) for one in (text, reference, right))
    both = known.keys() & agreed.keys()
    if both & said.keys():
        return False
    places = _together([*(known[name] for name in both), *(agreed[name] for name in both)])
    others = _together(said[name] for name in said.keys() - known.keys() - agreed.keys())
    return bool(places & others)


def _named(text: str, names: set[str]) -> dict[str, set[tuple[str, str]]]:
    words = _WORD.findall(text)
    found: dict[str, set[tuple[str, str]]] = {}
    for before, name, behind in zip(["", *words], words, [*words[1:], ""], strict=False):
        if name in names:
            near = {("before", before.casefold()), ("behind", behind.casefold())}
            found.setdefault(name, set()).update(one for one in near if one[1] not in _LITTLE)
    return found


def _together(sets: Iterable[set[tuple[str, str]]]) -> set[tuple[str, str]]:
    return {one for several in sets for one in several}


def _denied(text: str, right: str, reference: str) -> bool:
    if not (_NOT.search(text) or _NOT.search(right)):
        return False
    said, agreed, known = map(_claims, (text, right, reference))
    return any(
        _alike(words, others) and any(_alike(others, those) for those in known[held])
        for held in (True, False)
        for words in said[not held]
        for others in agreed[held]
    )


def _claims(text: str) -> dict[bool, set[frozenset[str]]]:
    """Return the words of each sentence without its denials, by whether these deny it."""
    found: dict[bool, set[frozenset[str]]] = {True: set(), False: set()}
    for start, end in sentences(text):
        sentence = text[start:end]
        words = frozenset(word.casefold() for word in _CONTENT.findall(_NOT.sub(" ", sentence)))
        if len(words) >= _LEAST:
            found[len(_NOT.findall(sentence)) % 2 == 1].add(words)
    return found


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= _ALIKE * max(len(words), len(others))
