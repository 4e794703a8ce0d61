"""
Text that looks like a placeholder and is none for a prompt's notation: a brace lacks, or another tool writes it so.

Such a text reaches the judge as it is. So the judge misses a text of the case, and no error follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.foreign_names import OF_ANSWER, OF_QUESTION, SIDES, apart, meaning_of, parts, plain
from calm.judges.prompts.foreign import Translation

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]{0,39}(?:\.[A-Za-z0-9_]{1,39}){0,3}"
_BROKEN: Final = re.compile(
    rf"(?<![{{$#%\w])(?P<open>\{{{{1,3}}+)[ \t]*(?P<name>{_NAME})[ \t]*(?P<close>\}}{{0,3}}+)(?=(?P<end>[^\w:,\"']|\Z))"
    rf"|(?<![{{\w.\"'])(?P<bare>{_NAME})[ \t]*(?P<shut>\}}{{1,3}}+)"
)
"""Braces around a name, or on one side of it."""
_OTHER: Final = re.compile(
    rf"<<[ \t]*(?P<angle>{_NAME})[ \t]*>>|<(?P<tag>{_NAME})>|\[\[[ \t]*(?P<square>{_NAME})[ \t]*\]\]"
    rf"|\$\{{(?P<dollar>{_NAME})\}}|\{{\$(?P<prompty>{_NAME})\}}|(?<![\w$])\$(?P<shell>{_NAME})"
    rf"|(?<!\{{)\{{(?P<single>{_NAME})\}}(?!\}})|\{{\{{[ \t]*(?P<double>{_NAME})[ \t]*\}}\}}"
    rf"|(?<![\w%])%\((?P<python>{_NAME})\)s|(?<![\w%])%(?P<percent>{_NAME})%(?!\w)"
)
"""A name in the notation of some tool."""
_STATED: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
"""What Jinja2 reads."""
_REPLY: Final = frozenset(
    (
        *("verdict", "score", "rating", "grade", "result", "pass", "passed", "winner", "choice", "label", "better"),
        *("preference", "reason", "reasons", "reasoning", "explanation", "number", "id", "a", "b", "tie"),
    )
)
"""Names that stand for a part of the judge's reply, and for no text of a case."""


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A text that looks like a placeholder: its line from 1, how it is written, its name, and whether a brace lacks."""

    line: int
    written: str
    name: str
    broken: bool


def lookalikes(text: str, *, jinja: bool = False) -> Iterator[Lookalike]:
    """
    Yield what looks like a placeholder in a text without its placeholders, by place; `jinja`: also without statements.

    A tag that is closed somewhere is a tag.

    >>> [(one.written, one.broken) for one in lookalikes("{{reply_a} or <<reply_b>> in <p>html</p>")]
    [('{{reply_a}', True), ('<<reply_b>>', False)]
    """
    text = _STATED.sub(_blank, text) if jinja else text
    found: list[tuple[int, Lookalike]] = []
    for match in _BROKEN.finditer(text):
        opened, closed = len(match["open"] or ""), len(match["close"] or match["shut"] or "")
        lonely = match["open"] is not None and not closed and match["end"] not in ("", "\n", ")", "]", ">")
        inside = match["bare"] is not None and "{" in text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if opened != closed and not lonely and not inside:
            name = match["name"] or match["bare"]
            found.append((match.start(), Lookalike(_line(text, match.start()), match[0].strip(), name, broken=True)))
    for match in _OTHER.finditer(text):
        if match["tag"] is not None and f"</{match['tag']}" in text:
            continue
        if match["angle"] is not None and f"<</{match['angle']}>>" in text:
            continue
        name = next(name for name in match.groups() if name is not None)
        found.append((match.start(), Lookalike(_line(text, match.start()), match[0], name, broken=False)))
    yield from (one for _, one in sorted(found, key=lambda pair: pair[0]))


def missed(texts: Sequence[str], made: Translation, columns: Iterable[str] = ()) -> tuple[tuple[Lookalike, ...], ...]:
    """
    Return, by message, what looks like a placeholder of a text of the case and was not read as one.

    A name counts if it is usual for a text of a case, if it differs in its side alone from one that was read, or if it
    is that of a column, or of a part of one. It does not count if the prompt shows the same name in its own notation,
    or begins a placeholder right after it, as a tag without an end does.
    """
    read = {plain(one.name) for found in made.found for one in found}
    heads = {plain(column) for column in columns} | {part for column in columns for part in parts(column)}
    many = []
    for text, found in zip(texts, made.found, strict=True):
        ahead = [re.sub(r"\n\s*\Z", "", text[: one.start]) for one in found if one.end]
        masked = text
        for one in found:
            masked = f"{masked[: one.start]}{_blank_text(one.written)}{masked[one.end :]}" if one.end else masked
        many.append(
            tuple(
                one
                for one in lookalikes(masked, jinja=made.style == "jinja")
                if (one.broken and one.written.startswith("{{") and one.written.endswith("}"))
                or (
                    _is_meant(one.name, read, heads)
                    and (one.broken or plain(one.name) not in read)
                    and (one.broken or not any(before.endswith(f"<{one.name}>") for before in ahead))
                )
            )
        )
    return tuple(many)


def _is_meant(name: str, read: Iterable[str], heads: Iterable[str]) -> bool:
    word = plain(name)
    if word in _REPLY:
        return False
    return (
        meaning_of(name) is not None
        or word in heads
        or not (OF_ANSWER | OF_QUESTION).isdisjoint(parts(name))
        or any(apart(*pair) in SIDES for other in read for pair in ((word, other), (other, word)))
    )


def _blank(match: re.Match[str]) -> str:
    return _blank_text(match[0])


def _blank_text(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
