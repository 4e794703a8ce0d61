"""Verdicts in a field of a JSON object."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from calm.core.verdict import Unreadable
from calm.errors import ConfigError
from calm.judges.reading.marks import Clash, Mark
from calm.judges.reading.views import View

MAX_BROKEN: Final = 1_000
"""Openings of JSON objects that may turn out not to be JSON before a reply is given up."""

_STEP = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{1,6})\]")
_CUT = re.compile(r"[\w.+-]{0,9}[\s`~]{0,40}")
"""What is left where the end of a text cuts off an object: nothing, or the beginning of a number or of `true`."""

_OPENING = re.compile(r'\{(?=\s*["}])')
_MISSING = object()


def field_marks(text: str, path: str, view: View) -> list[Mark] | Unreadable:
    """Return the field of each JSON object; an object that the text's end cuts off makes the reply unreadable."""
    marks = []
    for found in objects(text):
        if isinstance(found, Unreadable):
            return found
        value = _at(found.raw, path)
        if value is _MISSING and _is_verdict(found.raw, view):
            value = found.raw
        if value is not _MISSING:
            marks.append(Mark(found.start, found.end, value))
    return marks


def objects(text: str) -> Iterator[Mark | Unreadable]:
    """Return each JSON object of a text, and at last why there may be more that cannot be read."""
    at = broken = 0
    while found := _OPENING.search(text, at):
        start = found.start()
        try:
            data, at = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated string") or _CUT.fullmatch(text, error.pos):
                yield Unreadable("truncated JSON: the last object is not closed")
                return
            at, broken = max(start + 1, error.pos), broken + 1
        except RecursionError:
            yield Unreadable("JSON nested too deeply")
            return
        else:
            yield Mark(start, at, data)
        if broken > MAX_BROKEN:
            yield Unreadable(f"more than {MAX_BROKEN} fragments that are no JSON")
            return


@lru_cache(maxsize=64)
def steps(path: str) -> tuple[str | int, ...] | None:
    """Return a path's steps, or None if it is none."""
    found: list[str | int] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (at == 0 and path[0] in ".["):
            return None
        found.append(step[1] if step[1] is not None else int(step[2]))
        at = step.end()
    return tuple(found) or None


def _at(data: object, path: str) -> object:
    """Return the value at a path, or `_MISSING`."""
    if isinstance(data, dict) and path in data:
        return data[path]
    found = steps(path)
    if found is None:
        raise ConfigError(f"verdict.field: expected a path such as 'result.score' or 'scores[0]', got {path!r}")
    for step in found:
        if isinstance(data, Clash):
            return data
        if isinstance(step, int):
            if not isinstance(data, list) or step >= len(data):
                return _MISSING
            data = data[step]
        else:
            if not isinstance(data, dict) or step not in data:
                return _MISSING
            data = data[step]
    return data


def _is_verdict(data: object, view: View) -> bool:
    """Return whether an object without the field is a verdict itself: `{"1": true, ...}`, `{"met": 3, "of": 5}`."""
    if not isinstance(data, dict) or not data:
        return False
    if view.task == "points":
        return data.keys() >= {"met", "of"}
    numbers = {str(n) for n in range(1, len(view.criteria) + 1)}
    return view.task == "rubric-all" and data.keys() <= numbers | set(view.criteria)


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; a key that has two different values has a `Clash`."""
    made: dict[str, object] = {}
    for key, value in pairs:
        made[key] = Clash() if key in made and made[key] != value else value
    return made


def _whole(digits: str) -> float:
    """Return an integer of JSON; one of thousands of digits is not worth its time, and on no scale."""
    return int(digits) if len(digits) <= 300 else math.inf


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_whole, parse_constant=lambda _: math.nan, strict=False)
