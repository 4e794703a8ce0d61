"""The ranges of scores that the text of a prompt states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_N: Final = rf"(?:\d{{1,4}}(?:\.\d{{1,2}})?|{'|'.join(WORDS)})"
_TO: Final = r"(-|–|—|~|～|to|through|/|\.\.)"
_LENGTH: Final = (
    r"(?!\s*(?:(?:short|brief|full|complete|bullet|key|main)\s+)?(?:sentences?|lines?|words?|paragraphs?|reasons?|steps?|"
    r"characters?|tokens?|examples?|items?|bullets?|bullet points?|minutes?|pages?)\b)"
)
"""What follows a range that says how long a text is to be."""
_RANGES: Final = (
    re.compile(rf"\b(?:between[^\d\n]{{0,40}}?\b({_N})\s*(and)\s*({_N})\b{_LENGTH})", re.IGNORECASE),
    re.compile(
        r"\b(?:from|between|scale(?: of)?|range[ds]?(?: from| of)?|rat(?:e|ing)|scores?(?: of)?|integer|number|value|"
        r"severity|levels?)\b"
        rf"[^\d\n]{{0,40}}?\(?\[?\b({_N})\s*(?:\([^()\d\n]{{1,40}}\)\s*)?{_TO}\s*({_N})\b{_LENGTH}",
        re.IGNORECASE,
    ),
    re.compile(rf"[\[(<:][\"' ]{{0,3}}({_N})\s*(-|–|—|~|～|to)\s*({_N})[\"' ]{{0,3}}[\])>}},\n]", re.IGNORECASE),
    re.compile(rf"\b({_N})\s*(-|–|—|~|～|to)\s*({_N})\s*(?:%|\b(?:scale|points?|stars?|rating)\b)", re.IGNORECASE),
    re.compile(rf"\b({_N})\s*\([^()\d\n]{{1,40}}\)\s*{_TO}\s*({_N})\b{_LENGTH}", re.IGNORECASE),
    re.compile(
        r"\b(?:how|count|judge|assess|evaluate|grade|measure|estimate|mark)\b"
        r"(?:(?!\b(?:steps?|criteri\w+|rules?|points|questions?|lines?|chapters?|sections?|years?|ages?)\s+\d)[^\d\n.!]){0,90}?"
        rf"\b({_N})\s*(-|–|—|~|～|to)\s*({_N})\b{_LENGTH}",
        re.IGNORECASE,
    ),
)
_TOPS: Final = (
    re.compile(rf"\bout of (?:a (?:maximum|total) of )?({_N})\b{_LENGTH}", re.IGNORECASE),
    re.compile(rf"\b({_N})[- ](?:point|star)s?\b(?: (?:likert )?scale)?", re.IGNORECASE),
)
"""How a text states the top of a scale alone."""
_LISTED: Final = re.compile(
    r"^[^\w\n]{0,20}(?:(?:score|rating|grade|level)\s*(\d{1,2})\b|(\d{1,2})\s*(?:[=:–—]|-\s))",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that begins with a value of the scale."""
_EXPLAINED: Final = re.compile(
    r"(?<![\w.])(\d{1,3})\s*(?:=|\b(?:is|means|being|for|if)\b)[\s\"'`]*(?=[^\W\d])", re.IGNORECASE
)
"""A value of the scale and what it means, in running text."""
LEAST: Final = 1
"""A scale begins here or below, unless the prompt states no such range: "4 and 5" are mostly two values of one."""
MOST_TOP: Final = 100
"""A greater number behind "out of" counts something else."""


def range_in(text: str) -> tuple[float, float, int] | None:
    """
    Return the ends of the scale that a text states, and where; None if it states none.

    Where the text states the top alone, as in "out of 5", the scale begins at 1.

    >>> range_in("Give reasons (1 to 3 lines). Rate it from 1-10.")
    (1.0, 10.0, 42)
    >>> range_in("A score of one to five: 1~2 is poor.")[:2], range_in("Give it a mark out of 5.")[:2]
    ((1.0, 5.0), (1.0, 5.0))
    """
    found = [
        (_number(one[1]), _number(one[3]), one.start(1))
        for pattern in _RANGES
        for one in pattern.finditer(text)
        if _number(one[1]) < _number(one[3]) and (one[2] != "/" or _number(one[1]) <= LEAST)
    ]
    if bands := _bands(sorted(found, key=lambda one: one[2])):
        return bands
    stated = next((one for one in found if one[0] <= LEAST), None)
    if stated is None:
        stated = next(_stated_otherwise(text), None)
    return stated or (found[0] if found else None)


def _number(text: str) -> float:
    return float(WORDS.index(text.lower())) if text.lower() in WORDS else float(text)


def _bands(found: list[tuple[float, float, int]]) -> tuple[float, float, int] | None:
    """Return the whole of three ranges or more that follow each other, such as 1~2, 3~4 and 5~6, if the first opens."""
    run = found[:1]
    for one in found[1:]:
        if one[0] in (run[-1][1], run[-1][1] + 1):
            run.append(one)
        elif len(run) < 3:
            run = [one]
    if len(run) < 3 or run[0][0] > LEAST:
        return None
    return (run[0][0], run[-1][1], run[0][2])


def _stated_otherwise(text: str) -> Iterator[tuple[float, float, int]]:
    """Yield the scales that a list of values states, the meaning of both ends, or the top alone."""
    listed = [(float(one[1] or one[2]), one.start()) for one in _LISTED.finditer(text)]
    values = sorted({value for value, _ in listed})
    if len(values) > 2 and values[0] <= LEAST and values == [values[0] + n for n in range(len(values))]:
        yield values[0], values[-1], listed[0][1]
    for paragraph in re.finditer(r"(?:[^\n]+\n?)+", text):
        ends = sorted(float(one[1]) for one in _EXPLAINED.finditer(paragraph[0]))
        if ends and ends[0] <= LEAST and ends[-1] - ends[0] > 1:
            yield ends[0], ends[-1], paragraph.start()
    for pattern in _TOPS:
        for one in pattern.finditer(text):
            if LEAST < _number(one[1]) <= MOST_TOP:
                yield float(LEAST), _number(one[1]), one.start(1)
