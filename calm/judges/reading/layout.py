"""A reply as a page: its lines, fences and headings, the text around a verdict, and what is quoted."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from string import punctuation
from typing import Final

from calm.judges.reading.marks import INVISIBLE, Cue, Mark, cue, has, line_of

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
_ASCII = frozenset(punctuation) - {"\\"}
FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)


@lru_cache(maxsize=512)
def _normal(text: str) -> str:
    return " ".join(INVISIBLE.sub("", text).replace("\\", "").casefold().split())


def _repeats(content: str, judged: Sequence[str]) -> bool:
    plain = _normal(content).strip(" .…")
    return len(plain) >= MIN_QUOTE and any(plain in _normal(text) for text in judged)


def quoted(text: str, mark: Mark, judged: Sequence[str]) -> bool:
    """Return whether a verdict stands in a quotation of a judged text."""
    plain = _normal(text[mark.start : mark.end])
    sign = next((sign for sign in plain if sign in _ASCII), "")  # it stays as it is in any normal form: a quick look
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
    few, many = (
        _words_before(text, begin, own),
        _reach((m.end(), len(_LETTER.findall(m[0]))) for m in _WORD.finditer(text, mark.end, end)),
    )
    texts = [_normal(one) for one in judged]
    if few[0] is not None and many[0] is not None and any(_normal(text[few[0] : many[0]]) in one for one in texts):
        return True
    if few[1] is not None and any(one.endswith(_normal(text[few[1] : mark.end])) for one in texts):
        return True
    return many[1] is not None and any(one.startswith(_normal(text[own : many[1]])) for one in texts)


def _words_before(text: str, begin: int, end: int) -> tuple[int | None, int | None]:
    words = [(m.start(), len(_LETTER.findall(m[0]))) for m in _WORD.finditer(text, begin, end)]
    return _reach(reversed(words))


def _reach(words: Iterable[tuple[int, int]]) -> tuple[int | None, int | None]:
    letters, few = 0, None
    for at, more in words:
        letters += more
        few = at if few is None and letters >= _FEW else few
        if letters >= _MANY:
            return few, at
    return few, None


def _in_quotes(text: str, mark: Mark, judged: Sequence[str]) -> bool:
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
    return tuple(m.start() for m in FENCE.finditer(text))


WINDOW: Final = 400
"""Characters before and after a verdict that are looked at."""
LONGEST_LABEL: Final = 90
"""Characters that a line may have and be the label of what follows it."""
LONGEST_WORD: Final = 15
"""Characters of a last word that may deny what stands in the next line."""
HOLE: Final = "\ufffc"
"""Stands in place of each verdict: the words in a verdict say nothing about another one."""

_BLANK: Final = f" \t\n#*-•{HOLE}"
_SIGNS: Final = " \t$*_#>|~`\"'“”„«»「」『』‘’()[]{}（）【】<>"
"""Signs of Markdown and quotes."""
_SIGNS_BUT_OPENED: Final = _SIGNS.replace("(", "").replace("（", "")
"""Behind a verdict, what a bracket opens is a reason."""
_SEPARATORS: Final = ":：=→⇒➜—–-|>→"
_BULLET: Final = re.compile(r"[ \t>]*(?:[-*+•·▪●✓✔➤🏆]+|[0-9]{1,2}[.)])[ \t]+")
_STOP: Final = re.compile(
    r"</(?!(?:a|b|i|u|em|strong|span|font|mark|code|s|del|sup|sub|small|big|q|cite|ins|kbd)>)[A-Za-z][^<>\s]{0,40}>"
    r"|[ \t](?=#[A-Za-z])|(?<!e\.g)(?<!i\.e)[.!?…]+[\"'”’»)*_]*(?=\s)|[。！？]+[」』”）]*|\n"
)
_BREAK: Final = re.compile(r"[,;:，、；：()（）]\s?|\s[—–-]{1,2}\s|——")
_CLOSED: Final = re.compile(
    r"\s*(?:\Z|[.。!！;；—–(（\n\]]|-{1,2}\s|/\s*\d|out of\s+\d|(?:von|sur|de|su|из|점)\s+\d|[|:：])"
)
_LABEL: Final = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+(?P<heading>.+)|(?P<bold>(?:\*\*|__).+(?:\*\*|__):?)|(?P<colon>.+[:：]\**))"
)
_OPENED: Final = re.compile(r"[\s*_#-]*(?:([^:：\"“«„「]{1,60})[:：][\s*_]*)?[\"“„«「'‘][^\"”»」]*")
_CLOSING_TAG: Final = re.compile(r"</?[^<>\s]{1,40}>\s*\Z")
TERMINAL: Final = ".!?。！？…"
"""Signs that end a sentence."""


@dataclass(frozen=True, slots=True)
class Around:
    """
    The text around a verdict: the rest of its line, its sentence, its clause, and what introduces it.

    `sentence` and `clause` have the parts before and after the verdict; `intro` is the line above that leads to it,
    as a sentence and its last clause, and `section` the nearest label above it. `opens` says whether only a label and
    signs are before it on its line, `closes` whether only reasons are after it.
    """

    sentence: tuple[str, str]
    clause: tuple[str, str]
    intro: tuple[str, str]
    section: str
    opens: bool
    closes: bool
    question: bool


class Layout:
    """The lines of a reply and where they lie; all of it is found in one pass over the reply."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self.text = text
        self.page = with_holes(text, marks)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins; the lines of a verdict of several lines are one."""
        return [0, *(m.end() for m in re.finditer("\n", self.page))]

    @cached_property
    def labels(self) -> list[tuple[int, str]]:
        """The lines that say what follows: headings, bold lines, and short lines that end in a colon."""
        found = []
        for line in re.finditer(rf"^[^\n{HOLE}]{{2,{LONGEST_LABEL}}}$", self.page, re.MULTILINE):
            label = _LABEL.fullmatch(line[0].rstrip())
            if label is not None:
                found.append((line.start(), line[0].strip(_SIGNS)))
        return found

    @property
    def fences(self) -> tuple[int, ...]:
        """Where the lines lie that open or close a code fence."""
        return _fences(self.page)

    @cached_property
    def whole(self) -> str:
        """The page without the white space around it."""
        return self.page.strip()

    def line(self, at: int) -> int:
        """Return the number of the line at a place, from 1."""
        return self.text.count("\n", 0, at) + 1

    def bounds(self, at: int) -> tuple[int, int]:
        """Return where the line at a place begins and ends."""
        number = bisect_right(self.starts, at) - 1
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.page)
        return self.starts[number], end

    def around(self, mark: Mark) -> Around:
        """Return the text around a verdict; the number of its criterion does not count."""
        start, end = self.bounds(mark.start)
        begin = max(start + mark.key, mark.start - WINDOW)
        before, after = self.page[begin : mark.start], self.page[mark.stop : min(end, mark.stop + WINDOW)]
        bullet = _BULLET.match(before)
        before = before[bullet.end() :] if bullet else before
        head = _last_of(before).strip(_SIGNS)
        label = head.rstrip(_SEPARATORS + _SIGNS)
        opens = (
            not head
            or (HOLE not in head and head[-1] in _SEPARATORS and len(label) <= LONGEST_LABEL)
            or _announces(head)
        )
        intro = "" if mark.key or _STOP.search(before) else self._intro(start)
        sentence = (_last_of(before), _first_of(after))
        return Around(
            sentence=sentence,
            clause=(_last_clause(sentence[0]), _first_clause(sentence[1])),
            intro=(intro, _last_clause(intro)),
            section=self._section(start),
            opens=opens,
            closes=_closes(after.lstrip(_SIGNS_BUT_OPENED)),
            question=re.match(r"[^.!。！\n]{0,80}[?？]", after) is not None,
        )

    def _section(self, start: int) -> str:
        at = bisect_left(self.labels, (start, "")) - 1
        return self.labels[at][1] if at >= 0 else ""

    def _intro(self, start: int) -> str:
        number = bisect_right(self.starts, start) - 1
        gap = False
        for back in range(number - 1, max(-1, number - 8), -1):
            first, last = self.starts[back], self.starts[back + 1] - 1
            line = self.page[max(first, last - WINDOW) : last].strip()
            if not line or FENCE.match(line):
                gap = gap or not line
                continue
            if HOLE in line:
                if line.lstrip("-*+•0123456789.)| \t").startswith(HOLE) and not gap:
                    continue  # a list of verdicts has one introduction
                return ""
            closed = _STOP.match(line, line.rfind("<")) is not None and line.endswith(">")
            line = _CLOSING_TAG.sub("", line)
            ends = line.rstrip("*_`\"'”» ")[-1:]
            if ends in (":", "："):
                return _last_of(line)
            word = "" if gap or closed or ends in TERMINAL else line.rsplit(None, 1)[-1]
            return word if len(word) <= LONGEST_WORD and has(Cue.DENIED, word, before=True) else ""
        return ""

    def fenced(self, mark: Mark) -> bool:
        """Return whether a verdict stands in a fence together with other text, and the reply goes on around it."""
        before = bisect_left(self.fences, mark.start)
        if before % 2 == 0:
            return False
        opening = self.fences[before - 1]
        first = self.page.find("\n", opening) + 1
        closing = self.fences[before] if before < len(self.fences) else len(self.page)
        start, end = self.bounds(mark.start)
        others = self.page[max(first, start - WINDOW) : start].strip(_BLANK) or self.page[
            end : min(closing, end + WINDOW)
        ].strip(_BLANK)
        outside = self.page[max(0, opening - WINDOW) : opening].strip()
        return bool(others) and bool(outside)

    def _beside(self, mark: Mark) -> tuple[str, str]:
        start, end = self.bounds(mark.start)
        before = self.page[max(start, mark.start - WINDOW) : mark.start]
        return before, self.page[mark.stop : min(end, mark.stop + WINDOW)]

    def struck(self, mark: Mark) -> bool:
        """Return whether a verdict is struck out or stands in a comment of HTML."""
        before, after = self._beside(mark)
        return (before.count("~~") % 2 == 1 and "~~" in after) or before.rfind("<!--") > before.rfind("-->")

    def quoted(self, mark: Mark) -> bool:
        """Return whether quotes hold a verdict together with other words, or a block quote does."""
        before, after = self._beside(mark)
        whole = self.whole
        return any(
            _in_pair(before, after, left, right)
            for left, right in QUOTES
            if left in before and right in after and not (whole.startswith(left) and whole.endswith(right))
        )

    def ends_quoted(self, mark: Mark) -> str | None:
        """Return the label of a last line that quotes hold but for it, where no other verdict stands; else None."""
        start, _ = self.bounds(mark.start)
        others = self.page[: mark.start] + self.page[mark.stop :]
        opened = _OPENED.fullmatch(self.page[start : mark.start])
        if opened is None or HOLE in others or self.page[mark.stop :].strip(_SIGNS + TERMINAL):
            return None
        return opened[1] or ""

    def block_quoted(self, mark: Mark) -> bool:
        """Return whether a verdict stands in a block quote of a reply that is not one as a whole."""
        start, _ = self.bounds(mark.start)
        return self.page.startswith(">", start) and not self.whole.startswith(">")


QUOTES: Final = (
    *(("“", "”"), ("„", "“"), ("„", "”"), ("«", "»"), ("»", "«"), ("「", "」"), ("『", "』"), ("‘", "’"), ("‹", "›")),
    *(('"', '"'), ("'", "'"), ("`", "`")),
)


def _in_pair(before: str, after: str, left: str, right: str) -> bool:
    if left == right:
        opened = _odd_quote(before, left)
        closed = after.find(right) if left != "'" else _closing(after)
    else:
        opened = before.rfind(left) if before.rfind(left) > before.rfind(right) else -1
        closed = after.find(right)
    if opened < 0 or closed < 0:
        return False
    return bool(before[opened + 1 :].strip(_SIGNS) or after[:closed].strip(_SIGNS + TERMINAL))


def _odd_quote(before: str, sign: str) -> int:
    if sign == "'":
        found = [m.start() for m in re.finditer(r"(?<!\w)'(?=\S)|(?<=\S)'(?!\w)", before)]
    else:
        found = [m.start() for m in re.finditer(re.escape(sign), before)]
    return found[-1] if len(found) % 2 else -1


def _closing(after: str) -> int:
    found = re.search(r"(?<=\S)'(?!\w)|^'", after)
    return found.start() if found else -1


def with_holes(text: str, marks: Sequence[Mark]) -> str:
    """Return a text of the same length in which each verdict is a hole."""
    parts, at = [], 0
    for mark in marks:
        if mark.start >= at:
            parts += [text[at : mark.start], HOLE * (mark.stop - mark.start)]
            at = mark.stop
    return "".join([*parts, text[at:]])


def _last_of(before: str) -> str:
    return before[max((stop.end() for stop in _STOP.finditer(before)), default=0) :]


def _first_of(after: str) -> str:
    stop = _STOP.search(after)
    return after[: stop.start()] if stop else after.rstrip(TERMINAL)


def _last_clause(before: str) -> str:
    body = before.rstrip(_SIGNS + _SEPARATORS + ",，、")
    at = max((m.end() for m in _BREAK.finditer(body)), default=0)
    low = body.lower() if len(body.lower()) == len(body) else body
    # the "but" of "anything but" begins no clause
    others = {m.end() for kind in (Cue.DENIED, Cue.OTHERS) for m in cue(kind).finditer(low, at)}
    at = max((m.end() for m in cue(Cue.JOINT).finditer(low, at) if m.end() not in others), default=at)
    return body[at:]


def _first_clause(after: str) -> str:
    body = after.lstrip(_SIGNS)
    low = body.lower() if len(body.lower()) == len(body) else body
    ends = [m.start() for m in (_BREAK.search(body), cue(Cue.JOINT).search(low)) if m is not None]
    return body[: min(ends)] if ends else body


def _closes(after: str) -> bool:
    if _CLOSED.match(after):
        return True
    why = cue(Cue.JOINT).search(after[:40].lower())
    return why is not None and not after[: why.start()].strip(" ,，、")


def _announces(head: str) -> bool:
    words = head.split()
    return len(words) <= 5 and len(head) <= 40 and has(Cue.NOUN, head) and not has(Cue.OTHERS, head)
