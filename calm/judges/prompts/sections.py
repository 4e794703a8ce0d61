"""Sections of mustache and Handlebars in a foreign prompt, as statements of a template of calm."""

from __future__ import annotations

import re
from typing import Final

from calm.core.foreign_names import meaning_of
from calm.judges.prompts.meanings import Puzzle, Unread, expression, named

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
