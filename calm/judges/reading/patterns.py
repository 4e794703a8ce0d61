"""Verdicts that a user finds by a regular expression."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import regex

from calm.core.verdict import Unreadable
from calm.errors import ConfigError
from calm.judges.reading.marks import Mark

REGEX_LIMIT_S: Final = 0.5
"""Seconds of processor time that a user's regular expression may take on one reply."""

MAX_LEAD: Final = 100
"""Characters of a match before its group that are looked at for the words "draft" or "final"."""


def pattern_problems(pattern: str) -> list[str]:
    """Return what is wrong with a user's expression, a line for each problem."""
    try:
        groups = regex.compile(pattern).groups
    except regex.error as error:
        return [f"verdict.pattern: {error}, in {pattern!r}"]
    if groups != 1:
        return [f"verdict.pattern: expected a regular expression with one group, got {groups} in {pattern!r}"]
    return []


def pattern_marks(text: str, pattern: str) -> list[Mark] | Unreadable:
    """
    Return the matches of a user's expression; one that hangs is cut short.

    A mark ends where its group begins: a greedy group may swallow the closing quote of a quotation.
    """
    try:
        found = list(_pattern(pattern).finditer(text, timeout=REGEX_LIMIT_S))
    except TimeoutError:
        return Unreadable(f"verdict.pattern took more than {REGEX_LIMIT_S} s on the reply; make it simpler")
    return [
        Mark(m.start(), m.start(1), m[1], stop=_end(m), about=text[m.start() : min(m.start(1), m.start() + MAX_LEAD)])
        for m in found
        if m[1] is not None
    ]


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> regex.Pattern[str]:
    if problems := pattern_problems(pattern):
        raise ConfigError(problems)
    return regex.compile(pattern)


def _end(found: regex.Match[str]) -> int:
    """Return where a match ends: before a quote that its group swallowed."""
    quote = _QUOTE.search(found[1])
    return found.start(1) + quote.start() if quote and quote.start() else found.end()


_QUOTE = regex.compile('["”“»」』’]')
