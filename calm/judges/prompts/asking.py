"""See in the text of a prompt how it asks for the verdict: in which form, on which scale, in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from calm.core.templates import FORMS
from calm.core.verdict import Scale, Task

_BRACKETS: Final = re.compile(r"\[\[\s*(?:[A-Z]|\w{1,12}|\d+|\{\{[^{}]+\}\})\s*\]\]")
_KEY: Final = re.compile(
    r"[\"'`{ ,](score|verdict|rating|grade|result|pass|passed|winner|choice|label|answer|better|preference|met)"
    r"[\"'`]?\s*(?::|key|field)",
    re.IGNORECASE,
)
_JSON: Final = re.compile(r"\bJSON\b|\{\s*[\"']\w+[\"']\s*:", re.IGNORECASE)
_TAG: Final = re.compile(r"<(verdict|score|rating|grade|result|judgement|judgment|decision)>", re.IGNORECASE)
_LINE: Final = re.compile(r"^\s*[\"'`*]*(score|rating|grade|verdict|final verdict|decision)[\"'`*]*\s*:", re.I | re.M)
_RANGE: Final = re.compile(
    r"(?:from|between|scale of|range of|\()\s*(\d{1,3})\s*(?:to|-|\u2013|and|\.\.)\s*(\d{1,3})\b",
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(r"\b(?:integer|whole number)", re.IGNORECASE)
_RANK: Final = ("score", "rating", "grade", "verdict", "winner", "choice", "preference", "better", "result")
"""Keys of a JSON reply, those first that say the verdict where there are several."""
_BOOLEAN: Final = ("pass", "passed", "met")


@dataclass(frozen=True, slots=True)
class Asked:
    """
    How a prompt asks for its verdict: the keys of `[verdict]` and the scale of a score, as far as they can be seen.

    `seen` is whether the form was found in the text; else `form` is the default, which a person must check.
    """

    form: Mapping[str, str] = field(default_factory=lambda: {"format": FORMS[0]})
    scale: Scale | None = None
    values: Mapping[str, float | str] = field(default_factory=dict)
    seen: bool = False


def asked_in(text: str, task: Task) -> Asked:
    """
    Return how a prompt asks for its verdict.

    >>> asked_in("Rate it from 1 to 5. Reply in JSON with the key `score`: ...", "score").form
    {'format': 'json', 'field': 'score'}
    """
    ends = next(((int(low), int(high)) for low, high in _RANGE.findall(text) if int(low) < int(high)), None)
    step = 1.0 if _WHOLE.search(text) or (ends and ends[1] - ends[0] > 1) else None
    scale = None if task != "score" or ends is None else Scale(float(ends[0]), float(ends[1]), step)
    if _BRACKETS.search(text):
        return Asked({"format": "brackets"}, scale, seen=True)
    if _JSON.search(text):
        keys = _KEY.findall(text)
        ranked = sorted(keys, key=lambda key: _RANK.index(key.lower()) if key.lower() in _RANK else len(_RANK))
        name = ranked[0] if ranked else "verdict"
        values = {"true": 1.0, "false": 0.0} if name.lower() in _BOOLEAN and task == "score" else {}
        return Asked({"format": "json", "field": name}, scale, values, seen=bool(keys))
    if tag := _TAG.search(text):
        return Asked({"format": "tag", "tag": tag[1]}, scale, seen=True)
    if line := _LINE.search(text):
        word = r"(\d+(?:\.\d+)?)" if task == "score" else r"(\w+)"
        return Asked({"format": "regex", "pattern": rf"(?i){line[1]}\W*\s*{word}"}, scale, seen=True)
    return Asked(scale=scale)
