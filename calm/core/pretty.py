"""How nouns print themselves where a person reads them: without what is as it would be anyway."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any


def print_set_fields(noun: Any, printer: Any, cycle: bool) -> None:
    """
    Print a dataclass as the call that makes it, without the fields that have their default.

    It is the method `_repr_pretty_` that IPython and Hypothesis look for. The `repr` stays whole: keys are made of it.
    """
    name = type(noun).__name__
    if cycle:
        printer.text(f"{name}(...)")
        return
    told = [field for field in fields(noun) if getattr(noun, field.name) != _default(field)]
    with printer.group(4, f"{name}(", ")"):
        for place, field in enumerate(told):
            if place:
                printer.text(",")
                printer.breakable()
            printer.text(f"{field.name}=")
            printer.pretty(getattr(noun, field.name))


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()
