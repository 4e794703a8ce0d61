"""
Decoy: show an answer that one of the others dominates; the order of the others must not change.

A decoy is the weaker answer with one more blatant error. It is worse than the weaker answer in this, and better in
nothing, so it must not change the verdict on the others. Judges rated misinformation higher beside such a decoy
(arXiv:2411.15396). A list shows it as one more answer. A judge of pairs or of single answers is shown it in a note.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from calm import Answer, Expects, Treated, perturbation
from calm.core.case import digest
from calm.core.checks import words
from calm.core.markup import closed
from calm.core.verdict import Family
from calm.perturbations.cues import ADDED, noted
from calm.perturbations.prose import stock
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger, plain

BIAS = "decoy"
SOURCE = "arXiv:2411.15396"
ALONE: tuple[Family, ...] = ("pairwise", "score", "rubric")
"""Where the answers to compare are of a fixed number, a decoy can stand only in a note."""
FLAWS = (
    "Two left shoes make up a full week.",
    "A triangle is well known for its seven corners.",
    "Milk is won by boiling old bricks.",
)
"""Errors by which the decoy is the worse one."""
PEERS = (
    "The bus to the lake stops at the mill on Sundays.",
    "The keys of the shed hang on a nail behind the door.",
    "The old clock in the hall is wound up every Friday.",
)
"""What stands in its place as a control: it answers another question, and resembles none of the answers."""
QUOTED = "Somebody else replied to the question with these words:"
TRIGGER = stock((*FLAWS, *PEERS, QUOTED))
_FLAWED = stock(FLAWS)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source=SOURCE, tasks=("listwise",))
def add_decoy(case: Treated, rng: Random) -> Treated | None:
    """Add a copy of the weakest answer that ends in a blatant error."""
    return _grown(case, _decoy(case, rng))


@perturbation(bias=BIAS, expects=Expects.SAME, source=SOURCE, tasks=("listwise",))
def add_peer(case: Treated, rng: Random) -> Treated | None:
    """Add an answer of the same length to another question in the same slot, as a control."""
    return _grown(case, _peer(case, rng))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source=SOURCE, tasks=ALONE)
def note_decoy(case: Treated, rng: Random) -> Treated | None:
    """Add a note that quotes a copy of the weaker answer that ends in a blatant error."""
    return _quoted(case, _decoy(case, rng))


@perturbation(bias=BIAS, expects=Expects.SAME, source=SOURCE, tasks=ALONE)
def note_peer(case: Treated, rng: Random) -> Treated | None:
    """Add a note that quotes an answer of the same length to another question, as a control."""
    return _quoted(case, _peer(case, rng))


def _decoy(case: Treated, rng: Random) -> str | None:
    return closed(case[case.target].text, rng.choice(FLAWS))


def _peer(case: Treated, rng: Random) -> str | None:
    """Return as many words as the decoy has, or a few more; None where there is no decoy."""
    decoy = _decoy(case, rng)
    if decoy is None:
        return None
    first = rng.randrange(len(PEERS))
    count = max(1, round(words(decoy) / words(PEERS[0])))
    return " ".join(PEERS[(first + place) % len(PEERS)] for place in range(count))


def _grown(case: Treated, text: str | None) -> Treated | None:
    if text is None or len(case.answers) < 2 or case.labels:
        return None
    added = Answer(f"{ADDED}{digest(text)[:8]}", text)
    order = [answer.id for answer in case.shown]
    order.insert(int(digest(BIAS, case.id), 16) % (len(order) + 1), added.id)
    return replace(case, answers=(*case.answers, added)).present(order=tuple(order))


def _quoted(case: Treated, text: str | None) -> Treated | None:
    return None if text is None else noted(case, f'{QUOTED} "{text}"')


def _dominates(slot: Slot, seen: Seen) -> bool:
    """Return whether a decoy of an answer is shown: as one more answer, or in a note."""
    others = [other.text for other in seen.answers if other is not slot]
    text = plain(slot.text)
    return any(_FLAWED.search(one) is not None and text in plain(one) for one in (*others, *seen.notes))


PLANTED = Plant(BIAS, Trigger("an answer, or a note, that repeats the answer with an error more", _dominates))
