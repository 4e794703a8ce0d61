"""
Prompts that were written for other tools, as templates of calm.

Read are `{name}` of Python's `str.format`, `{{name}}` and `{{{name}}}` of mustache and Jinja2, `$name` and `${name}`,
and `<<name>>`. A name is known by what other tools call the same thing: `input`, `response_a`, `ideal`, `context`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypeVar

from calm.core.foreign_names import meaning_of
from calm.judges.prompts.borrowed import borrowed
from calm.judges.prompts.meanings import Placeholder, Unread, answers_of, fields_of, named, settled
from calm.judges.prompts.sections import TAG, Sections

Style: TypeAlias = Literal["double", "single", "dollar", "angle", "jinja"]
"""How placeholders are written: `{{name}}`, `{name}`, `$name`, `<<name>>`, or a template with statements of Jinja2."""
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_ .-]{0,39}?"
_PATTERNS: Final[Mapping[Style, re.Pattern[str]]] = {
    "double": re.compile(rf"\{{\{{[{{&]?\s*({_NAME})\s*\}}?\}}\}}"),
    "angle": re.compile(rf"<<\s*({_NAME})\s*>>"),
    "single": re.compile(
        r"(?<!\{)\{([A-Za-z_]\w{0,39}(?:\.\w{1,39}|\[[^\[\]{}\n]{1,40}\])*)(?P<how>![rsa])?(?::(?P<form>[^{}\n]{0,20}))?\}"
        r"(?!\})"
    ),
    "dollar": re.compile(
        r"\{\$([A-Za-z_][A-Za-z0-9_]{0,39})\}|\$(?:\{([A-Za-z_][A-Za-z0-9_]{0,39})\}|([A-Za-z_][A-Za-z0-9_]{0,39}))"
    ),
}
_LOGIC: Final = re.compile(r"\{%.*?%\}", re.DOTALL)
_EXPRESSION: Final = re.compile(r"\{\{-?\s*[A-Za-z_][\w.]*\s*(?:\||\[|\(|-\}\}|[-+~]\s|if\s)[^{}\n]{0,200}")
"""An expression that Jinja2 alone has: with a filter, an index, a call or an operator."""
_SECTION: Final = re.compile(r"\{\{[#/^]")
_SIGNS: Final = re.compile(r"\{\{|\{%|\{#")
_PLAIN_FORM: Final = re.compile(r"s?|\.(\d{1,7})s?")
"""What may stand after the colon in a placeholder of `str.format`: nothing, or how many characters are shown."""


_Lined = TypeVar("_Lined", Placeholder, Unread)


@dataclass(frozen=True, slots=True)
class Translation:
    """
    A foreign prompt as templates of calm, one for each message.

    They show the same texts. `found` are the placeholders in order, by message. A name that is not known is a field of
    the case with that name: `fields` holds all fields that the templates show. `answers` is how many answers they show;
    None: all of a case. `unread` is what is not understood, by message: a template that has any must not be used.
    """

    style: Style | None
    templates: tuple[str, ...]
    found: tuple[tuple[Placeholder, ...], ...]
    unread: tuple[tuple[Unread, ...], ...]
    answers: int | None

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a case that the templates show."""
        return fields_of(one for found in self.found for one in found)


def style_of(text: str) -> Style | None:
    """
    Return how the placeholders of a text are written; None if it has none.

    >>> style_of("Rate {answer}"), style_of("Rate {{ answer }}"), style_of("{% if x %}y{% endif %}"), style_of("Hi")
    ('single', 'double', 'jinja', None)
    """
    if _LOGIC.search(text) or (_EXPRESSION.search(text) and not _SECTION.search(text)):
        return "jinja"
    counted = {style: [named(name)[0] for name, _ in _names(text, style)] for style in _PATTERNS}
    known = {style: sum(meaning_of(name) is not None for name in names) for style, names in counted.items()}
    best = max(known, key=lambda style: known[style])
    if known[best]:
        return best
    return next((style for style in ("double", "angle", "single") if counted[style]), None)


def placeholders(text: str, style: Style | None = None) -> tuple[Placeholder, ...]:
    """Return the placeholders of a text in their order; `style` says how they are written, None: as they seem to be."""
    style = style or style_of(text)
    return () if style is None or style == "jinja" else tuple(settled(list(_placeholders(text, style)[0])))


def _placeholders(text: str, style: Style) -> tuple[list[Placeholder], list[Unread]]:
    """Return the placeholders of a text, each with what its name alone means, and those that are not understood."""
    found, unread = [], []
    for path, match in _names(text, style):
        if style == "double" and TAG.fullmatch(match[0]):
            continue  # `{{else}}` and `{{this}}`
        line = text.count("\n", 0, match.start()) + 1
        name, puzzle = named(path)
        given = match.groupdict()
        form = _PLAIN_FORM.fullmatch(given.get("form") or "")
        if form is None or (given.get("how") or "!s") != "!s":
            puzzle = "format"
        if puzzle is not None:
            unread.append(Unread(line, match[0], puzzle))
        cut = int(form[1]) if form is not None and form[1] else None
        found.append(Placeholder(match[0], name, match.start(), match.end(), line, meaning_of(name), cut))
    return found, unread


def _names(text: str, style: Style) -> Iterator[tuple[str, re.Match[str]]]:
    for match in _PATTERNS[style].finditer(text):
        yield next(group for group in match.groups() if group is not None), match


def translate(*texts: str, said: Mapping[str, str] = MappingProxyType({})) -> Translation:
    """
    Return the messages of a foreign prompt as templates of calm: placeholders become variables, all else stays.

    `said` is what a user says of names: one of `SAID` or `field.NAME`.

    >>> translate('Is {output} right? Say {{"score": 1}}.').templates
    ('Is {{ answers[0].text }} right? Say {"score": 1}.',)
    """
    whole = "\n".join(texts)
    style = style_of(whole)
    if style == "jinja":
        made = borrowed(whole, said)
        return Translation(
            "jinja",
            tuple(made.head + text for text in texts),
            _by_text(texts, made.found),
            _by_text(texts, made.unread),
            made.answers,
        )
    read = [([], []) if style is None else _placeholders(text, style) for text in texts]
    known = list(settled([one for found, _ in read for one in found], said))
    templates, found, unread = [], [], []
    for text, (mine, odd) in zip(texts, read, strict=True):
        found.append(tuple(known[: len(mine)]))
        known = known[len(mine) :]
        template, more = _template(text, style, found[-1], doubled=style == "single" and _all_doubled(text))
        templates.append(template)
        unread.append((*odd, *more))
    answers = answers_of([one for some in found for one in some])
    return Translation(style, tuple(templates), tuple(found), tuple(unread), answers)


def _by_text(texts: Sequence[str], found: Sequence[_Lined]) -> tuple[tuple[_Lined, ...], ...]:
    """Return what stands in lines of several texts, one below the other, by text, with the lines of each."""
    parts: list[tuple[_Lined, ...]] = []
    before = 0
    for text in texts:
        lines = text.count("\n") + 1
        parts.append(
            tuple(replace(one, line=one.line - before) for one in found if before < one.line <= before + lines)
        )
        before += lines
    return tuple(parts)


def _template(
    text: str, style: Style | None, found: Sequence[Placeholder], *, doubled: bool
) -> tuple[str, list[Unread]]:
    """Return a text as a template, with what is not understood of its sections."""
    sections = Sections()
    marks: list[tuple[int, int, str]] = [(one.start, one.end, f"{{{{ {one.expression} }}}}") for one in found]
    if style == "double":
        marks += [
            (tag.start(), tag.end(), sections.statement(tag, text.count("\n", 0, tag.start()) + 1))
            for tag in TAG.finditer(text)
        ]
    parts: list[str] = []
    at = 0
    for start, end, shown in sorted(marks):
        parts += [as_template(text[at:start], doubled=doubled), shown]
        at = end
    parts.append(as_template(text[at:], doubled=doubled))
    return "".join(parts), sections.left()


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
