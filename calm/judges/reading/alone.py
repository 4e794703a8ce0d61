"""
A verdict that needs no second look: it ends the last line of a reply, and nothing above that line bears on it.

Most judges write it so, as the bundled prompts ask. Then the line alone says how sure its verdict is, and the same few
lines come again and again: what `decide` makes of one is remembered. A test compares the two.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from calm.core.verdict import Scale, Tie
from calm.judges.reading.deciding import decide
from calm.judges.reading.layout import QUOTES, TERMINAL
from calm.judges.reading.marks import Mark
from calm.judges.reading.quotations import quoted
from calm.judges.reading.views import View
from calm.judges.reading.words import Cue, has

LONGEST_LINE: Final = 120
"""Characters of a line that is remembered."""
_MAY_LABEL: Final = re.compile(r"^[ \t]*(?:#|\*\*|__)|[:：][ \t*]*$", re.MULTILINE)
"""A line that may say what follows it: a heading, a bold line, or one that ends in a colon."""
_FENCES: Final = ("```", "~~~")
_SIGNS: Final = frozenset("".join(sign for pair in QUOTES for sign in pair)) | {">", "<"}
"""Signs in a line whose meaning the rest of the reply can change."""
_NO_SCALE: Final = Scale()


def stands_alone(text: str, mark: Mark, view: View) -> bool:
    """
    Return whether the only verdict of a reply is beyond doubt at first sight: `decide` would return it.

    False says nothing: such a verdict needs the second look.
    """
    if mark.key or mark.stop > mark.end or text[mark.stop :].strip() or type(mark.raw) is not str:
        return False
    start = text.rfind("\n", 0, mark.start) + 1
    before, said = text[start : mark.start], text[mark.start : mark.stop]
    if len(before) + len(said) > LONGEST_LINE or "\n" in said or not _SIGNS.isdisjoint(before):
        return False
    above = text[:start].rstrip()
    if above and (above[-1] not in TERMINAL or _MAY_LABEL.search(above)):
        return False
    if any(fence in text for fence in _FENCES) or quoted(text, mark, view.judged):
        return False
    if view.task == "pairwise" and has(Cue.BETTER, before):
        return False  # it may praise the other answer
    if not before.strip() and not mark.about:
        return True
    end = len(before) + len(said)
    shifted = Mark(len(before), end, mark.raw, about=mark.about, remark=mark.remark)
    return _line_decides(before + said, shifted, View(view.task, view.labels, (), _NO_SCALE, framing=view.framing))


@lru_cache(maxsize=1024)
def _line_decides(line: str, mark: Mark, view: View) -> bool:
    """Return whether a line that ends in a verdict gives it, where nothing else stands in the reply."""
    return decide(line, [mark], lambda _: Tie(), view) == mark
