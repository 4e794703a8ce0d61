"""What an edit put into a case, and what it took out: the beginning of both, for a list that people read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rapidfuzz.distance import Indel

from calm.core.alike import shared
from calm.core.case import COPY, Case
from calm.core.texts import GAP

MOST: Final = 240
"""Characters kept of each."""
LONGEST: Final = 6_000
"""Characters of texts that are compared word by word: the time grows with their square."""
FEW: Final = 9
"""Words and blanks that two changes may have between them and still be one."""
_UNSEEN: Final = ("id", "better", "met", "scores", "variants", "tags", "order", "annotations")
"""Parts of a case that hold no words which a judge reads."""


def came_and_went(base: Case, shown: Case) -> tuple[str, str]:
    """
    Return the beginning of the words that an edit put into a case, and of those that it took out.

    Both are empty where the words are the same, as after another order of the answers. Where an answer is compared with
    its own damaged copy, they are what the damage put in and took out.
    """
    if copies := _copies(base, shown):
        found = [_middle(*pair) for pair in copies]
    else:
        found = list(_changed(_seen(base), _seen(shown)))
    came, went = (GAP.join(filter(None, (pair[side].strip() for pair in found))) for side in (0, 1))
    return beginning(came), beginning(went)


def differing(base: Case, shown: Case) -> Iterator[tuple[str, str, str]]:
    """Yield what came and went in each part of a case beside its turns, its passages, and the answers themselves."""
    before, after = _seen(base), _seen(shown)
    for part in dict.fromkeys([*before, *after]):
        if part in ("answers", "turns", "context"):
            continue
        pairs = list(_changed(before.get(part), after.get(part)))
        came, went = (_joined([pair[side] for pair in pairs]) for side in (0, 1))
        if came or went:
            yield part, came, went


def changed_words(before: str, after: str) -> tuple[str, str]:
    """Return the words that came into a text, and those that went."""
    came, went = _middle(before, after)
    return came.strip(), went.strip()


def beginning(text: str) -> str:
    """Return the beginning of a text that is kept."""
    return text if len(text) <= MOST else f"{text[: MOST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _copies(base: Case, shown: Case) -> list[tuple[str, str]]:
    """Return the texts of answers that are compared with their own damaged copies, and those of the copies."""
    known = {one.id: one.text for one in base.answers}
    new = [one for one in shown.answers if one.id not in known and one.id.endswith(COPY)]
    whole = ((known.get(one.id.removesuffix(COPY)), one.text) for one in new)
    return [(before, after) for before, after in whole if before is not None]


def _seen(case: Case) -> dict[str, object]:
    return {name: value for name, value in case.content().items() if name not in _UNSEEN}


def _changed(before: object, after: object) -> Iterator[tuple[str, str]]:
    """Yield what came and what went, for each text that differs."""
    if before == after:
        return
    if isinstance(before, str) and isinstance(after, str):
        yield _middle(before, after)
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            yield from _changed(before.get(name), after.get(name))
    elif isinstance(before, list) and isinstance(after, list):
        old, new = _named(before), _named(after)
        for name in dict.fromkeys([*old, *new]):
            yield from _changed(old.get(name), new.get(name))
    else:
        yield " ".join(_words(after)), " ".join(_words(before))


def _named(values: list[object]) -> dict[object, object]:
    """Return the items of a list by their ids where they have some, else by their places."""
    return {one["id"] if isinstance(one, dict) and "id" in one else i: one for i, one in enumerate(values)}


def _middle(before: str, after: str) -> tuple[str, str]:
    """Return what is left of two texts without the words that they begin and end with alike."""
    head = shared(before, after)
    left, right = before[head:], after[head:]
    tail = shared(left[::-1], right[::-1])
    right, left = right[: len(right) - tail], left[: len(left) - tail]
    return _by_words(left, right) if left and right and max(len(left), len(right)) <= LONGEST else (right, left)


def _by_words(before: str, after: str) -> tuple[str, str]:
    """Return the same without longer stretches that both texts share."""
    old, new = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (before, after))
    came, went = [""], [""]
    for op in Indel.opcodes(old, new):
        if op.tag == "equal" and op.src_end - op.src_start > FEW:
            came.append("")
            went.append("")
            continue
        came[-1] += "".join(new[op.dest_start : op.dest_end])
        went[-1] += "".join(old[op.src_start : op.src_end])
    return _joined(came), _joined(went)


def _joined(parts: list[str]) -> str:
    return GAP.join(filter(None, map(str.strip, parts)))


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _words(one) if name != "id" else ()
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)
