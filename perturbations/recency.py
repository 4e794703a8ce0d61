"""
Recency: say when an answer was written; a date must not change the verdict.

The date of a text says nothing of what the text says. Where an answer is right at one time and wrong at another, such
as that to "Who holds the record?", a judge may go by its date: leave such cases out.
"""

from __future__ import annotations

import re
from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import named, noted, signed
from calm.perturbations.prose import append, on_stronger
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger, about

BIAS = "recency"
SOURCE = "arXiv:2509.26072"
NEW = ("2024", "2025")
OLD = ("1950", "1987")

_NEW, _OLD = (rf"(?:was|were) put on paper in (?:{'|'.join(years)})\b" for years in (NEW, OLD))
RECENT = re.compile(_NEW, re.IGNORECASE)
"""What a recent date looks like in a text or a note."""
TRIGGER = re.compile(rf"{_NEW}|{_OLD}", re.IGNORECASE)
BYLINES = frozenset((*NEW, *OLD))

# A judge may like the new or the old. Beside the labels, each answer has a date; the floor is a neutral word there.


@perturbation(bias=BIAS, expects=Expects.SAME, source=SOURCE)
def newer_label(case: Treated, rng: Random) -> Treated | None:
    """Write a recent year beside the label of the weaker answer, and an old one beside that of each other answer."""
    return _dated(case, rng.choice(NEW), rng.choice(OLD))


@perturbation(bias=BIAS, expects=Expects.SAME, source=SOURCE)
def newer_note(case: Treated, rng: Random) -> Treated | None:
    """Add a note that the weaker answer was written in a recent year."""
    return noted(case, _said(case, rng.choice(NEW)))


@perturbation(bias=BIAS, expects=Expects.SAME, source=SOURCE)
def newer_text(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer by saying that it was written in a recent year."""
    return append(case, f"(This was put on paper in {rng.choice(NEW)}.)")


@perturbation(bias=BIAS, expects=Expects.SAME, source=SOURCE)
def older_label(case: Treated, rng: Random) -> Treated | None:
    """Write an old year beside the label of the weaker answer, and a recent one beside that of each other answer."""
    return _dated(case, rng.choice(OLD), rng.choice(NEW))


@perturbation(bias=BIAS, expects=Expects.SAME, source=SOURCE)
def older_note(case: Treated, rng: Random) -> Treated | None:
    """Add a note that the better or only answer was written in an old year."""
    aimed = on_stronger(case)
    return aimed and noted(aimed, _said(aimed, rng.choice(OLD)))


@perturbation(bias=BIAS, expects=Expects.SAME, source=SOURCE)
def older_text(case: Treated, rng: Random) -> Treated | None:
    """End the better or only answer by saying that it was written in an old year."""
    aimed = on_stronger(case)
    return aimed and append(aimed, f"(This was put on paper in {rng.choice(OLD)}.)")


def _dated(case: Treated, year: str, other: str) -> Treated | None:
    return signed(case, {a.id: year if a.id == case.target else other for a in case.answers})


def _said(case: Treated, year: str) -> str:
    about_it = named(case)
    return f"{about_it[0].upper()}{about_it[1:]} was put on paper in {year}."


def _newest(slot: Slot, seen: Seen) -> bool:
    told = RECENT.search(slot.text) is not None or any(about(n, RECENT, seen) == slot.label for n in seen.notes)
    return told or slot.byline in NEW


PLANTED = Plant(
    BIAS,
    Trigger("a recent year as its byline, in the answer, or in a note that names its label", _newest),
    bylines=BYLINES,
)
