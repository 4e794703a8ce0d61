"""The bank of the simulated writer: what `moves.toml` says that language models add to convince."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final


class Place(StrEnum):
    """Where a move stands in a rewrite, in this order."""

    OPEN = "open"
    INSIDE = "inside"
    """After a sentence of the answer, never after the last."""
    AFTER = "after"
    END = "end"


@dataclass(frozen=True, slots=True)
class Move:
    """Something that a writer adds: `weight` is how often it is chosen, `kind` what a complaint may ask for."""

    name: str
    place: Place
    kind: str
    weight: float
    wordings: tuple[str, ...]


def _move(row: dict[str, Any]) -> Move:
    return Move(row["name"], Place(row["place"]), row["kind"], row["weight"], tuple(row["wordings"]))


MOVES: Final = tuple(map(_move, tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["move"]))
