"""Verbosity: make the weaker answer longer, adding no content."""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

from calm import Case, Expects, perturbation
from calm.edits import Edit
from calm.perturbations.prose import append, in_case, items, prepend, sentences, stock

AGAIN = ("In other words:", "To put it another way:", "Said once more:", "Which is to say:", "To repeat this:")
RESTATED = ("To go through these points once more:", "To name all of these points once again:")
OPENERS = ("Thank you so much for asking this.", "Thank you so much for coming with this question.")
CLAUSES = ("It is a real pleasure to answer this:", "It is a real pleasure to take this question:")
CLOSERS = ("Please do feel welcome to ask again at any time.", "Please do feel welcome to come back for more.")
TRIGGER = stock((*AGAIN, *RESTATED, *OPENERS, *CLAUSES, *CLOSERS))

ROUNDS = 4
"""An answer whose few sentences would have to be said more often than this is not expanded."""
TOLERANCE = 0.15
"""How far the achieved length may lie from the stated one, as a share of it."""

_BLANK_NEXT = re.compile(r"[^\S\n]*(?:\n[^\S\n]*(?:\n|\Z)|\Z)")


def expand(dose: float = 2.0) -> Edit:
    """Return an edit that brings an answer to `dose` times its length, by repeating its own sentences."""

    @perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="arXiv:2410.02736", dose=dose)
    def expand(case: Case, rng: Random) -> Case | None:
        """Say the weaker answer's sentences again, to a stated length, the last one last."""
        text = case[case.target].text
        longer = _expanded(text, dose, rng)
        if abs(len(longer) / max(1, len(text)) - dose) > TOLERANCE * dose:
            return None
        return case.edit(case.target, lambda _: longer)

    return expand


@perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="arXiv:2306.05685")
def restate_items(case: Case, rng: Random) -> Case | None:
    """Name the points of the weaker answer's list once more behind the list."""
    text = case[case.target].text
    run = next((run for run in _lists(text) if len(run) > 1), None)
    if run is None:
        return None
    end = run[-1][1]
    points = [text[words:stop].rstrip(".;,") for words, stop in run[:-1]] + [text[slice(*run[-1])]]
    said = f"\n\n{in_case(text, rng.choice(RESTATED))} {'; '.join(points)}"
    return case.edit(case.target, lambda _: text[:end] + said + text[end:])


@perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="simpleaudit")
def wrap_courteously(case: Case, rng: Random) -> Case | None:
    """Put a courteous opener before the weaker answer and a courteous closer behind it."""
    opened = prepend(case, rng.choice(OPENERS))
    return opened and append(opened, rng.choice(CLOSERS))


@perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="simpleaudit")
def open_courteously(case: Case, rng: Random) -> Case | None:
    """Put a courteous clause before the weaker answer's first sentence."""
    return prepend(case, rng.choice(CLAUSES))


@perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="simpleaudit")
def close_courteously(case: Case, rng: Random) -> Case | None:
    """Put a courteous closer behind the weaker answer."""
    return append(case, rng.choice(CLOSERS))


def _lists(text: str) -> list[list[tuple[int, int]]]:
    """Return the lists of a text, each item by the offsets of its words; none that a line runs on from."""
    runs: list[list[tuple[int, int]]] = []
    for start, words, end in items(text):
        if runs and not text[runs[-1][-1][1] : start].strip():
            runs[-1].append((words, end))
        else:
            runs.append([(words, end)])
    return [run for run in runs if _BLANK_NEXT.match(text, run[-1][1])]


def _expanded(text: str, dose: float, rng: Random) -> str:
    spans, room, turn = sentences(text), (dose - 1) * len(text), rng.randrange(len(AGAIN))
    again = [in_case(text, words) for words in AGAIN]
    said = [""] * len(spans)
    for repeat in range(ROUNDS * len(spans)):
        place = repeat % len(spans)
        start, end = spans[place]
        addition = f" {again[(turn + repeat) % len(again)]} {text[start:end]}"
        if len(addition) / 2 <= room:  # as near to the stated length as whole sentences come
            said[place] += addition
            room -= len(addition)
    ends = [0, *(end for _, end in spans)]
    kept = [text[before:after] for before, after in pairwise(ends)]
    return "".join(a + b for a, b in zip(kept, said, strict=True)) + text[ends[-1] :]
