"""
Make the cases in several languages, and check each by the rules of its own language.

The check knows nothing of how a case was drawn. It reads the question by the wording of the language, its numbers by
CLDR, works out each result anew, and holds the answers against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Final

from babel.numbers import format_currency, format_decimal, format_percent

from calm.cases.generate.languages import PARTS, drawn, languages, pair_of, wording
from calm.cases.generate.scores import gold
from calm.core.case import Case
from calm.core.languages import language_of
from calm.core.order import ITEM, LANGUAGE

ITEMS: Final = 60
SEED: Final = 20261
SCRIPTS: Final[Mapping[str, str]] = {
    "ru": r"\u0400-\u04ff",
    "zh": r"\u4e00-\u9fff",
    "ja": r"\u3040-\u30ff\u4e00-\u9fff",
    "ar": r"\u0600-\u06ff",
    "hi": r"\u0900-\u097f",
}
"""The letters of the languages that are not written in Latin ones."""
_SYMBOLS: Final = re.compile(r"\b(?:km|m)\b")
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_VALUE: Final = {"p": "money", "q": "money", "k": "share", "A": "name", "B": "name", "C": "name"}
_RESULT: Final = {"price": "money", "change": "money", "oldest": "name"}


def language_pairs(count: int, seed: int) -> list[dict[str, object]]:
    """Make so many items in each language, item by item."""
    return [
        pair_of(item, code, f"{code}-{item.number:03}", f"{item.number:03}")
        for item in islice(drawn(seed), count)
        for code in languages()
    ]


def faults(case: Case) -> Iterator[str]:
    """Yield what is wrong with a case: its script, its language, words of English, its numbers or its gold."""
    code = case.tags[LANGUAGE]
    if case.id != f"{code}-{case.tags[ITEM]}":
        yield f"the id {case.id} does not name the language {code} and the item {case.tags[ITEM]}"
    right = {answer.id: 0 for answer in case.answers}
    for text in (case.question, *(answer.text for answer in case.answers)):
        yield from _foreign(text, code)
    asked = _sentences(case.question, code, place=0)
    for answer in case.answers:
        said = _sentences(answer.text, code, place=1)
        if len(asked) != PARTS or [kind for kind, _ in asked] != [kind for kind, _ in said]:
            yield f"{answer.id}: the answer {answer.text!r} does not fit the question {case.question!r}"
            continue
        for (kind, given), (_, stated) in zip(asked, said, strict=True):
            if any(stated[name] != value for name, value in given.items() if name in stated):
                yield f"{answer.id}: {kind} repeats other values than it was given"
            right[answer.id] += stated["r"] == _solved(kind, given)
    for name, count in right.items():
        if (count == PARTS) != (name == case.better):
            yield f"{name}: {count} of {PARTS} results are right, and the better answer is {case.better}"
        if case.scores[name] != gold(count, PARTS):
            yield f"{name}: {count} of {PARTS} results are right, and its grade is {case.scores[name]:g}"


def _foreign(text: str, code: str) -> Iterator[str]:
    """Yield why a text is not in the script or the language of a case."""
    if code in SCRIPTS:
        strange = re.findall(rf"[^\W\d_{SCRIPTS[code]}\u0900-\u0903\u093c-\u094d]+", text)
        if strange:
            yield f"{text!r}: {strange} are not letters of {code}"
    found = language_of(text)
    if found != code:
        yield f"{text!r}: taken for {found or 'no language'}, not for {code}"
    if code != "en":
        english = _english() - _own(code)
        left = {word for word in _LATIN.findall(_SYMBOLS.sub(" ", text)) if word.lower() in english}
        if left:
            yield f"{text!r}: {sorted(left)} are English words"


def _english() -> set[str]:
    return {word.lower() for pair in wording("en").said.values() for said in pair for word in _words(said)}


def _own(code: str) -> set[str]:
    """Return the words of a language that English has, too, each of them looked at."""
    return {"de": {"in"}, "fr": {"train"}, "it": {"in", "a"}, "es": {"a"}, "pt": {"a"}, "pl": {"do"}}.get(code, set())


def _words(said: str) -> list[str]:
    return [word for word in _LATIN.findall(re.sub(r"\{\w\}", " ", said)) if word not in ("km", "m")]


def _sentences(text: str, code: str, place: int) -> list[tuple[str, dict[str, object]]]:
    """Return the problems of a question (`place` 0) or of an answer (1), each with its values, in their order."""
    found = []
    for kind, said in wording(code).said.items():
        for match in re.finditer(_pattern(said[place]), text, re.IGNORECASE):
            values = {name: _read(value, _kind_of(kind, name), code) for name, value in match.groupdict().items()}
            found.append((match.start(), kind, values))
    return [(kind, values) for _, kind, values in sorted(found, key=lambda one: one[0])]


def _pattern(said: str) -> str:
    """Return a wording as a pattern whose places hold a number, an amount, a share or a name."""
    parts = re.split(r"\{(\w)\}", said)
    value = r"[€%]?[\u00a0]?\d[\d.,\u00a0\u202f]*(?<=\d)(?:\u00a0?[€%])?"
    seen: set[str] = set()
    made = []
    for number, part in enumerate(parts):
        if number % 2 == 0:
            made.append(re.escape(part))
        elif part in seen:
            made.append(f"(?P={part})")
        else:
            seen.add(part)
            made.append(rf"(?P<{part}>{value}|[^\W\d_\u0000-\u0040]+?)" if part in "ABCr" else rf"(?P<{part}>{value})")
    return "".join(made).replace(r"[^\W\d_\u0000-\u0040]+?", r"[^\W\d_][\w\u0900-\u094d]*?")


def _kind_of(kind: str, name: str) -> str:
    return _RESULT.get(kind, "number") if name == "r" else _VALUE.get(name, "number")


def _read(text: str, kind: str, code: str) -> object:
    """
    Return a value that is written as CLDR writes it in a language.

    Raises:
        ValueError: it is written in another way.
    """
    if kind == "name":
        return text
    words = wording(code)
    bare = re.sub(r"[€%\u00a0]*(\d[\d.,\u00a0\u202f]*\d|\d)[\u00a0€%]*", r"\1", text)
    value = Decimal(bare.replace(words.group, "").replace(words.decimal, "."))
    if written(value, kind, code) != text:
        raise ValueError(f"{text!r} is not how {code} writes {value}: {written(value, kind, code)!r}")
    return value


def written(value: Decimal, kind: str, code: str) -> str:
    """Return a value as CLDR writes it, a number below 10,000 without groups."""
    grouped = abs(value) >= 10_000
    if kind == "money":
        return format_currency(value, "EUR", locale=code, group_separator=grouped).replace("\u200f", "")
    if kind == "share":
        return format_percent(value / 100, locale=code)
    return format_decimal(value, locale=code, group_separator=grouped)


def _solved(kind: str, given: Mapping[str, object]) -> object:
    """Return the result of a problem, from what its question gives."""
    number = {name: value for name, value in given.items() if isinstance(value, Decimal)}
    match kind:
        case "price":
            return number["n"] * number["p"]
        case "percentage":
            return number["k"] * number["x"] / 100
        case "larger":
            return max(number["a"], number["b"])
        case "metres":
            return number["x"] * 1000
        case "oldest":
            return given[max("abc", key=lambda name: number[name]).upper()]
        case "years":
            return number["b"] - number["a"]
        case "change":
            return number["q"] - number["p"]
        case "travel":
            return number["v"] * number["n"]
        case "mean":
            return sum(number.values()) / len(number)
    raise ValueError(f"no problem of the kind {kind}")
