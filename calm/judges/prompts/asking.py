"""See in the text of a prompt how it asks for the verdict: in which form, on which scale, in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from calm.core.templates import FORMS
from calm.core.verdict import Scale, Task
from calm.judges.prompts.direction import direction_of
from calm.judges.prompts.ranges import range_in

_BRACKETS: Final = re.compile(r"\[\[\s*(?:[A-Z]|\w{1,12}|\d+|\{\{[^{}]+\}\})\s*\]\]")
_KEY: Final = re.compile(
    r"[\"'`{ ,](score|verdict|rating|grade|result|pass|passed|winner|choice|label|answer|better|preference|met)"
    r"[\"'`]?\s*(?::|key|field)",
    re.IGNORECASE,
)
_JSON: Final = re.compile(r"\bJSON\b|\{\s*[\"']\w+[\"']\s*:", re.IGNORECASE)
_TAG: Final = re.compile(r"<(verdict|score|rating|grade|result|judgement|judgment|decision)>", re.IGNORECASE)
_LINE: Final = re.compile(
    r"(?:^\s*[\"'`*]*|[\"'`])(score|rating|grade|verdict|final verdict|decision)[\"'`*]*\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_WHOLE: Final = re.compile(r"\b(?:integer|whole number)", re.IGNORECASE)
_RANK: Final = ("score", "rating", "grade", "verdict", "winner", "choice", "preference", "better", "result")
"""Keys of a JSON reply, those first that say the verdict where there are several."""
_BOOLEAN: Final = ("pass", "passed", "met")
_PAIRS: Final = (
    *(("yes", "no"), ("true", "false"), ("pass", "fail"), ("passed", "failed"), ("correct", "incorrect")),
    *(("good", "bad"), ("right", "wrong"), ("accept", "reject"), ("met", "unmet"), ("met", "not met"), ("y", "n")),
)
"""Words for a good and a bad verdict on one answer."""
_NUMBERED: Final = re.compile(r"(?:\[\[|[\"'`:])\s*(\d|[AB])\s*(?:\]\]|[\"'`}])")
"""How a prompt writes a verdict that is a number or a letter."""
_OR: Final = r"[\"'`*]*\s*(?:,?\s*or|/|\||,)\s*[\"'`*]*"


@dataclass(frozen=True, slots=True)
class Asked:
    """
    How a prompt asks for its verdict: the keys of `[verdict]` and the scale of a score, as far as they can be seen.

    `seen` is whether the form was found in the text; else `form` is the default, which a person must check. `directed`
    is whether the text says which end of the scale is the best one; else it is taken to be the high one.
    """

    form: Mapping[str, str] = field(default_factory=lambda: {"format": FORMS[0]})
    scale: Scale | None = None
    values: Mapping[str, float | str] = field(default_factory=dict)
    seen: bool = False
    directed: bool = True


def asked_in(text: str, task: Task) -> Asked:
    """
    Return how a prompt asks for its verdict.

    >>> asked_in("Rate it from 1 to 5. Reply in JSON with the key `score`: ...", "score").form
    {'format': 'json', 'field': 'score'}
    >>> asked_in("Answer with one line: 'Verdict: A' or 'Verdict: B'.", "pairwise").form["format"]
    'regex'
    """
    found = _asked_in(text, task)
    if found.scale is None:
        return found
    best = direction_of(text, found.scale, found.values, [found.form.get(key, "") for key in ("field", "tag")]).best
    return replace(found, scale=replace(found.scale, best=best or "high"), directed=best is not None)


def _asked_in(text: str, task: Task) -> Asked:
    ends = range_in(text) if task == "score" else None
    step = 1.0 if _WHOLE.search(text) or (ends and ends[1] - ends[0] > 1) else None
    scale = None if ends is None else Scale(ends[0], ends[1], step)
    values = _values(text) if task == "score" and scale is None else {}
    if task == "pairwise" and {found[1] for found in _NUMBERED.finditer(text)} == {"1", "2"}:
        values = {"1": "first", "2": "second"}
    if _BRACKETS.search(text):
        return Asked({"format": "brackets"}, scale, values, seen=True)
    if _JSON.search(text):
        keys = _KEY.findall(text)
        ranked = sorted(keys, key=lambda key: _RANK.index(key.lower()) if key.lower() in _RANK else len(_RANK))
        name = ranked[0] if ranked else "verdict"
        if name.lower() in _BOOLEAN and task == "score" and not values:
            values = {"true": 1.0, "false": 0.0}
        return Asked({"format": "json", "field": name}, scale, values, seen=bool(keys))
    if tag := _TAG.search(text):
        return Asked({"format": "tag", "tag": tag[1]}, scale, values, seen=True)
    if line := _LINE.search(text):
        word = r"(\d+(?:\.\d+)?)" if task == "score" and not values else r"(\w+)"
        return Asked({"format": "regex", "pattern": rf"(?i){line[1]}\W*\s*{word}"}, scale, values, seen=True)
    return Asked(scale=scale)


def _values(text: str) -> dict[str, float | str]:
    """Return what the words for a good and a bad verdict are worth, if a prompt says to choose between two such."""
    for good, bad in _PAIRS:
        if re.search(rf"\b(?:{good}{_OR}{bad}|{bad}{_OR}{good})\b", text, re.IGNORECASE):
            return {good: 1.0, bad: 0.0}
    return {}
