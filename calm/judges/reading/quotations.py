"""What of a reply quotes a judged text: a verdict in a quotation is none."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from string import punctuation
from typing import Final

from calm.judges.reading.marks import INVISIBLE, Mark, line_of

MIN_QUOTE: Final = 5
"""Characters from which on a quotation can be distinguished from a bare verdict in quotes: the length of `[[A]]`."""


_PAIRS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "„": "“”",
    "”": "”",
    "‘": "’",
    "‚": "‘’",
    "«": "»",
    "»": "«",
    "「": "」",
}
_TICKS = "(?<!`)`{1,2}(?!`)"  # three of them are a fence
_OPENERS = re.compile(f"{_TICKS}|[{''.join(_PAIRS).replace('`', '')}]")
_CLOSERS = re.compile(f"{_TICKS}|[{''.join(sorted(set(''.join(_PAIRS.values())))).replace('`', '')}]")
_WINDOW = 2_000
_FEW = 4
_MANY = 30
_WORD = re.compile(r"\S+")
_LETTER = re.compile(r"[^\W_]")
_SENTENCE_END = re.compile(r"[.!?]\s|[。！？\n]")
_NEAREST = 6
_SIGNS = frozenset(punctuation) - {"\\"}
FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)


@lru_cache(maxsize=512)
def _normal(text: str) -> str:
    """Return a text without what a quotation may change: case, white space, the backslashes of neutralised tags."""
    return " ".join(INVISIBLE.sub("", text).replace("\\", "").casefold().split())


def _repeats(content: str, judged: Sequence[str]) -> bool:
    """Return whether a judged text has this content, apart from an ellipsis at its ends."""
    plain = _normal(content).strip(" .…")
    return len(plain) >= MIN_QUOTE and any(plain in _normal(text) for text in judged)


def quoted(text: str, mark: Mark, judged: Sequence[str]) -> bool:
    """Return whether a verdict stands in a quotation of a judged text."""
    plain = _normal(text[mark.start : mark.end])
    sign = next((sign for sign in plain if sign in _SIGNS), "")  # it stays as it is in any normal form: a quick look
    if not any(sign in text and plain in _normal(text) for text in judged):
        return False
    return _in_quotes(text, mark, judged) or _in_block(text, mark, judged) or _in_place(text, mark, judged)


def _in_place(text: str, mark: Mark, judged: Sequence[str]) -> bool:
    """
    Return whether a verdict stands between the words that a judged text has around it: the reply copies that text.

    Its own line, such as "Verdict: [[A]]", proves nothing: a judge may write the same.
    """
    begin, end = max(0, mark.start - _WINDOW), min(len(text), mark.end + _WINDOW)
    own = max((m.end() for m in _SENTENCE_END.finditer(text, begin, mark.start)), default=begin)
    few, many = _words_before(text, begin, own), _words_after(text, mark.end, end)
    texts = [_normal(one) for one in judged]
    if few[0] is not None and many[0] is not None and any(_normal(text[few[0] : many[0]]) in one for one in texts):
        return True
    if few[1] is not None and any(one.endswith(_normal(text[few[1] : mark.end])) for one in texts):
        return True
    return many[1] is not None and any(one.startswith(_normal(text[own : many[1]])) for one in texts)


def _words_before(text: str, begin: int, end: int) -> tuple[int | None, int | None]:
    """Return where the last words begin that have a few letters, and many."""
    words = [(m.start(), len(_LETTER.findall(m[0]))) for m in _WORD.finditer(text, begin, end)]
    return _reach(reversed(words))


def _words_after(text: str, begin: int, end: int) -> tuple[int | None, int | None]:
    """Return where the first words end that have a few letters, and many."""
    return _reach((m.end(), len(_LETTER.findall(m[0]))) for m in _WORD.finditer(text, begin, end))


def _reach(words: Iterable[tuple[int, int]]) -> tuple[int | None, int | None]:
    letters, few = 0, None
    for at, more in words:
        letters += more
        few = at if few is None and letters >= _FEW else few
        if letters >= _MANY:
            return few, at
    return few, None


def _in_quotes(text: str, mark: Mark, judged: Sequence[str]) -> bool:
    """Return whether quotes or backticks around a verdict hold what a judged text says; the nearest few are tried."""
    begin = max(0, mark.start - _WINDOW)
    opened = list(_OPENERS.finditer(text, begin, mark.start))[-_NEAREST:]
    closed = islice(_CLOSERS.finditer(text, mark.end, mark.end + _WINDOW), _NEAREST)
    return any(
        _fits(left[0][0], right[0][0]) and _repeats(text[left.end() : right.start()], judged)
        for right in closed
        for left in reversed(opened)
    )


def _fits(left: str, right: str) -> bool:
    return right in _PAIRS.get(left, "")


def _in_block(text: str, mark: Mark, judged: Sequence[str]) -> bool:
    """Return whether a code fence or a block quote holds the verdict, in lines that a judged text has."""
    start, end = line_of(text, mark)
    line = text[start:end].strip()
    if line.startswith(">"):
        return _repeats(line.lstrip("> \t"), judged)
    return bisect_left(_fences(text), start) % 2 == 1 and _repeats(line, judged)


def is_quotation(text: str, start: int, line: str, judged: Sequence[str]) -> bool:
    """Return whether a whole line is quoted, and a judged text has it."""
    marked = line.startswith(">") or bisect_left(_fences(text), start) % 2 == 1 or _fits(line[0], line[-1])
    return marked and _repeats(line.strip("> \t" + "".join(_PAIRS) + "".join(_PAIRS.values())), judged)


@lru_cache(maxsize=2)
def _fences(text: str) -> tuple[int, ...]:
    """Return where the lines begin that open or close a code fence."""
    return tuple(m.start() for m in FENCE.finditer(text))
