"""`calm: allow RULE REASON`: comments that accept a finding, with a reason, in a place that no model reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from calm.errors import nearest
from calm.judges.lint.catalogue import RULES
from calm.judges.lint.page import Page
from calm.judges.lint.places import Place, Sources
from calm.judges.lint.subject import Found, Subject

_JINJA: Final = re.compile(
    r"\{#-?\s*(?:#\s*)?calm:\s*allow\b(.*?)-?#\}|\{\{!(?:--)?\s*(?:#\s*)?calm:\s*allow\b(.*?)(?:--)?\}\}", re.DOTALL
)
_TOML: Final = re.compile(r"^\s*#\s*calm:\s*allow\b(.*)$", re.MULTILINE)
_SENT: Final = re.compile(r"calm:\s*allow\b[ \t]*([\w-]*)")
OPTION: Final = "--allow"
"""Where an allow of the command line stands."""


@dataclass(frozen=True, slots=True)
class Allow:
    """A rule that is allowed, why, and where the allow is written."""

    rule: str
    reason: str
    place: Place


def allows_of(sources: Sources, page: Page, options: Sequence[str] = ()) -> list[Allow]:
    """Return the allows of some files and of the command line, without those that are sent to the model."""
    found = [_allow(words, Place(OPTION, 1)) for words in options]
    for source in sources.files:
        toml = source.file.endswith(".toml")
        for comment in (*_JINJA.finditer(source.text), *(_TOML.finditer(source.text) if toml else ())):
            said = next(group for group in comment.groups() if group is not None)
            line = source.text.count("\n", 0, source.text.index("calm:", comment.start())) + 1
            if comment[0].strip() not in page.text:
                found.append(_allow(said, Place(source.file, line)))
    return list(dict.fromkeys(found))


def _allow(words: str, place: Place) -> Allow:
    rule, _, reason = words.strip().partition(" ")
    return Allow(rule, reason.strip(" \t\r\n:-—"), place)


def sent(subject: Subject) -> Iterator[Found]:
    """Find allows that reach the model."""
    for found in _SENT.finditer(subject.page.text):
        yield Found("allow-sent", subject.at(found.start()), (found[1] or "nothing",))


def sorted_out(found: Sequence[Found], allows: Sequence[Allow]) -> tuple[list[Found], list[tuple[Found, Allow]]]:
    """Return what was found and is not allowed, with what is wrong with the allows, and what is allowed."""
    good = [one for one in allows if one.reason and one.rule in RULES]
    by_rule = {one.rule: one for one in reversed(good)}
    allowed = [(one, by_rule[one.rule]) for one in found if one.rule in by_rule]
    left = [one for one in found if one.rule not in by_rule]
    used = {one.rule for one, _ in allowed}
    for allow in allows:
        if allow.rule not in RULES:
            name = repr(allow.rule) if allow.rule else "nothing"
            left.append(Found("allow-unknown", allow.place, (name, nearest(allow.rule, RULES) if allow.rule else "")))
        elif not allow.reason:
            left.append(Found("allow-without-reason", allow.place, (allow.rule,)))
        elif allow.rule not in used:
            left.append(Found("allow-unused", allow.place, (allow.rule,)))
    return left, allowed
