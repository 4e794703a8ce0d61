"""A problem with a right and a wrong working, as data, and how its two answers are worded."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

_NAMES: Final = (
    "Ada", "Bela", "Cleo", "Dina", "Enzo", "Fay", "Gus", "Hana", "Ivo", "Jana", "Kofi", "Lars", "Mina", "Noor",
    "Otto", "Pia", "Remy", "Suri", "Timo", "Uma", "Vito", "Wim", "Yara", "Zeno",
)  # fmt: skip
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MIN_WORDS: Final = 25


@dataclass(frozen=True)
class Working:
    """Hold one answer in parts: its working, sentence by sentence, and its conclusion with ``{}`` for the result."""

    steps: tuple[str, ...]
    end: str
    result: str
    remark: str


@dataclass(frozen=True)
class Draft:
    """Hold a drawn problem: both answers in parts, a model answer, and whether the pair is a close one."""

    question: str
    good: Working
    bad: Working
    reference: str
    close: bool = False


Template = Callable[[random.Random, bool], Draft]


def better_first(case_id: str) -> bool:
    """Return whether the better answer of a case comes first in the file: a hash of the id decides."""
    return int(hashlib.sha256(f"better-first:{case_id}".encode()).hexdigest(), 16) % 2 == 0


def render(working: Working, style: str, end_first: bool) -> str:
    """Write an answer as prose, as prose with a bold result, or as a list of steps."""
    end = working.end.format(f"**{working.result}**" if style == "bold" else working.result)
    if style == "list":
        steps = "\n".join(f"- {step}" for step in working.steps)
        return f"{end}\n\n{steps}" if end_first else f"{steps}\n\n{end}"
    return " ".join((end, *working.steps) if end_first else (*working.steps, end))


def balanced(draft: Draft, good: str, bad: str, good_longer: bool) -> tuple[str, str]:
    """Add a closing remark to the answer that is to be the longer one, and to any that is too short."""
    if len(good.split()) < _MIN_WORDS or (good_longer and len(good) <= len(bad)):
        good = _join(good, draft.good.remark)
    if len(bad.split()) < _MIN_WORDS or (not good_longer and len(bad) <= len(good)):
        bad = _join(bad, draft.bad.remark)
    return good, bad


def _join(text: str, remark: str) -> str:
    return f"{text}\n\n{remark}" if text.splitlines()[-1].startswith("- ") else f"{text} {remark}"


def dec(value: int | Fraction) -> str:
    """Write a number without needless zeros; it must have a finite decimal form."""
    return f"{float(value):.10f}".rstrip("0").rstrip(".")


def drawn_names(rng: random.Random, count: int) -> list[str]:
    """Draw a number of different first names."""
    return rng.sample(_NAMES, count)


def slipped(rng: random.Random, value: int) -> int:
    """Change a number as a forgotten or doubled carry would."""
    return value + rng.choice((10, -10) if value > 20 else (1, 2))
