"""Copies of frozen dataclasses, made quickly: there are many rows and cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from types import MemberDescriptorType
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Slot: TypeAlias = tuple[str, Callable[[object], Any], Callable[[object, Any], None]]
"""A field: its name, and what reads and writes it."""


@cache
def names(kind: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass."""
    return tuple(f.name for f in fields(kind))


def changed(one: T, **values: object) -> T:
    """
    Return a copy of a frozen dataclass with slots, with other values; nothing that its constructor would do is done.

    `dataclasses.replace` asks of each field what it is, and calls the constructor. Fields are read as they are, also
    where the class keeps them from others.
    """
    return recast(type(one), one, **values)


def recast(kind: type[T], one: object, **values: object) -> T:
    """Return the same of another class: one that inherits from that of `one`, or from which that inherits."""
    copy = object.__new__(kind)
    whole: type = kind
    for name, read, write in _slots(whole):
        write(copy, values[name] if name in values else read(one))
    return copy


@cache
def _slots(kind: type) -> tuple[Slot, ...]:
    slots: list[MemberDescriptorType] = [getattr(kind, name) for name in names(kind)]
    return tuple((slot.__name__, slot.__get__, slot.__set__) for slot in slots)
