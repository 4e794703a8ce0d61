"""Verdicts in a field of a JSON object."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import chain
from typing import Final, TypeAlias

from calm.core.reasons import Reason
from calm.core.verdict import Unreadable, unreadable
from calm.errors import ConfigError
from calm.judges.reading.marks import Clash, Cue, Mark, View, has

MAX_BROKEN: Final = 1_000
"""Openings of JSON objects that may turn out not to be JSON before a reply is given up."""

MAX_REPAIRS: Final = 5
"""Openings of objects that are no JSON, and that cannot be written as JSON either, before no more is tried."""
MAX_REPAIRED: Final = 20_000
"""Characters that an object may have that is no JSON, but near to it."""
MAX_DEPTH: Final = 3
"""Objects within each other in which the field is looked for."""
LONGEST_NAME: Final = 80
"""Characters of the name of an object that are looked at."""
MAX_STAGE: Final = 20
"""Characters of a text in an object that may say of which stage it is."""

Step: TypeAlias = str | int | tuple[str, ...]
"""A key, the number of an entry, `()` for every entry, or `(key, text)` for the one entry whose key has this value."""
PATHS: Final = "a path such as 'result.score', 'scores[0]', 'statements[].verdict' or '[rank=1].model'"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{1,6})\]|\[(?:([^=\[\]]{1,80})=([^\[\]]{1,80}))?\]")
_CUT = re.compile(r"[\w.+-]{0,9}[\s`~]{0,40}")
"""What is left where the end of a text cuts off an object: nothing, or the beginning of a number or of `true`."""

_OPENING = re.compile(r"""\{(?=\s*(?:["'}“”„‘’«]|//|/\*|[A-Za-z_]\w{0,40}\s{0,4}:))""")
_LIST = re.compile(r"\[(?=\s*\{)")
_MISSING = object()


def field_marks(text: str, path: str, view: View) -> list[Mark] | Unreadable:
    """Return the field of each JSON object; an object that the text's end cuts off makes the reply unreadable."""
    marks = []
    for found in objects(text, _LIST if path.startswith("[") else _OPENING):
        if isinstance(found, Unreadable):
            return found
        value, about = _value(found.raw, path, view)
        if isinstance(value, Clash):
            return unreadable(value.reason)
        if value is not _MISSING:
            marks.append(Mark(found.start, found.end, value, about=about))
    return marks if marks or "[" not in path else _listed(text, path[path.index("[") :])


def _listed(text: str, path: str) -> list[Mark]:
    lists = [one for one in objects(text, _LIST) if isinstance(one, Mark)]
    if not lists:
        each = [one for one in objects(text) if isinstance(one, Mark)]
        lists = [Mark(each[0].start, each[-1].end, [one.raw for one in each])] if len(each) > 1 else []
    found = [Mark(one.start, one.end, _at(one.raw, path)) for one in lists]
    return [one for one in found if one.raw is not _MISSING]


def whole_field(text: str, path: str, view: View) -> Mark | None:
    """
    Return the field of a reply that is one JSON object (or list, for a path into one) and nothing else; None if not.

    Where a server keeps to a schema, this is every reply: what stands in the texts of the object is not looked at.
    """
    body = text.strip()
    if not body.startswith("[" if path.startswith("[") else "{"):
        return None
    try:
        data, end = _DECODER.raw_decode(body)
    except (json.JSONDecodeError, RecursionError):
        return None
    if end < len(body):
        return None
    value, about = _value(data, path, view)
    return None if value is _MISSING or (has(Cue.DRAFT, about) and _at(data, path) is _MISSING) else Mark(0, end, value)


def names_in(text: str) -> Iterator[str]:
    """Return the keys of the JSON objects of a text, and those of the objects in them as paths."""
    for found in objects(text):
        if not isinstance(found, Unreadable) and isinstance(found.raw, dict):
            yield from _paths(found.raw)


def _paths(value: Mapping[str, object]) -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from (f"{name}.{one}" for one in inner)
        else:
            yield name


def _value(data: object, path: str, view: View) -> tuple[object, str]:
    value = _at(data, path)
    if value is not _MISSING:
        return value, _stage(data, path)
    if _is_verdict(data, view):
        return data, ""
    inner = list(_within(data, path, 1))
    if len(inner) != 1 or any(has(kind, inner[0][0]) for kind in (Cue.CITED, Cue.LESSER, Cue.WHOSE, Cue.IF)):
        return _MISSING, ""
    name, value, stage = inner[0]
    return value, f"{name} {stage}"


def _within(data: object, path: str, depth: int) -> Iterator[tuple[str, object, str]]:
    if isinstance(data, dict) and depth <= MAX_DEPTH:
        for name, one in data.items():
            value = _at(one, path) if isinstance(one, dict) else _MISSING
            if isinstance(one, Clash) and any(_leads(inner, path, depth) for inner in one.values):
                yield _spaced(name), one, ""
            elif value is not _MISSING:
                yield _spaced(name), value, _stage(one, path)
            else:
                yield from _within(one, path, depth + 1)


def _leads(data: object, path: str, depth: int) -> bool:
    here = isinstance(data, dict) and _at(data, path) is not _MISSING
    return here or next(_within(data, path, depth + 1), None) is not None


def _spaced(name: str) -> str:
    return re.sub(r"[\W_]+|(?<=[a-z])(?=[A-Z])", " ", name[:LONGEST_NAME])


def _stage(data: object, path: str) -> str:
    if not isinstance(data, dict):
        return ""
    own = (steps(path) or ("",))[0]
    told = {
        name: name if value is True else value
        for name, value in data.items()
        if value is True or (isinstance(value, str) and len(value) <= MAX_STAGE)
    }
    return " ".join(str(one) for name, one in told.items() if name != own)


def unstrung(text: str) -> str | None:
    """Return the text that a reply is which is nothing but a text of JSON, as `"{\\"score\\": 7}"`; else None."""
    body = text.strip()
    if not (body.startswith('"') and body.endswith('"')):
        return None
    try:
        inner = json.loads(body)
    except ValueError:
        return None
    return inner if isinstance(inner, str) else None


def objects(text: str, opening: re.Pattern[str] = _OPENING) -> Iterator[Mark | Unreadable]:
    """
    Return each JSON object of a text, and at last why there may be more that cannot be read.

    What is near to JSON counts, too: a literal of Python, comments, a trailing comma, names without quotes.
    """
    at = broken = repairs = 0
    while found := opening.search(text, at):
        start = found.start()
        try:
            here = _object_at(text, start)
        except RecursionError:
            yield Unreadable("JSON nested too deeply")
            return
        if isinstance(here, Mark):
            yield here
            at = here.end
            continue
        message, where = here
        mended = (
            (_mended_by(_PARTS, text, start) or _mended_by(_QUOTED, text, start)) if repairs < MAX_REPAIRS else None
        )
        if mended is not None:
            yield mended
            at = mended.end
            continue
        repairs += 1
        open_ = text[start + 1 : start + 50].lstrip()[:1] in ("'", "“", "‘") and text.find("}", start) < 0
        if message.startswith(_UNTERMINATED) or _CUT.fullmatch(text, where) or open_:
            yield Unreadable("truncated JSON: the last object is not closed")
            return
        at, broken = max(start + 1, where), broken + 1
        if broken > MAX_BROKEN:
            yield Unreadable(f"more than {MAX_BROKEN} fragments that are no JSON")
            return


def _object_at(text: str, start: int) -> Mark | tuple[str, int]:
    """
    Return the object that begins at a place, or what is wrong and where.

    It is looked for in windows that grow: an error counts the lines before it, and those of a whole reply are many.
    """
    window = WINDOW
    while True:
        part = text[start : start + window]
        try:
            data, end = _DECODER.raw_decode(part)
        except json.JSONDecodeError as error:
            ended = error.pos + LONGEST_WORD >= len(part) or error.msg.startswith(_UNTERMINATED)
            if not ended or start + window >= len(text):
                return error.msg, start + error.pos
            window *= 8
        else:
            return Mark(start, start + end, data)


def _mended_by(parts: re.Pattern[str], text: str, start: int) -> Mark | None:
    kept: list[str] = []
    depth = 0
    for part in parts.finditer(text, start, start + MAX_REPAIRED):
        if part[0] in _UNCLOSED:
            return None
        kept += _mended_part(parts, part, kept)
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(part[0], 0)
        if depth == 0:
            try:
                return Mark(start, part.end(), _DECODER.decode("".join(kept)))
            except (json.JSONDecodeError, RecursionError):
                return None
    return None


def _mended_part(parts: re.Pattern[str], part: re.Match[str], kept: list[str]) -> list[str]:
    text = part[0]
    if part["text"]:
        inner = text[1:-1]
        return [
            text if parts is _PARTS and text[0] == '"' else json.dumps(re.sub(r"\\(.)", r"\1", inner, flags=re.DOTALL))
        ]
    if part["word"]:
        return [_LITERALS.get(text) or json.dumps(text)]
    if part["comment"]:
        return []
    if text in "}]" and kept and kept[-1] == ",":
        kept.pop()
    return [text] if text.strip() else []


_UNTERMINATED: Final = "Unterminated string"
WINDOW: Final = 512
"""Characters in which an object is looked for first."""
LONGEST_WORD: Final = 16
"""Characters of the longest word, or sign in a text, of JSON: one that a window cuts is an error near its end."""
_ENDS = r"(?=\s{0,200}(?:[,:}\]]|//|/\*))"
_NEXT = r"""(?=\s{0,200}(?:[:}\]]|,\s{0,200}["'{\[\d-]|,\s{0,200}(?:true|false|null)\b))"""
_TEXTS = (
    r"""'(?:[^'\\]|\\.|'(?!ENDS))*+'ENDS|[“”„](?:[^“”\\]|\\.)*+[“”]|[‘’](?:[^’\\]|\\.|’(?!ENDS))*+’ENDS"""
    r"|«[^»]*+»"
)
_OTHERS = (
    r"|(?P<comment>//[^\n]*+|/\*.{0,300}?\*/|(?<=[\w\"'] )\([^()\"{}\[\]]{1,80}\))"
    r"|(?P<word>(?<![\w.+-])[A-Za-z_]\w*+)|."
)
_PARTS = re.compile(
    rf"""(?P<text>"(?:[^"\\]|\\.)*+"|{_TEXTS}){_OTHERS}""".replace("ENDS", _ENDS),
    re.DOTALL,
)
_QUOTED = re.compile(
    rf"""(?P<text>"(?:[^"\\]|\\.|"(?!{_NEXT}))*+"{_NEXT}|{_TEXTS}){_OTHERS}""".replace("ENDS", _ENDS),
    re.DOTALL,
)
"""
Parts of an object: a text in quotes of any kind, a comment, a word without quotes, or any other sign.

`_QUOTED` ends a text only where another part follows: the texts of some replies hold quotes.
"""
_UNCLOSED: Final = frozenset("\"'“„‘«")
"""Quotes: where no other one closes one, looking on would take a second look at all that follows."""
_LITERALS: Final = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}


@lru_cache(maxsize=64)
def steps(path: str) -> tuple[Step, ...] | None:
    """Return a path's steps, or None if it is none."""
    found: list[Step] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (at == 0 and path[0] == "."):
            return None
        entry = () if step[3] is None else (step[3].strip(), step[4].strip())
        found.append(step[1] or (int(step[2]) if step[2] else entry))
        at = step.end()
    return tuple(found) or None


def _at(data: object, path: str) -> object:
    if isinstance(data, dict) and (value := _named(data, path)) is not _MISSING:
        return value
    found = steps(path)
    if found is None:
        raise ConfigError(f"verdict.field: expected {PATHS}, got {path!r}")
    return _walked(data, found)


def _walked(data: object, path: Sequence[Step]) -> object:
    for number, step in enumerate(path, start=1):
        if isinstance(data, Clash):
            return data
        if isinstance(step, tuple):
            entries = data if isinstance(data, list) else []
            if not step and entries is data:
                inner = [_walked(one, path[number:]) for one in entries]
                each = [one if isinstance(one, tuple) else (None if one is _MISSING else one,) for one in inner]
                return tuple(chain.from_iterable(each))
            chosen = [one for one in entries if step and _says(_walked(one, step[:1]), step[1])]
            if len(chosen) != 1:
                return Clash("=".join(step), tuple(chosen)) if chosen else _MISSING
            rest = [_walked(one, path[number:]) for one in entries]
            if rest.count(_walked(chosen[0], path[number:])) > 1:
                return Clash("=".join(step), tuple(rest))
            data = chosen[0]
        elif isinstance(step, int):
            if not isinstance(data, list) or step >= len(data):
                return _MISSING
            data = data[step]
        else:
            data = _named(data, step) if isinstance(data, dict) else _MISSING
            if data is _MISSING:
                return _MISSING
    return data


def _named(data: Mapping[str, object], name: str) -> object:
    found = [data[name]] if name in data and len(data) == 1 else []
    if not found:
        wanted = name.strip().casefold()
        found = [value for key, value in data.items() if key.strip().casefold() == wanted]
    return reduce(partial(_both, name), found) if found else _MISSING


def _says(value: object, text: str) -> bool:
    if isinstance(value, bool):
        return text == str(value).lower()
    return text == str(int(value) if isinstance(value, float) and value.is_integer() else value)


def alike(names: Collection[str], text: str) -> str | None:
    """Return the name that a text is: the same one, or the only one that differs from it by case alone."""
    found = [text] if text in names else [name for name in names if name.casefold() == text.casefold()]
    return found[0] if len(found) == 1 else None


def _is_verdict(data: object, view: View) -> bool:
    if not isinstance(data, dict) or not data:
        return False
    if view.task == "points":
        return data.keys() >= {"met", "of"}
    numbers = {str(n) for n in range(1, len(view.criteria) + 1)}
    return view.task == "rubric-all" and data.keys() <= numbers | set(view.criteria)


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        made[key] = _both(key, made[key], value) if key in made else value
    return made


def _both(key: str, one: object, other: object) -> object:
    if not isinstance(one, Clash) and one == other and isinstance(one, bool) == isinstance(other, bool):
        return other
    return Clash(key, (*(one.values if isinstance(one, Clash) else (one,)), other))


def key_twice(text: str) -> Reason | None:
    """Return which key a text has twice, with different values, that is JSON and nothing else; None without one."""
    try:
        waiting = [_DECODER.decode(text)] if text.lstrip()[:1] in ("{", "[") else []
    except (json.JSONDecodeError, RecursionError):
        return None
    while waiting:
        one = waiting.pop()
        if isinstance(one, Clash):
            return one.reason
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return None


def _whole(digits: str) -> float:
    return int(digits) if len(digits) <= 300 else math.inf


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_whole, parse_constant=lambda _: math.nan, strict=False)
