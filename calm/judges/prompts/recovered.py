"""Recover the template of a judge's prompt from prompts as they were sent: the texts of the cases become slots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.judges.prompts.foreign import as_template

MOST_TRIED: Final = 20
"""So many prompts the template is looked for in; each guess is tested on all of them."""
_SLOT: Final = re.compile("\ue000(\\d+)\ue001")


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
    sound = [one for one in sent if not any(map(_SLOT.search, one.texts))]
    telling = sorted(sound, key=lambda one: -min((len(text) for text in one.values.values() if text), default=0))
    for one in telling[:MOST_TRIED]:
        marked = tuple(_marked(text, one.values) for text in one.texts)
        shown = sum(_shows(marked, one, other) for other in sent)
        if best is None or shown > best.shown:
            templates = tuple(_template(text, list(one.values)) for text in marked)
            best = Recovered(one.roles, templates, shown, len(sent))
        if best.whole:
            break
    return None if best is None or not any(_has_slots(best)) or (best.shown < 2 <= best.of) else best


def _has_slots(found: Recovered) -> list[bool]:
    return ["{{ answers[" in template for template in found.templates]


def _marked(text: str, values: Mapping[str, str]) -> str:
    """Return a text in which each text of the case is a mark, the longest first."""
    names = list(values)
    pieces: list[str] = [text]
    for name in sorted((name for name in names if values[name].strip()), key=lambda name: -len(values[name])):
        mark = f"\ue000{names.index(name)}\ue001"
        pieces = [
            part
            for piece in pieces
            for part in ([piece] if _SLOT.fullmatch(piece) else _split(piece, values[name], mark))
        ]
    return "".join(pieces)


def _split(piece: str, value: str, mark: str) -> list[str]:
    parts = piece.split(value)
    return [one for part in parts for one in (part, mark)][:-1]


def _shows(marked: Sequence[str], guess: Sent, other: Sent) -> bool:
    """Return whether marked texts, filled with the texts of another case, are its prompt."""
    if guess.roles != other.roles or guess.values.keys() != other.values.keys():
        return False
    names = list(guess.values)
    return all(
        _SLOT.sub(lambda slot: other.values[names[int(slot[1])]], text) == sent
        for text, sent in zip(marked, other.texts, strict=True)
    )


def _template(marked: str, names: Sequence[str]) -> str:
    parts = _SLOT.split(marked)
    return "".join(
        f"{{{{ {names[int(part)]} }}}}" if place % 2 else as_template(part) for place, part in enumerate(parts)
    )
