"""Copies of frozen dataclasses, made quickly: there are many rows and cases."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TypeVar

T = TypeVar("T")


@cache
def names(kind: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass."""
    return tuple(f.name for f in fields(kind))


def changed(one: T, **values: object) -> T:
    """
    Return a copy of a frozen dataclass with other values; nothing that its constructor would check or compute is done.

    `dataclasses.replace` asks of each field what it is, and calls the constructor. Fields are read as they are, also
    where the class keeps them from others.
    """
    kind: type = type(one)
    copy: T = object.__new__(kind)
    for name in names(kind):
        object.__setattr__(copy, name, values[name] if name in values else object.__getattribute__(one, name))
    return copy
