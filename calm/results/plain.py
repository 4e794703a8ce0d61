"""Records as plain data, and back: one writer and one reader for every dataclass that a file holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from calm.core.reasons import Reason
from calm.models.wire import Json

T = TypeVar("T")
Fits: TypeAlias = Callable[[Json], bool]
Made: TypeAlias = Callable[[Any], object] | None

LARGEST: Final = 1e300
"""No number in a record is further from 0."""
IF_ANY: Final = {"if_any": True}
"""The metadata of a field that is written only where it is not empty."""
_ATOMS: Final = frozenset({bool, int, float, str, NoneType})


def to_plain(value: object) -> Json:
    """Return dataclasses, tuples and enums as JSON-able data (`asdict` copies deeply and knows no enums)."""
    if type(value) in _ATOMS:  # most of a record: a row has dozens of them
        return cast("Json", value)
    if isinstance(value, Enum):
        return cast("Json", value.value)
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Reason):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [cast("Json", v) if type(v) in _ATOMS else to_plain(v) for v in value]
    found: dict[str, Json] = {}
    kind: type = type(value)
    for name, if_any in _written(kind):
        one = getattr(value, name)
        if one or not if_any:
            found[name] = one if type(one) in _ATOMS else to_plain(one)
    return found


def from_plain(record: type[T], body: Json, **known: object) -> T:
    """
    Return the record of a class that `to_plain` wrote; `known` are fields that are read elsewhere.

    Raises:
        TypeError: a field is missing, unknown, or of another kind; the message names it.
        ValueError: a field has none of the values that there are.
    """
    kind: type = record
    kinds = _read(kind)
    for name, value in object_of(body).items():
        if name in kinds:
            fits, made, what = kinds[name]
            if not fits(value):
                raise TypeError(f"{record.__name__}: expected {what}, got {name}={value!r}")
            known[name] = value if made is None or value is None else made(value)
        else:
            known[name] = value  # refused by the class
    return record(**known)


def object_of(value: Json) -> dict[str, Json]:
    """Return a JSON object as it is; a TypeError for anything else."""
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {type(value).__name__}")
    return value


def list_of(value: Json) -> list[Json]:
    """Return a JSON list as it is; a TypeError for anything else."""
    if not isinstance(value, list):
        raise TypeError(f"expected a list, got {type(value).__name__}")
    return value


@cache
def _written(record: type) -> tuple[tuple[str, bool], ...]:
    return tuple((one.name, "if_any" in one.metadata) for one in fields(record))


@cache
def _read(record: type) -> dict[str, tuple[Fits, Made, str]]:
    """Return for each field whether a value is of its kind, what makes it of plain data, and how the kind is called."""
    return {name: (_fits(hint), _made(hint), _called(hint)) for name, hint in get_type_hints(record).items()}


def _fits(hint: object) -> Fits:
    if hint is Json:
        return lambda _: True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [_fits(one) for one in arguments]
        return lambda value: any(fits(value) for fits in kinds)
    if origin is Literal:
        return lambda value: value in arguments
    if origin in (Mapping, dict):
        inner = _fits(arguments[1])
        return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
    if origin in (tuple, list):
        each = _fits(arguments[0])
        return lambda value: isinstance(value, list) and all(map(each, value))
    if hint in (int, float):
        number = (int,) if hint is int else (int, float)
        return lambda value: isinstance(value, number) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST
    if hint in (str, bool, NoneType):
        kind = cast("type", hint)
        return lambda value: isinstance(value, kind)
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: isinstance(value, dict)
    return lambda _: True


def _made(hint: object) -> Made:
    """Return what makes a value of plain data that fits; None where it is what it is."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return None if hint is Json else next(filter(None, map(_made, arguments)), None)
    if origin is tuple:
        each = _made(arguments[0])
        return tuple if each is None else lambda value: tuple(map(each, value))
    if origin is Mapping:
        inner = _made(arguments[1])
        return None if inner is None else lambda value: {key: inner(one) for key, one in value.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: from_plain(hint, value)
    return hint if isinstance(hint, type) and issubclass(hint, Enum) else None


def _called(hint: object) -> str:
    origin = get_origin(hint)
    if origin in (Union, UnionType) and hint is not Json:
        return " or ".join(dict.fromkeys(map(_called, get_args(hint))))
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if origin in (tuple, list):
        return "a list"
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", NoneType: "null"}
    return names.get(hint, "an object")  # type: ignore[call-overload,no-any-return]  # a hint is hashable
