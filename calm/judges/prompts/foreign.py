"""
Placeholders of prompts that were written for other tools, and what they mean to calm.

Read are `{name}` of Python's `str.format`, `{{name}}` and `{{{name}}}` of mustache and Jinja2, `$name` and `${name}`,
and `<<name>>`. A name is known by what other tools call the same thing: `input`, `response_a`, `ideal`, `context`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from jinja2 import Environment, TemplateError, meta

from calm.core.foreign_names import Role, meaning_of, plain
from calm.judges.prompts.variables import VARIABLES

Style: TypeAlias = Literal["double", "single", "dollar", "angle", "jinja"]
"""How placeholders are written: `{{name}}`, `{name}`, `$name`, `<<name>>`, or a template with statements of Jinja2."""
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_ .-]{0,39}?"
_PATTERNS: Final[Mapping[Style, re.Pattern[str]]] = {
    "double": re.compile(rf"\{{\{{\{{?\s*({_NAME})\s*\}}?\}}\}}"),
    "angle": re.compile(rf"<<\s*({_NAME})\s*>>"),
    "single": re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_.]{0,39})(?:![rs]|:[^{}\n]{0,20})?\}(?!\})"),
    "dollar": re.compile(
        r"\{\$([A-Za-z_][A-Za-z0-9_]{0,39})\}|\$(?:\{([A-Za-z_][A-Za-z0-9_]{0,39})\}|([A-Za-z_][A-Za-z0-9_]{0,39}))"
    ),
}
_OURS: Final[Mapping[Role, str]] = {
    "question": "question",
    "answer": "answers[0].text",
    "first": "answers[0].text",
    "second": "answers[1].text",
    "reference": "reference",
    "context": "fields.context",
    "rubric": "fields.rubric",
}
_LOGIC: Final = re.compile(r"\{%.*?%\}", re.DOTALL)
_SIGNS: Final = re.compile(r"\{\{|\{%|\{#")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder as it stands in a text: its name, its place in characters, its line from 1, and what it means."""

    written: str
    name: str
    start: int
    end: int
    line: int
    role: Role | None


@dataclass(frozen=True, slots=True)
class Translation:
    """
    A foreign prompt as a template of calm.

    `template` shows the same text; `found` are its placeholders in order. A name that is not known is a field of the
    case with that name: `fields` holds all fields that the template shows. `answers` is how many answers it shows.
    """

    style: Style | None
    template: str
    found: tuple[Placeholder, ...]
    fields: tuple[str, ...]
    answers: int

    def shows(self, role: Role) -> bool:
        """Return whether a placeholder stands for this."""
        return any(one.role == role for one in self.found)


def style_of(text: str) -> Style | None:
    """
    Return how the placeholders of a text are written; None if it has none.

    >>> style_of("Rate {answer}"), style_of("Rate {{ answer }}"), style_of("{% if x %}y{% endif %}"), style_of("Hi")
    ('single', 'double', 'jinja', None)
    """
    if _LOGIC.search(text):
        return "jinja"
    counted = {style: [name for name, _ in _names(text, style)] for style in _PATTERNS}
    known = {style: sum(meaning_of(name) is not None for name in names) for style, names in counted.items()}
    best = max(known, key=lambda style: known[style])
    if known[best]:
        return best
    return next((style for style in ("double", "angle", "single") if counted[style]), None)


def placeholders(text: str, style: Style | None = None) -> tuple[Placeholder, ...]:
    """Return the placeholders of a text in their order; `style` says how they are written, None: as they seem to be."""
    style = style or style_of(text)
    if style is None or style == "jinja":
        return ()
    found = []
    for name, match in _names(text, style):
        line = text.count("\n", 0, match.start()) + 1
        found.append(Placeholder(match[0], name, match.start(), match.end(), line, meaning_of(name)))
    return tuple(_settled(found))


def _names(text: str, style: Style) -> Iterator[tuple[str, re.Match[str]]]:
    for match in _PATTERNS[style].finditer(text):
        yield next(group for group in match.groups() if group is not None), match


def _settled(found: Sequence[Placeholder]) -> Iterator[Placeholder]:
    """Yield placeholders with the role that they have beside the others: an `answer` beside a `result` is the gold."""
    roles = {one.role for one in found}
    answers = {plain(one.name) for one in found if one.role == "answer"}
    asked = next((plain(one.name) for one in found if one.role == "question"), "")
    for one in found:
        role = one.role
        if role == "question" and plain(one.name) != asked:
            role = None  # an input beside an instruction: another text, which the case must have as a field
        if role == "answer" and "second" in roles and "first" not in roles:
            role = "first"
        elif role == "answer" and "answer" in answers and len(answers) > 1 and "reference" not in roles:
            role = "reference" if plain(one.name) == "answer" else role
        yield Placeholder(one.written, one.name, one.start, one.end, one.line, role)


def translate(text: str) -> Translation:
    """
    Return a foreign prompt as a template of calm: placeholders become variables, and all else shows as it is.

    >>> translate('Is {output} right? Say {{"score": 1}}.').template
    'Is {{ answers[0].text }} right? Say {"score": 1}.'
    """
    style = style_of(text)
    if style == "jinja":
        return _with_logic(text)
    found = placeholders(text, style)
    doubled = style == "single" and _all_doubled(text)
    parts: list[str] = []
    at = 0
    for one in found:
        parts += [as_template(text[at : one.start], doubled=doubled), f"{{{{ {_expression(one)} }}}}"]
        at = one.end
    parts.append(as_template(text[at:], doubled=doubled))
    return Translation(style, "".join(parts), found, _fields(found), _answers(found))


def _with_logic(text: str) -> Translation:
    """Return a template of Jinja2 with its foreign names set to what they mean; its own statements stay."""
    try:
        used = meta.find_undeclared_variables(Environment(autoescape=False).parse(text))  # noqa: S701 - not rendered
    except TemplateError:
        used = set()
    names = [Placeholder(name, name, 0, 0, _line(text, name), meaning_of(name)) for name in sorted(used)]
    found = tuple(one for one in _settled(names) if one.name not in VARIABLES)
    head = "".join(f"{{% set {one.name} = {_expression(one)} %}}" for one in found)
    answers = _answers(found) or (2 if "answers" in used else 0)
    return Translation("jinja", head + text, found, _fields(found), answers)


def _line(text: str, name: str) -> int:
    return text.count("\n", 0, max(0, text.find(name))) + 1


def _expression(one: Placeholder) -> str:
    return _OURS[one.role] if one.role else f"fields.{_field(one.name)}"


def _field(name: str) -> str:
    return re.sub(r"\W", "_", plain(name))


def _fields(found: Sequence[Placeholder]) -> tuple[str, ...]:
    names = [_OURS[one.role].removeprefix("fields.") for one in found if one.role in ("context", "rubric")]
    return tuple(dict.fromkeys([*names, *(_field(one.name) for one in found if one.role is None)]))


def _answers(found: Sequence[Placeholder]) -> int:
    roles = {one.role for one in found}
    return 2 if "second" in roles else 1 if roles & {"answer", "first"} else 0


def _all_doubled(text: str) -> bool:
    """Return whether all braces beside placeholders are doubled, as `str.format` wants them."""
    bare = _PATTERNS["single"].sub("", text)
    return "{{" in bare and not re.search(r"(?<!\{)\{(?:\{\{)*(?!\{)|(?<!\})\}(?:\}\})*(?!\})", bare)


def as_template(text: str, *, doubled: bool = False) -> str:
    """Return a text as a template that shows it; `doubled`: each of its braces is written twice, and shows once."""
    if doubled:
        text = text.replace("{{", "{").replace("}}", "}")
    shown = _SIGNS.sub(lambda sign: f'{{{{ "{sign[0]}" }}}}', text)
    return f'{shown[:-1]}{{{{ "{{" }}}}' if shown.endswith("{") else shown
