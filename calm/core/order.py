"""The order in which the cases of a run are sampled, asked and looked at; a bias can begin later in it."""

from __future__ import annotations

from typing import Final

from calm.core.case import digest

START_SALT: Final = "begins 506"
"""With this one the probes of the default gate spread over all starts."""
STARTS: Final = 6
"""At how many places in the order of the cases a bias can begin."""
APART: Final = 8
"""How many cases there are between two of them, on average."""
RUN_ASKS: Final = 1000
"""Repeat indices from k * RUN_ASKS to below (k + 1) * RUN_ASKS are those of the k-th run that watches a judge."""


def place_of(seed: int, case_id: str, start: float = 0.0) -> float:
    """
    Return by what the cases of a run are ordered, in [0, 1): they are sampled, asked and looked at in this order.

    A probe that begins at `start`, in [0, 1), comes to the cases before it last.
    """
    return (int(digest("sample", seed, case_id)[:13], 16) / 16**13 - start) % 1.0


def start_of(bias: str, count: int) -> float:
    """
    Return where in the order of so many cases the probes of a bias begin, in [0, 1).

    Probes that end at their first look would all end on the same cases, and the mean over the run would rest on those
    alone: too few to prove it for a judge that the same cases sway in every probe.
    """
    return APART * (int(digest(START_SALT, bias), 16) % STARTS) / max(1, count) % 1.0
