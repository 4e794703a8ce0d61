"""The values of JSON rows as they are read: each that cannot be is a fault, with its place and how to fix it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from calm.errors import nearest

Fault: TypeAlias = Callable[[str, str], None]
"""Note a fault: the field, then what was expected, what came and how to fix it."""
Row: TypeAlias = Mapping[str, object]


def described(value: object) -> str:
    """Return a JSON value as a message shows it: short, and safe on a terminal."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return repr(value) if len(value) <= 60 else f"{value[:60]!r}..."
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
        case _:
            return repr(value)[:60]


def known_keys(row: Row, keys: Iterable[str], at: str, fault: Fault) -> None:
    """Note each key of a row that is not known."""
    for key in row:
        if key not in keys:
            fault(joined(at, key), f"expected a known key, got {described(key)}{nearest(key, keys)}")


def joined(at: str, key: str) -> str:
    """Return the place of a key inside another place."""
    plain = key if key.isprintable() and len(key) <= 60 else described(key)
    return f"{at}.{plain}" if at else plain


def own_keys(row: Row, own: Mapping[str, str], at: str, fault: Fault) -> Row:
    """Return a row with its keys as they are called here; each that another tool calls otherwise is a fault."""
    found = dict(row)
    for key, name in own.items():
        if key in row and name not in found:
            fault(joined(at, key), f"expected the key {name!r}, got {key!r}; call it {name}")
            found[name] = found.pop(key)
    return found


def list_of(value: object, at: str, fault: Fault, example: str = "[...]") -> list[object] | None:
    """Return a list; None, and a fault that shows how one is written, for anything else."""
    if isinstance(value, list):
        return value
    fault(at, f"expected a list, got {described(value)}; write {example}")
    return None


def mapping_of(value: object, at: str, fault: Fault, example: str = "{...}") -> dict[str, object] | None:
    """Return an object; None, and a fault that shows how one is written, for anything else."""
    if isinstance(value, dict):
        return value
    fault(at, f"expected an object, got {described(value)}; write {example}")
    return None


def by_id(value: object, at: str, ids: list[str] | None, what: str, fault: Fault) -> Iterator[tuple[str, object]]:
    """Yield the items of an object whose keys are ids (None: any text); an absent object has none."""
    row = {} if value is None else mapping_of(value, at, fault)
    for key, item in (row or {}).items():
        if text_of(key, at, fault) is None:
            continue
        if ids is not None and key not in ids:
            fault(joined(at, key), f"expected {what}, got {described(key)}{nearest(key, ids)}")
        else:
            yield key, item


def texts_of(value: object, at: str, fault: Fault) -> dict[str, str]:
    """Return the texts of an object by key; an absent object has none."""
    items = by_id(value, at, None, "", fault)
    return {key: text_of(text, joined(at, key), fault) or "" for key, text in items}


def text_of(value: object, at: str, fault: Fault) -> str | None:
    """Return a text that every model, file and terminal can take; None, and a fault, for anything else."""
    if not isinstance(value, str):
        fault(at, f"expected a text, got {described(value)}; write it in quotes")
        return None
    if "\0" in value:
        fault(at, f"expected a text without NUL, got one at character {value.index(chr(0))}; remove it")
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"\\u{ord(value[error.start]):04x}"
        fault(at, f"expected Unicode text, got half a surrogate pair ({code}) at character {error.start}; remove it")
        return None
    return value


def number_of(value: object, at: str, fault: Fault) -> float:
    """Return a finite number; a fault for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        fault(at, f"expected a number, got {described(value)}; write it without quotes")
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        fault(at, f"expected a finite number, got {described(value)}; write a smaller one")
    return number


def needed(row: Row, key: str, at: str, fault: Fault) -> str | None:
    """Return a text that a row must have; None, and a fault, without it."""
    if key not in row:
        fault(joined(at, key), "expected a text, got none; add it")
        return None
    return text_of(row[key], joined(at, key), fault)


def optional(row: Row, key: str, at: str, fault: Fault) -> str | None:
    """Return a text that a row may have; None without it."""
    return None if row.get(key) is None else text_of(row[key], joined(at, key), fault)


def name_of(row: Row, key: str, at: str, fault: Fault) -> str:
    """Return an id, "" if there is a fault in it."""
    name = needed(row, key, at, fault)
    if name is not None and not name.strip():
        fault(joined(at, key), "expected an id, got an empty text; give it a name")
    return name or ""


def all_differ(ids: list[str], at: str, fault: Fault) -> None:
    """Note each id that occurs twice in a list."""
    first: dict[str, int] = {}
    for place, name in enumerate(ids):
        if name and name in first:
            fault(
                f"{at}[{place}].id",
                f"expected ids that differ, got {described(name)} as in {at}[{first[name]}]; rename one",
            )
        first.setdefault(name, place)
