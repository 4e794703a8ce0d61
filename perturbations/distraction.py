"""Distraction: add an irrelevant remark about an author, or inside an answer."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import named, noted, on_better
from calm.perturbations.prose import append, prepend, stock
from calm.perturbations.triggers import Plant, in_text_or_note

BIAS = "distraction"
HOBBIES = (
    "likes hiking at the weekend",
    "keeps two cats and a parrot",
    "plays the drums in a small band",
    "grew up beside the sea",
    "collects old postcards",
)
ANECDOTES = (
    "On my way home I saw a man juggle oranges.",
    "My neighbour has painted her door yellow this week.",
    "My sister has just learned to whistle.",
)
CLAUSES = ("Written while my soup was getting cold:", "Now that my parrot is asleep:")
TRIGGER = stock((*HOBBIES, *ANECDOTES, *CLAUSES))
PLANTED = Plant(BIAS, in_text_or_note(TRIGGER), precedence=60)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2410.02736")
def hobby_note(case: Treated, rng: Random) -> Treated | None:
    """Add a note about what the author of the weaker answer likes or does."""
    return noted(case, f"The author of {named(case)} {rng.choice(HOBBIES)}.")


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2410.02736", tasks=("pairwise", "listwise"))
def hobby_note_on_better(case: Treated, rng: Random) -> Treated | None:
    """Add a note about what the author of the better answer likes or does."""
    aimed = on_better(case)
    return aimed and noted(aimed, f"The author of {named(aimed)} {rng.choice(HOBBIES)}.")


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Score-Judge")
def tell_anecdote(case: Treated, rng: Random) -> Treated | None:
    """Append an anecdote that has nothing to do with the question to the weaker answer."""
    return append(case, rng.choice(ANECDOTES))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Score-Judge")
def digress_first(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a clause that has nothing to do with the question."""
    return prepend(case, rng.choice(CLAUSES))
