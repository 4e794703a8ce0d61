"""Prompts as files of turns, turned round by rule, and recovered from what was sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from calm.core.files import json_of, read_text
from calm.errors import ConfigError
from calm.judges.prompts.foreign import as_template

_HEAD: Final = re.compile(r"^### (system|user|assistant)[ \t]*\n", re.MULTILINE)
"""A line that begins a message, where a file holds several."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a prompt: whose it is, its text, and the line of its file where the text begins."""

    role: str
    text: str
    line: int


def text_of(path: Path) -> str:
    """
    Return the text of a prompt file, with one kind of line end.

    Raises:
        ConfigError: it is a folder, cannot be read, or is empty.
    """
    if path.is_dir():
        raise ConfigError(f"{path}: expected a prompt in a file, got a folder")
    text = read_text(path, "a prompt")
    if not text.strip():
        raise ConfigError(f"{path}: expected a prompt, got an empty file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def turns_of(path: Path, text: str) -> list[Turn]:
    """
    Return the messages of a prompt file with this text; a text that is no list of messages is one of the user.

    Raises:
        ConfigError: a .json file holds no list of messages.
    """
    if path.suffix == ".json":
        return [Turn(role, said, _line(text, said)) for role, said in _listed(path, text)]
    heads = list(_HEAD.finditer(text))
    if not heads or text[: heads[0].start()].strip():
        return [Turn("user", text, 1)]
    stops = [*(head.start() for head in heads[1:]), len(text)]
    return [
        Turn(head[1], text[head.end() : stop].removesuffix("\n"), text.count("\n", 0, head.end()) + 1)
        for head, stop in zip(heads, stops, strict=True)
    ]


def _line(text: str, said: str) -> int:
    begins = said.partition("\n")[0][:20].partition('"')[0]
    return text.count("\n", 0, max(0, text.find(begins))) + 1


def _listed(path: Path, text: str) -> list[tuple[str, str]]:
    try:
        turns = json_of(text)
    except ValueError as error:
        raise ConfigError(f"{path}: expected JSON: {error}") from error
    if (
        not isinstance(turns, list)
        or not turns
        or not all(
            isinstance(turn, dict) and isinstance(turn.get("role"), str) and isinstance(turn.get("content"), str)
            for turn in turns
        )
    ):
        raise ConfigError(f'{path}: expected a list of {{"role": ..., "content": ...}} with texts')
    return [(turn["role"], turn["content"]) for turn in turns]


_VALUES: Final = re.compile(
    r"\b(?:better|best|good|great|excellent|prefer\w*|superior|worse|worst|bad|poor\w*|winn\w+|wins?|stronger|higher|"
    r"highest|favou?r\w*|correct\w*|helpful\w*|quality|perfect\w*|accura\w+|outstanding|lower|lowest|weak\w*)\b",
    re.IGNORECASE,
)
"""Words that say which way round a prompt asks; each must be in a sentence that a rule knows."""
_NOUN: Final = (
    r"(?:answer|response|output|reply|assistant|completion|one|candidate|review|comment|summary|translation|draft|"
    r"version|option|model|bot|agent)s?"
)
_SLOT: Final = r"(?:[A-Z0-9]|\[?\{\{[^{}]+\}\}\]?|[Aa]ssistant [A-Z0-9])"
_MORE: Final = r",? (?:and|but|or|while|without)\b[^?\n]*(?=\?)"
"""The rest of a question with several criteria: the opposite of all of them is not the opposite of one."""
_PAIRWISE: Final = (
    (
        rf"\b(which (?:of the )?(?:two )?{_NOUN} )((?:(?:is|are) (?:the )?(?:better|best)|(?:\w+ )?"
        rf"(?:helps|serves|answers) (?:\w+ ){{1,5}}(?:better|more)){_MORE})",
        "{0}is worse, if the better one {1}",
    ),
    (rf"\b(which (?:of the )?(?:two )?(?:{_NOUN} )?(?:is|are) )(?:the )?(better|best)\b", "{0}worse"),
    (
        rf"\b(which (?:of the )?(?:two )?(?:{_NOUN} )(?:\w+ )?(?:helps|serves|answers) (?:\w+ ){{1,5}})(better|more)\b",
        "{0}less",
    ),
    (rf"\b((?:if|when) (?:the )?(?:{_NOUN} )?{_SLOT} is )(better)\b", "{0}worse"),
    (r"\b((?:if|when) (?:neither|none) (?:of them )?(?:is|does) )(better)\b", "{0}worse"),
    (r"\b((?:if|when) both are (?:equally|as) )(good)\b", "{0}bad"),
    (rf"\b(the )(better|best)( (?:{_NOUN}))\b", "{0}worse{2}"),
)
_SCORE: Final = (
    (r"\b(how )(good)\b", "{0}bad"),
    (r"(\b\d+\s*(?:=|:|is|means|for|\()\s*(?:the )?)(best|good)\b", "{0}worst"),
    (r"(\b\d+\s*(?:=|:|is|means|for|\()\s*(?:the )?)(worst|bad)\b", "{0}best"),
)


@dataclass(frozen=True, slots=True)
class Turned:
    """A text that asks the other way round (None: no rule turns it), and the word and line that no rule knows."""

    text: str | None
    word: str = ""
    line: int = 0


def turned(template: str, task: Literal["pairwise", "score"]) -> Turned:
    """
    Return a template that asks for the worse answer, or how bad an answer is.

    >>> turned("Say which answer is better. End with [[A]] if A is better.", "pairwise").text
    'Say which answer is worse. End with [[A]] if A is worse.'
    >>> turned("Choose the one that answers better.", "pairwise")
    Turned(text=None, word='better', line=1)
    """
    known: list[tuple[int, int, str]] = []
    for pattern, form in _PAIRWISE if task == "pairwise" else _SCORE:
        for found in re.finditer(pattern, template, re.IGNORECASE):
            if not any(start < found.end() and found.start() < end for start, end, _ in known):
                known.append((found.start(), found.end(), form.format(*(group or "" for group in found.groups()))))
    for word in _VALUES.finditer(template):
        if not any(start <= word.start() < end for start, end, _ in known):
            return Turned(None, word[0], template.count("\n", 0, word.start()) + 1)
    if not known:
        return Turned(None)
    parts, at = [], 0
    for start, end, text in sorted(known):
        parts += [template[at:start], text]
        at = end
    return Turned("".join([*parts, template[at:]]))


MOST_TRIED: Final = 20
"""So many prompts the template is looked for in; each guess is tested on all of them."""
_HOLE: Final = re.compile("\ue000(\\d+)\ue001")


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt as it was sent: its texts in the order of the messages, and the texts of its case by expression."""

    roles: tuple[str, ...]
    texts: tuple[str, ...]
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The templates by message, and how many of the prompts they show byte for byte."""

    roles: tuple[str, ...]
    templates: tuple[str, ...]
    shown: int
    of: int

    @property
    def whole(self) -> bool:
        """Whether all prompts are shown byte for byte."""
        return self.shown == self.of


def recovered(sent: Sequence[Sent]) -> Recovered | None:
    """
    Return the templates that show the most of some prompts; None if none shows more than the one it was found in.

    Of two prompts only those with the same roles can have one template. A text that also stands in the instruction
    makes a wrong guess; a prompt about another case then makes the right one, so several are tried.
    """
    best: Recovered | None = None
    sound = [one for one in sent if not any(map(_HOLE.search, one.texts))]
    telling = sorted(sound, key=lambda one: -min((len(text) for text in one.values.values() if text), default=0))
    for one in telling[:MOST_TRIED]:
        marked = tuple(_marked(text, one.values) for text in one.texts)
        shown = sum(_shows(marked, one, other) for other in sent)
        if best is None or shown > best.shown:
            templates = tuple(_template(text, list(one.values)) for text in marked)
            best = Recovered(one.roles, templates, shown, len(sent))
        if best.whole:
            break
    return (
        None
        if best is None
        or not any("{{ answers[" in template for template in best.templates)
        or (best.shown < 2 <= best.of)
        else best
    )


def _marked(text: str, values: Mapping[str, str]) -> str:
    names = list(values)
    pieces: list[str] = [text]
    for name in sorted((name for name in names if values[name].strip()), key=lambda name: -len(values[name])):
        mark = f"\ue000{names.index(name)}\ue001"
        pieces = [
            part
            for piece in pieces
            for part in ([piece] if _HOLE.fullmatch(piece) else _split_at(piece, values[name], mark))
        ]
    return "".join(pieces)


def _split_at(piece: str, value: str, mark: str) -> list[str]:
    parts = piece.split(value)
    return [one for part in parts for one in (part, mark)][:-1]


def _shows(marked: Sequence[str], guess: Sent, other: Sent) -> bool:
    if guess.roles != other.roles or guess.values.keys() != other.values.keys():
        return False
    names = list(guess.values)
    return all(
        _HOLE.sub(lambda slot: other.values[names[int(slot[1])]], text) == sent
        for text, sent in zip(marked, other.texts, strict=True)
    )


def _template(marked: str, names: Sequence[str]) -> str:
    parts = _HOLE.split(marked)
    return "".join(
        f"{{{{ {names[int(part)]} }}}}" if place % 2 else as_template(part) for place, part in enumerate(parts)
    )
