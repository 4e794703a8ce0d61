"""The pictures that ship: `calm.cases.generate.pictures` draws those of the cases, and the patterns are drawn here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import sin
from typing import Any, Final

from calm.cases.generate.pictures import Canvas
from calm.cases.generate.pictures import picture_cases as drawn
from calm.cases.lines import line

COUNT: Final = 60
SEED: Final = 17
"""The first seed of which no two pairs have the same question."""


def picture_cases() -> list[dict[str, Any]]:
    """Return the cases as lines of a file hold them."""
    return [json.loads(line(case)) for case in drawn(COUNT, SEED, "pictures")]


def _wall(canvas: Canvas) -> None:
    for row in range(8):
        for place in range(-1, 6):
            canvas.box(60 * place + 30 * (row % 2), 30 * row, 60, 30, "grey")


def _waves(canvas: Canvas) -> None:
    for row in range(12):
        canvas.line([(x, 10 + 20 * row + 8 * sin(x / 14 + row)) for x in range(0, 321, 4)], "grey", 3)


def _weave(canvas: Canvas) -> None:
    for at in range(-240, 320, 24):
        canvas.line([(at, 0), (at + 240, 240)], "grey", 3)
        canvas.line([(at + 240, 0), (at, 240)], "black", 1)


ASIDE: Final[Mapping[str, Callable[[Canvas], None]]] = {"wall": _wall, "waves": _waves, "weave": _weave}
"""Patterns in grey, which no question is about."""
