"""Contradiction: whether a text says otherwise than another one, in a way that a program can tell."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calm.core.languages import language_of
from calm.perturbations.facts import NUMBER, counted, unmarked
from calm.perturbations.prose import sentences

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
    """Return the numbers of a text, each with what it counts."""
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
    """Return the names in a text, each with the words before and behind it."""
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
