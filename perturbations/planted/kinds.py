"""The kinds of classes that a planted judge of labels can have: those of the bundled cases, with and without order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from calm.core.classes import SHIPPED, Classes

_WRONG, _MIXED, _RIGHT = SHIPPED.names
_HARM: Final = frozenset({(_WRONG, _MIXED), (_WRONG, _RIGHT), (_MIXED, _RIGHT)})
KINDS: Final[Mapping[str, Classes]] = {
    "ordered": SHIPPED,
    "nominal": replace(SHIPPED, ordered=False, harm=_HARM),
    "bare": replace(SHIPPED, ordered=False, damaged=None),
}
"""In an order; without one, where a move to a better class does harm; and with no direction and no class of damage."""


def kind_of(classes: Classes) -> str:
    """Return the kind of some classes: "own" for those that a program made."""
    return next((kind for kind, known in KINDS.items() if known == classes), "own")
