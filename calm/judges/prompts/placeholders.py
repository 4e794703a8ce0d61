"""What the names and sections in a foreign prompt mean to calm, and how a template of calm writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import permutations
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from calm.core.names import (
    OF_ANSWER,
    OF_QUESTION,
    SIDES,
    Role,
    apart,
    meaning_of,
    parts,
    plain_name,
)

OURS: Final[Mapping[Role, str]] = {
    "question": "question",
    "answer": "answers[0].text",
    "first": "answers[0].text",
    "second": "answers[1].text",
    "reference": "reference",
    "context": "fields.context",
}
SAID: Final[Mapping[str, Role]] = {
    "a": "first",
    "b": "second",
    **{role: role for role in ("question", "answer", "reference", "context")},
}
"""What a user can say that a placeholder means, beside `field.NAME`, and `a.1` for the reply of a in turn 1."""
Puzzle: TypeAlias = Literal[
    "index", "item", "format", "section", "partial", "helper", "unclosed", "parts", "syntax", "tag"
]
"""Why a piece of a foreign prompt is not understood; the words for each are made where they are shown."""
WHOLE: Final[tuple[Role, ...]] = ("reference", "context", "rubric")
"""Roles that a part has from what it is a part of: the answer in `reference.answer` is the reference."""
_SINGLE: Final[tuple[Role, ...]] = ("question", "reference", "context")
"""Roles that a case has one text for."""
_SEGMENT: Final = re.compile(r"\.?\[\s*(-?\d+)\s*\]|\.(\w+)|\[\s*[\"']?([^\[\]\"']+)[\"']?\s*\]")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """
    A placeholder as it stands in a text: its name, its place in characters, its line from 1, and what it means.

    `cut` is how many characters of the text are shown (None: all). `turn` is which of the earlier replies of its side a
    first or a second answer is, from 0 (None: the one that is judged).
    """

    written: str
    name: str
    start: int
    end: int
    line: int
    role: Role | None
    cut: int | None = None
    turn: int | None = None

    @property
    def expression(self) -> str:
        """How a template of calm writes it."""
        shown = expression(self.name, self.role)
        shown = shown if self.turn is None else shown.replace(".text", f".history[{self.turn}]")
        return f"{shown}{'' if self.cut is None else f'[:{self.cut}]'}"


@dataclass(frozen=True, slots=True)
class Unread:
    """A piece of a foreign prompt that is not understood: its line from 1, how it is written, and why."""

    line: int
    written: str
    why: Puzzle


def named(path: str) -> tuple[str, Puzzle | None]:
    """
    Return the word of a path that says what it means, and what is not understood of it.

    The first of a list is its text, and the first and the second of answers are these.

    >>> named("row['answer']"), named("outputs[1]"), named("input.text"), named("tone[2]")
    (('answer', None), ('output_2', None), ('input', None), ('tone', 'index'))
    """
    head = re.match(r"[^.\[]+", path)
    name = path if head is None else head[0].strip()
    for number, word, key in _SEGMENT.findall(path[len(name) :]):
        if number:
            many = (meaning_of(name) == "answer" or name == "answers") and not number.startswith("-")
            if many and int(number) in (0, 1):
                name = f"output_{int(number) + 1}"
            elif number != "0":
                return name, "index"
        elif meaning_of(name) in WHOLE:
            continue
        elif meaning_of(word or key) is not None or (meaning_of(name) is None and name != "answers"):
            name = word or key
    return name, None


def expression(name: str, role: Role | None) -> str:
    """Return how a template of calm writes what a name means: a rubric and what has no meaning are fields of a case."""
    return f"fields.{field_of(name)}" if role is None or role not in OURS else OURS[role]


def field_of(name: str) -> str:
    """Return the name of the field that a name means."""
    return re.sub(r"\W", "_", plain_name(name))


def guessed(found: Sequence[Placeholder]) -> dict[str, str]:
    """
    Return what unusual names mean, as `SAID` calls it, where the prompt shows no such thing under a usual one.

    Names that differ in a side are two answers, such as `reply_a` and `reply_b`; a part of a name can tell the rest.
    """
    roles = {one.role for one in found}
    names = list(dict.fromkeys(one.name for one in found if one.role is None))
    said: dict[str, str] = {}
    if roles.isdisjoint({"answer", "first", "second"}):
        pairs = [pair for pair in permutations(names, 2) if apart(*pair) in SIDES]
        single = [name for name in names if OF_ANSWER.intersection(parts(name))]
        said |= dict(zip(pairs[0], "ab", strict=True)) if pairs else dict.fromkeys(single[:1], "answer")
    if "question" not in roles:
        asking = [name for name in names if name not in said and OF_QUESTION.intersection(parts(name))]
        said |= dict.fromkeys(asking[:1], "question")
    return said


def settled(found: Sequence[Placeholder], said: Mapping[str, str] = MappingProxyType({})) -> Iterator[Placeholder]:
    """
    Yield placeholders with the role that they have beside the others: an `answer` beside a `result` is the gold.

    A role that a case has one text for belongs to one name. What a user `said` of a name is so: one of `SAID`, or
    `field.NAME`.
    """
    own = {one.written for one in found if one.name in said}
    found = [_as_said(one, said[one.name]) if one.written in own else one for one in _by_turns(found)]
    roles = {one.role for one in found}
    answers = {plain_name(one.name) for one in found if one.role == "answer"}
    kept = {role: _keeper(role, found, own) for role in _SINGLE}
    for one in found:
        role = one.role
        if one.written in own:
            yield one
            continue
        if role in kept and plain_name(one.name) != kept[role]:
            role = None  # an input beside an instruction: another text, which the case must have as a field
        if role == "first" and one.turn is None and one.name == "output_1" and "second" not in roles:
            role = "answer"
        if role == "answer" and "second" in roles and "first" not in roles:
            role = "first"
        elif role == "answer" and "answer" in answers and len(answers) > 1 and "reference" not in roles:
            role = "reference" if plain_name(one.name) == "answer" else role
        yield replace(one, role=role)


def _keeper(role: Role, found: Sequence[Placeholder], own: Set[str]) -> str:
    named = sorted((one for one in found if one.role == role), key=lambda one: one.written not in own)
    names = [plain_name(one.name) for one in named]
    return role if role in names and named[0].written not in own else next(iter(names), "")


def _by_turns(found: Sequence[Placeholder]) -> list[Placeholder]:
    """
    Return placeholders; where they show several questions by number, those of the last turn are what is judged.

    Of two answers the earlier replies are their history; all other texts of earlier turns are fields.
    """
    split = {one.written: re.fullmatch(r"(.+)_(\d)", plain_name(one.name)) for one in found}
    asked = {int(turn[2]) for turn in split.values() if turn is not None and meaning_of(turn[1]) == "question"}
    if asked != {*range(1, len(asked) + 1)} or len(asked) < 2:
        return list(found)
    made = []
    for one in found:
        turn = split[one.written]
        role = None if turn is None else meaning_of(turn[1])
        if turn is None or role is None or int(turn[2]) not in asked:
            made.append(one)
        elif int(turn[2]) == len(asked):
            made.append(replace(one, role=role))
        elif role in ("first", "second"):
            made.append(replace(one, role=role, turn=int(turn[2]) - 1))
        else:
            made.append(replace(one, role=None))
    return made


def _as_said(one: Placeholder, meaning: str) -> Placeholder:
    side, _, turn = meaning.partition(".")
    if side in SAID:
        return replace(one, role=SAID[side], turn=int(turn) - 1 if turn else None)
    return replace(one, role=None, turn=None, name=turn)


def fields_of(found: Iterable[Placeholder]) -> tuple[str, ...]:
    """Return the fields of a case that some placeholders show."""
    known = [one.expression.partition("[")[0] for one in found if one.role in ("context", "rubric", None)]
    return tuple(dict.fromkeys(one.removeprefix("fields.") for one in known))


def answers_of(found: Iterable[Placeholder]) -> int:
    """Return how many answers some placeholders show."""
    roles = {one.role for one in found}
    return 2 if "second" in roles else 1 if roles & {"answer", "first"} else 0


TAG: Final = re.compile(
    r"\{\{!(?:--)?(?P<note>.*?)(?:--)?\}\}"
    r"|\{\{(?P<sign>[#/^>])\s*(?P<name>[^{}\n]{1,80}?)\s*\}\}"
    r"|\{\{\s*(?P<word>else|this|\.|\^)\s*\}\}",
    re.DOTALL,
)
"""A tag that shows no text of a case by its name: a comment, a section's begin or end, a partial, the item itself."""
_NAME: Final = re.compile(r"(?:(?P<helper>if|unless|each|with)\s+)?(?P<path>[A-Za-z_][\w.]*)")


class Sections:
    """The sections of one text while it is read from its begin to its end."""

    def __init__(self) -> None:
        self.open: list[tuple[str, str, int]] = []
        """Of each section that is open: its name, what the item in it is, and its line."""
        self.unread: list[Unread] = []

    def statement(self, tag: re.Match[str], line: int) -> str:
        """Return what replaces a tag in a template of calm."""
        if tag["note"] is not None:
            return f"{{#{tag['note']}#}}"
        if tag["word"]:
            return self._word(tag, line)
        if tag["sign"] == "/":
            return self._end(tag, line)
        if tag["sign"] == ">":
            return self._odd(tag, line, "partial")
        found = _NAME.fullmatch(tag["name"])
        if found is None:
            return self._odd(tag, line, "helper")
        name, puzzle = named(found["path"])
        role = meaning_of(name)
        helper = found["helper"] or ""
        if puzzle or (role in ("answer", "first", "second") and helper not in ("if", "unless")):
            self._odd(tag, line, puzzle or "section")
        shown = expression(name, role)
        self.open.append((helper or found["path"], shown, line))
        absent = tag["sign"] == "^" or helper == "unless"
        guarded = shown if role in ("answer", "question") else f'({shown} | default(""))'
        return f"{{% if {'not ' if absent else ''}{guarded} %}}"

    def _word(self, tag: re.Match[str], line: int) -> str:
        if not self.open:
            return self._odd(tag, line, "unclosed")
        return "{% else %}" if tag["word"] in ("else", "^") else f"{{{{ {self.open[-1][1]} }}}}"

    def _end(self, tag: re.Match[str], line: int) -> str:
        if not self.open or self.open[-1][0] != tag["name"]:
            return self._odd(tag, line, "unclosed")
        self.open.pop()
        return "{% endif %}"

    def _odd(self, tag: re.Match[str], line: int, why: Puzzle) -> str:
        self.unread.append(Unread(line, tag[0], why))
        return tag[0]

    def left(self) -> list[Unread]:
        """Return what is not understood, with the sections that are never closed."""
        return [*self.unread, *(Unread(line, f"{{{{#{name}}}}}", "unclosed") for name, _, line in self.open)]
