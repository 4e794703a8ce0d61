"""Phrases: what edits say in the language of a case, and the same item in another language."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from random import Random

from calm import Case, Treated
from calm.core.case import digest
from calm.core.edits import Edit, Expects, rotate
from calm.core.languages import ENGLISH, NAMES, UNKNOWN, code_of, language_of, language_of_case
from calm.core.order import ITEM, LANGUAGE
from calm.core.reasons import Kind
from calm.core.validation import UNKNOWN as ANY_TEXT
from calm.core.verdict import Family

MODEL = "{model}"
"""Stands in a phrase for the name of the judge's own model."""

Phrases = Mapping[str, Mapping[str, tuple[str, ...]]]


@cache
def _phrases() -> Mapping[str, Phrases]:
    text = files("calm.perturbations").joinpath("data", "phrases.toml").read_text("utf-8")
    return {
        code: {bias: {edit: tuple(said) for edit, said in edits.items()} for bias, edits in biases.items()}
        for code, biases in tomllib.loads(text).items()
    }


def ways(case: Treated, bias: str, edit: str, english: Sequence[str]) -> Sequence[str]:
    """Return what an edit may say to the treated answer in the language of its case, or else `english`."""
    language = language_of_case(case, case.target)
    if language == ENGLISH:
        return english
    return _phrases().get(language, {}).get(bias, {}).get(edit, ()) or english


def said(case: Treated, rng: Random, bias: str, edit: str, english: Sequence[str]) -> str:
    """Return what an edit says, drawn from the `ways` to say it."""
    return rng.choice(ways(case, bias, edit, english))


def foreign(bias: str) -> Iterator[str]:
    """Yield all phrases of a bias in other languages than English; of one that names a model, its longest part."""
    for biases in _phrases().values():
        for several in biases.get(bias, {}).values():
            yield from (max(phrase.split(MODEL), key=len).strip() for phrase in several)


def spoken() -> tuple[str, ...]:
    """Return the codes of the languages that have phrases."""
    return (ENGLISH, *_phrases())


class Sisters:
    """The cases that ask an item in several languages, by their tags `item` and `language`."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._known = {(case.tags[ITEM], spoken_in(case)): case for case in cases if ITEM in case.tags}

    def languages(self) -> tuple[str, ...]:
        """Return the languages of which there is a case, in the order of their names."""
        return tuple(sorted({language for _, language in self._known} - {UNKNOWN}))

    def of(self, case: Case, language: str) -> Case | None:
        """Return the case that asks the same in another language, with the same ids of answers; None if none does."""
        if spoken_in(case) == language:
            return None
        found = self._known.get((case.tags.get(ITEM, ""), language))
        return found if found is not None and _ids(found) == _ids(case) else None


def spoken_in(case: Case) -> str:
    """Return the language that the tag of a case names, by its code; "" if it names none."""
    return code_of(case.tags.get(LANGUAGE, ""))


def base_of(cases: Sequence[Case]) -> list[Case]:
    """Return the cases in the base language."""
    base = _base(Sisters(cases).languages())
    return [case for case in cases if spoken_in(case) == base] if base else list(cases)


def _base(spoken: Sequence[str]) -> str:
    """Return the language that the others are compared with: English if it is among them, else the first."""
    return ENGLISH if ENGLISH in spoken else (*spoken, UNKNOWN)[0]


def one_language_each(cases: Sequence[Case]) -> list[Case]:
    """Return one case of each item, in a language that its id decides, and never in the base language."""
    base = {id(case) for case in base_of(cases)}
    found: dict[str, list[Case]] = {}
    for case in cases:
        if ITEM in case.tags and spoken_in(case) and id(case) not in base:
            found.setdefault(case.tags[ITEM], []).append(case)
    return [several[int(digest("language", item), 16) % len(several)] for item, several in found.items()] or list(cases)


@dataclass(frozen=True, slots=True)
class Way:
    """
    A way to show a case in another language, for the edits of a bias.

    `answers` returns the ids of the answers that change, or None where it does not apply; `question` says whether the
    question changes, too. `summary` has a place for the language.
    """

    name: str
    bias: str
    expects: Expects
    source: str
    summary: str
    answers: Callable[[Treated], Collection[str | None] | None]
    tasks: tuple[Family, ...]
    question: bool = False


def in_each(way: Way, cases: Sequence[Case]) -> Edit:
    """
    Return the rotation of a way over the languages of some cases, without the base language, in which they are asked.

    An edit that never applies if there is no other.
    """
    sisters = Sisters(cases)
    spoken = sisters.languages()
    edits = [translated(way, sisters, language) for language in spoken if language != _base(spoken)]
    return rotate(*edits, name=way.name) if edits else translated(way, sisters, UNKNOWN)


def translated(way: Way, sisters: Sisters, language: str) -> Edit:
    """Return the edit that shows cases in one language; it speaks any language, and adds no word of its own."""

    def rewrite(case: Treated, rng: Random) -> Treated | None:
        sister, answers = sisters.of(case, language), way.answers(case)
        return None if sister is None or answers is None else _put(case, sister, answers, question=way.question)

    name = f"{way.name}_{language}" if language else way.name
    return Edit(
        *(name, way.bias, way.expects, rewrite, way.source, way.tasks),
        summary=way.summary.format(NAMES.get(language, "another language")),
        rules=ANY_TEXT,
        languages=tuple(NAMES),
        lacking=Kind.NO_TRANSLATION,
    )


def is_foreign(text: str) -> bool:
    """Return whether a text is known to be in another language than English."""
    return language_of(text) not in (ENGLISH, UNKNOWN)


def _put(case: Treated, sister: Case, answers: Collection[str | None], *, question: bool) -> Treated | None:
    """Return a case with some of the texts of its sister; None if all of them are the same."""
    new = tuple(replace(one, text=sister[one.id].text) if one.id in answers else one for one in case.answers)
    asked = sister.question if question else case.question
    return None if (asked, new) == (case.question, case.answers) else replace(case, question=asked, answers=new)


def _ids(case: Case) -> list[str]:
    return sorted(answer.id for answer in case.answers)
