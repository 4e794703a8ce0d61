"""Placeholders of other tools in a text, and what their names mean."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from calm.core import foreign_names
from calm.core.foreign_names import meaning_of
from calm.judges.lint.page import Page, Role
from calm.judges.lint.subject import Leftover

_NAME: Final = r"[A-Za-z_][\w.]{0,60}"
WRITTEN: Final = re.compile(
    rf"\{{\{{\{{\s{{0,8}}(?P<triple>{_NAME})\s{{0,8}}\}}\}}\}}"
    rf"|\{{\{{-?\s{{0,8}}(?P<double>{_NAME}(?:\x20\w{{1,20}}){{0,3}}(?:\[\d{{1,2}}\][\w.]{{0,20}})?)(?:\s{{0,8}}\|[^{{}}\n]{{0,80}})?\s{{0,8}}-?\}}\}}"
    rf"|\$\{{(?P<dollar>{_NAME})\}}|<<(?P<angle>{_NAME})>>|\{{\$(?P<prompty>{_NAME})\}}"
    rf"|(?<!\{{)\{{(?P<single>{_NAME})(?:\[[^\]\n]{{1,20}}\])?(?P<args>\([^(){{}}\n]{{0,60}}\))?\}}(?!\}})"
    r"|(?P<percent>%s)"
)
"""A placeholder: Jinja, mustache, f-string, shell, prompty, `<<name>>` and `%s`."""
COMMENT: Final = re.compile(r"\{#.*?#\}|\{\{!.*?\}\}", re.DOTALL)
"""A comment of Jinja or mustache, which is not sent."""
STATEMENT: Final = re.compile(r"\{%.*?%\}|\{\{[#/^][^{}]*\}\}", re.DOTALL)
"""A statement of Jinja or mustache, which is not sent."""

_ORDER: Final[tuple[Role, ...]] = ("reference", "name", "criteria", "answer", "context", "question")
"""Roles, those whose words decide first at the head: `ref_answer` is a reference, `user_prompt` a question."""
_COUNTED: Final = re.compile(r"\|\s*(?:length|count)\b")
"""A filter that shows how many there are, and nothing of them."""
_MEANINGS: Final[Mapping[foreign_names.Role, Role]] = {
    "question": "question",
    "answer": "answer",
    "first": "answer",
    "second": "answer",
    "reference": "reference",
    "context": "context",
    "rubric": "criteria",
}
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MARKERS: Final = frozenset({*"abcd", *"0123456789", "first", "second", "another", "other", "chosen", "rejected"})


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder in a text: where it begins and ends, its name, and how it is written."""

    start: int
    stop: int
    name: str
    written: str


def placeholders(text: str) -> Iterator[Placeholder]:
    """Return the placeholders of a text, in their order."""
    for found in WRITTEN.finditer(text):
        if _COUNTED.search(found[0]):
            continue
        name = next(name for key, name in found.groupdict().items() if name is not None and key != "args")
        yield Placeholder(found.start(), found.end(), f"{name}{found['args'] or ''}", found[0])


def role_of(name: str) -> Role:
    """
    Return what a placeholder's name means: what it is in other tools, else what its words say.

    >>> role_of("ref_answer_1"), role_of("answer_a"), role_of("userQuery"), role_of("model_name"), role_of("n")
    ('reference', 'answer', 'question', 'name', 'unknown')
    """
    parts = _parts(name)
    known = meaning_of(name)
    if known is not None:
        return _MEANINGS[known]
    if {"model", "name"} <= parts or parts in ({"model", "a"}, {"model", "b"}, {"model", "1"}, {"model", "2"}):
        return "name"
    if parts & {"lang", "language", "loop", "format", "example", "examples"}:
        return "unknown"
    if "source" in parts and parts & {"seg", "text"}:
        return "question"
    if "text" in parts and marker_of(name):
        return "answer"
    return next((role for role in _ORDER if parts & _words()[role]), "unknown")


def marker_of(name: str) -> str:
    """
    Return what tells the placeholder of one answer from those of the others: a letter, a number or a word.

    >>> marker_of("answer_a_2"), marker_of("output_1"), marker_of("response")
    ('a', '1', '')
    """
    parts = [part.lower() for part in _PARTS.findall(name)]
    letters = [part for part in parts if part in _MARKERS and part.isalpha()]
    return next(iter([*letters, *(part for part in parts if part in _MARKERS)]), "")


@cache
def _words() -> Mapping[str, frozenset[str]]:
    """Return the words of names by the role that they say."""
    table = tomllib.loads(files("calm").joinpath("judges", "data", "placeholders.toml").read_text("utf-8"))
    return {role: frozenset(words) for role, words in table.items()}


def _parts(name: str) -> set[str]:
    return {part.lower() for part in _PARTS.findall(name)}


FIXES: Final[Mapping[Role, str]] = {
    "question": "{{ question }}",
    "answer": "{{ answers[0].text }}",
    "reference": "{{ reference }}",
    "criteria": "{{ criterion.text }}",
    "context": "{{ fields.context }}",
}
"""What to write in a template of calm."""


def leftovers(page: Page) -> list[Leftover]:
    """Return the placeholders of a rendered prompt that nothing filled: those whose names say what they are."""
    found = []
    for one in placeholders(page.text):
        role = role_of(one.name)
        if role in FIXES:
            fix = FIXES[role]
            if role == "answer" and marker_of(one.name) in {"b", "2", "second", "another", "other", "rejected"}:
                fix = fix.replace("0", "1")
            found.append(Leftover(one.written, fix, one.start))
    return found
