"""See in the text of a prompt how it asks for the verdict: in which form, on which scale, in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from calm.core.verdict import Scale, Task
from calm.judges.prompts.direction import direction_of
from calm.judges.prompts.forms import NUMBER, form_in, names_in, written
from calm.judges.prompts.ranges import range_in

_WHOLE: Final = re.compile(r"\b(?:integer|whole number)", re.IGNORECASE)
_BOOLEAN: Final = ("pass", "passed", "met")
_TRUTH: Final = re.compile(r"\bboolean\b|:\s{0,9}(?:true|false)\b", re.IGNORECASE)
"""How a prompt asks for true or false."""
_PAIRS: Final = (
    *(("yes", "no"), ("true", "false"), ("pass", "fail"), ("passed", "failed"), ("correct", "incorrect")),
    *(("safe", "unsafe"), ("factual", "hallucinated"), ("relevant", "irrelevant"), ("relevant", "unrelated")),
    *(("grounded", "ungrounded"), ("faithful", "unfaithful"), ("supported", "unsupported"), ("helpful", "unhelpful")),
    *(("acceptable", "unacceptable"), ("non-toxic", "toxic")),
    *(("good", "bad"), ("right", "wrong"), ("accept", "reject"), ("met", "unmet"), ("met", "not met"), ("y", "n")),
)
"""Words for a good and a bad verdict on one answer."""
_NUMBERED: Final = re.compile(r"(?:\[\[|[\"'`:])\s*(\d|[AB])\s*(?:\]\]|[\"'`}])")
"""How a prompt writes a verdict that is a number or a letter."""
_LETTERS: Final = re.compile(r"\bA[\"'`]?(?:\s*/\s*|,?\s+or\s+)[\"'`]?B\b")
_NUMBERED_NOUN: Final = re.compile(
    r"\b(answer|response|assistant|output|model|option|candidate) ([12])\b", re.IGNORECASE
)
_ONE_OR_TWO: Final = re.compile(r"(?<![\d.])1[\"'`]?(?:\s*/\s*|,?\s+or\s+)[\"'`]?2(?![\d.])(?! \w+s\b)")
_OR: Final = r"[\"'`*]*\s*(?:,?\s*or|/|\||,)\s*[\"'`*]*"


@dataclass(frozen=True, slots=True)
class Asked:
    """
    How a prompt asks for its verdict: the keys of `[verdict]` and the scale of a score, as far as they can be seen.

    `seen` is whether the form was found in the text; else `form` is a guess, which a person must check. `directed` is
    whether the text says which end of the scale is the best one; else it is taken to be the high one. `parts` are the
    named numbers of a verdict, `formula` what is made of them, and `options` the classes by the letters for them.
    """

    form: Mapping[str, str] = field(default_factory=lambda: {"format": "last-line"})
    scale: Scale | None = None
    values: Mapping[str, float | str] = field(default_factory=dict)
    seen: bool = False
    directed: bool = True
    parts: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)
    formula: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def asked_in(text: str, task: Task) -> Asked:
    """
    Return how a prompt asks for its verdict.

    >>> asked_in("Rate it from 1 to 5. Reply in JSON with the key `score`: ...", "score").form
    {'format': 'json', 'field': 'score'}
    >>> asked_in("Answer with one line: 'Verdict: A' or 'Verdict: B'.", "pairwise").form["format"]
    'regex'
    """
    text = written(text)
    found = _asked_in(text, task)
    if found.scale is None or found.parts:
        return found
    best = direction_of(text, found.scale, found.values, [found.form.get(key, "") for key in ("field", "tag")]).best
    return replace(found, scale=replace(found.scale, best=best or "high"), directed=best is not None)


def _asked_in(text: str, task: Task) -> Asked:
    form = form_in(text, task)
    if form is not None and form.share:
        return Asked(form.table, Scale(0.0, 1.0), seen=True, parts=form.parts, formula=form.formula)
    if form is not None and form.parts:
        return Asked(form.table, seen=True, parts=form.parts)
    ends = range_in(text) if task == "score" else None
    step = 1.0 if _WHOLE.search(text) or (ends and ends[1] - ends[0] > 1) else None
    scale = None if ends is None else Scale(ends[0], ends[1], step)
    if form is not None and form.options and scale is None:
        return _of_options(form.table, form.options)
    values = _values(text) if task == "score" and scale is None else {}
    if task == "pairwise":
        values = _sides(text)
    if form is None:
        return Asked(
            scale=scale, values=values, seen=bool(values) or (task == "pairwise" and bool(_LETTERS.search(text)))
        )
    name = form.table.get("field", "").lower()
    if task == "score" and not values and name and (name in _BOOLEAN or (scale is None and _TRUTH.search(text))):
        values = {"true": 1.0, "false": 0.0}
    table = dict(form.table)
    if values and task == "score" and "pattern" in table:
        table["pattern"] = table["pattern"].replace(NUMBER, r"(\w+)")
    return Asked(table, scale, values, seen=True)


def _of_options(table: Mapping[str, str], options: Mapping[str, str]) -> Asked:
    """Return how letters are read: as classes, or as a good and a bad verdict where they are two such."""
    words = {name.lower(): letter for letter, name in options.items()}
    for good, bad in _PAIRS:
        if {good, bad} == words.keys():
            return Asked(table, values={words[good]: 1.0, words[bad]: 0.0}, seen=True)
    return Asked(table, seen=True, options=options)


def _sides(text: str) -> dict[str, float | str]:
    """Return which answers other names than A and B mean: those that the prompt gives them, or 1 and 2."""
    named = names_in(text)
    if named is not None and {name.upper() for name in named} != {"A", "B"}:
        return {named[0]: "first", named[1]: "second"}
    said = {one[1] for one in _NUMBERED.finditer(text)}
    nouns = [{one[1] for one in _NUMBERED_NOUN.finditer(text) if one[2] == side} for side in "12"]
    both = sorted(nouns[0] & nouns[1])
    if said != {"1", "2"} and not _ONE_OR_TWO.search(text) and (not both or said & {"A", "B"} or _LETTERS.search(text)):
        return {}
    return {
        name: side for n, side in (("1", "first"), ("2", "second")) for name in (n, *(f"{noun} {n}" for noun in both))
    }


def _values(text: str) -> dict[str, float | str]:
    """Return what the words for a good and a bad verdict are worth, if a prompt says to choose between two such."""
    for good, bad in _PAIRS:
        if re.search(rf"\b(?:{good}{_OR}{bad}|{bad}{_OR}{good})\b", text, re.IGNORECASE):
            return {good: 1.0, bad: 0.0}
    return {}
