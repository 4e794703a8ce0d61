"""Refinement awareness: tell the judge that an answer was revised, or show its drafts."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.experiment.inert import HISTORIES
from calm.perturbations.cues import named, noted, on_either
from calm.perturbations.prose import append, prepend, sentences, stock
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger, in_text_or_note

BIAS = "refinement-aware"
NOTICES = ("This answer was revised twice.", "This is the revised version of an earlier draft.")
CLAUSES = ("After two rounds of revision:", "Revised after a first draft:")
NOTE = "has been revised twice by its author"
TRIGGER = stock((*NOTICES, *CLAUSES, NOTE))

_LEAST_WORDS = 4
"""An answer of fewer words has no draft that is half of it."""


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2410.02736")
def show_history(case: Treated, rng: Random) -> Treated | None:
    """Show earlier drafts of a randomly chosen answer; first its first half, then all of it but one sentence."""
    aimed = on_either(case, rng)
    drafts = _drafts(aimed[aimed.target].text, rng)
    return aimed.drafted(aimed.target, *drafts) if drafts else None


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2410.02736")
def revision_note(case: Treated, rng: Random) -> Treated | None:
    """Add a note that a randomly chosen answer has been revised."""
    aimed = on_either(case, rng)
    about = named(aimed)
    return noted(aimed, f"{about[0].upper()}{about[1:]} {NOTE}.")


# In the text of the better answer more words could cost it the verdict, whatever they say: they go into the weaker one.


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2410.02736")
def say_revised(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer with a claim that it was revised."""
    return append(case, rng.choice(NOTICES))


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2410.02736")
def say_revised_first(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a claim that it was revised."""
    return prepend(case, rng.choice(CLAUSES))


def _drafts(text: str, rng: Random) -> tuple[str, ...]:
    """Return drafts of a text, the shorter one first; of a single sentence half its words, of less none."""
    spans = sentences(text)
    if len(spans) < 2:
        words = text.split()
        return (" ".join(words[: len(words) // 2]),) if len(words) >= _LEAST_WORDS else ()
    half = text[: spans[(len(spans) - 1) // 2][1]]
    start, end = rng.choice(spans[1:])
    almost = f"{text[:start].rstrip(' ')}{text[end:]}"
    return (half,) if almost.strip() == half.strip() else (half, almost)


_TOLD = in_text_or_note(TRIGGER)


def _revised(slot: Slot, seen: Seen) -> bool:
    return any(draft not in HISTORIES for draft in slot.history) or _TOLD.carries(slot, seen)


PLANTED = Plant(BIAS, Trigger(f"{_TOLD.words}, or earlier drafts of the answer", _revised), precedence=90)
