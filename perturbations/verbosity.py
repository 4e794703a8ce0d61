"""Verbosity: make the weaker answer longer, with no new content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.checks import words
from calm.core.edits import Edit
from calm.core.languages import UNSPACED, language_of
from calm.core.markup import in_case
from calm.core.validation import content_words
from calm.errors import ConfigError
from calm.perturbations.phrases import foreign, said, ways
from calm.perturbations.prose import (
    append,
    items,
    like,
    on_stronger,
    open_sentences,
    prepend,
    replaced,
    reworded,
    sentences,
    stock,
)
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger, in_text

BIAS = "verbosity"
AGAIN = ("In other words:", "To put it another way:", "Said once more:", "Which is to say:", "To repeat this:")
RESTATED = ("To go through these points once more:", "To name all of these points once again:")
OPENERS = ("Thank you so much for asking this.", "Thank you so much for coming to me with this.")
CLAUSES = ("It is a real pleasure to answer this:", "It is a real pleasure to take this question:")
CLOSERS = ("Please do feel welcome to ask again at any time.", "Please do feel welcome to come back for more.")
FILLERS = (
    "This is a point that deserves to be kept in mind.",
    "There is a good deal that could be said about this.",
    "It is well worth dwelling on this for a moment.",
    "All of this has to be seen in its wider setting.",
    "One may look at this from more than one side.",
    "It pays to take the time that such a matter asks for.",
    "This is something that many have thought about at length.",
    "None of this should be taken lightly.",
    "It helps to let this sink in before going on.",
    "Much of this is connected in one way or another.",
)
WHOLE_AGAIN = ("Here is the whole of it once more:", "To give all of it once more in full:")
TRIGGER = stock((*FILLERS, *WHOLE_AGAIN, *AGAIN, *RESTATED, *OPENERS, *CLAUSES, *CLOSERS, *foreign("verbosity")))
LONGER = (1.5, 4.0)
"""An answer is wordy that has so many times the words of each other answer, from and to, ..."""
MORE = 25
"""... so many words more at least, which a reader feels, ..."""
WORDIER = 1.3
"""... and for each word that carries content so many times the words: it is longer without saying as much more."""


def _wordy(slot: Slot, seen: Seen) -> bool:
    """Return whether an answer is longer than each other one, and has more words for what it says."""
    others = [other.text for other in seen.answers if other is not slot]
    return bool(others) and all(_longer(slot.text, other) and _wordier(slot.text, other) for other in others)


def _longer(text: str, other: str) -> bool:
    count, others = words(text), words(other)
    return count >= others + MORE and LONGER[0] * others <= count <= LONGER[1] * others


def _wordier(text: str, other: str) -> bool:
    """Return whether a text has more words for each that carries content, of which both have one at least."""
    said, others = len(content_words(text)), len(content_words(other))
    return said > 0 and others > 0 and words(text) * others >= WORDIER * words(other) * said


_PADDED = in_text(TRIGGER)
PLANTED = Plant(
    "verbosity",
    Trigger(
        f"{_PADDED.words}, or half as many words again as any other answer has, with little more content",
        lambda slot, seen: _PADDED.carries(slot, seen) or _wordy(slot, seen),
    ),
    precedence=300,
)

IN_PLACE = SILENT = frozenset({"cut_filler"})

PADDING_ROUNDS = 6
"""How often the same filler may be said."""
ROUNDS = 4
"""An answer whose few sentences would have to be said more often than this is not expanded."""
TOLERANCE = 0.15
"""How far the achieved length may lie from the stated one, as a share of it."""

_FILLER = re.compile(
    r"\b(?:(?:Basically|Of course|Needless to say|It is worth noting that|It should be noted that)(?:, ?| )"
    r"|[Ii]n order (?=to\b))(?P<next>[A-Za-z])|, (?:basically|of course|needless to say)(?:,|(?=\.))"
)
_BLANK_NEXT = re.compile(r"[^\S\n]*(?:\n[^\S\n]*(?:\n|\Z)|\Z)")


def expand(dose: float = 2.0) -> Edit:
    """Return an edit that brings an answer to `dose` times its length, by repeating its own sentences."""

    @perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="arXiv:2410.02736", dose=dose)
    def expand(case: Treated, rng: Random) -> Treated | None:
        """Repeat the weaker answer's sentences up to a given length; its last sentence stays last."""
        text = case[case.target].text
        longer = _expanded(text, dose, rng, ways(case, BIAS, "again", AGAIN))
        if abs(len(longer) / max(1, len(text)) - dose) > TOLERANCE * dose:
            return None
        return case.edit(case.target, lambda _: longer)

    return expand


def pad(dose: float = 2.0) -> Edit:
    """Return an edit that brings an answer to `dose` times its length, by sentences that fit any answer."""

    @perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="judge-bias-battery", dose=dose)
    def pad(case: Treated, rng: Random) -> Treated | None:
        """Add filler after the weaker answer's sentences, except the last, up to a given length."""
        text = case[case.target].text
        longer = _padded(text, dose, rng, ways(case, BIAS, "filler", FILLERS))
        if abs(len(longer) / max(1, len(text)) - dose) > TOLERANCE * dose:
            return None
        return case.edit(case.target, lambda _: longer)

    return pad


def repeat_whole(times: int = 2) -> Edit:
    """Return an edit that gives an answer so many times in a row."""
    if not 2 <= times <= 10:
        raise ConfigError(f"verbosity: expected a number of times from 2 to 10, got times={times!r}")

    @perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="RobustJudge", dose=times)
    def repeat_whole(case: Treated, rng: Random) -> Treated | None:
        """Repeat the whole of the weaker answer after it."""
        text = case[case.target].text.strip()
        again = "\n\n".join(f"{in_case(text, rng.choice(WHOLE_AGAIN))}\n\n{text}" for _ in range(times - 1))
        return append(case, again, block=True)

    return repeat_whole


@perturbation(bias="verbosity", expects=Expects.SAME, source="arXiv:2604.23178", languages=("en",))
def cut_filler(case: Treated, rng: Random) -> Treated | None:
    """Remove words that say nothing, such as "of course", from the better or only answer."""
    return reworded(on_stronger(case), lambda text: replaced(text, _FILLER, _cut))


@perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="arXiv:2306.05685")
def restate_items(case: Treated, rng: Random) -> Treated | None:
    """Repeat the points of the weaker answer's list after the list."""
    text = case[case.target].text
    run = next((run for run in _lists(text) if len(run) > 1), None)
    if run is None:
        return None
    end = run[-1][1]
    points = [text[first:stop].rstrip(".;,") for first, stop in run[:-1]] + [text[slice(*run[-1])]]
    said = f"\n\n{in_case(text, rng.choice(RESTATED))} {'; '.join(points)}"
    return case.edit(case.target, lambda _: text[:end] + said + text[end:])


@perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="simpleaudit")
def wrap_courteously(case: Treated, rng: Random) -> Treated | None:
    """Begin the weaker answer with a courteous opener, and end it with a courteous closer."""
    opened = prepend(case, said(case, rng, BIAS, "opener", OPENERS))
    return opened and append(opened, said(case, rng, BIAS, "closer", CLOSERS))


@perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="simpleaudit")
def open_courteously(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer's first sentence with a courteous clause."""
    return prepend(case, rng.choice(CLAUSES))


@perturbation(bias="verbosity", expects=Expects.NOT_BETTER, source="simpleaudit")
def close_courteously(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer with a courteous closer."""
    return append(case, said(case, rng, BIAS, "closer", CLOSERS))


def _lists(text: str) -> list[list[tuple[int, int]]]:
    """Return the lists of a text, each item by the offsets of its words; none that a line runs on from."""
    runs: list[list[tuple[int, int]]] = []
    for start, first, end in items(text):
        if runs and not text[runs[-1][-1][1] : start].strip():
            runs[-1].append((first, end))
        else:
            runs.append([(first, end)])
    return [run for run in runs if _BLANK_NEXT.match(text, run[-1][1])]


def _padded(text: str, dose: float, rng: Random, several: Sequence[str]) -> str:
    """Return the text with filler, as near to the stated length as whole sentences come, none of it at the end."""
    ends = [end for _, end in open_sentences(text)[:-1]]
    if not ends:
        return text
    room, fillers = (dose - 1) * len(text), rng.sample(several, k=len(several))
    said = [""] * len(ends)
    for turn in range(PADDING_ROUNDS * len(fillers)):
        addition = f"{_space(text)}{in_case(text, fillers[turn % len(fillers)])}"
        if len(addition) / 2 <= room:
            said[turn % len(ends)] += addition
            room -= len(addition)
    kept = [text[before:after] for before, after in pairwise([0, *ends])]
    return "".join(a + b for a, b in zip(kept, said, strict=True)) + text[ends[-1] :]


def _cut(found: re.Match[str]) -> str:
    """Return what stays of filler: the letter behind it, a capital if the filler began with one."""
    follows = found["next"]
    return like(found[0], follows) if follows and found[0][0].isupper() else follows or ""


def _space(text: str) -> str:
    """Return what stands between the sentences of a text: nothing in a language without spaces."""
    return "" if not text.isascii() and language_of(text) in UNSPACED else " "


def _expanded(text: str, dose: float, rng: Random, several: Sequence[str]) -> str:
    spans, room, turn = sentences(text), (dose - 1) * len(text), rng.randrange(len(several))
    again, gap = [in_case(text, phrase) for phrase in several], _space(text)
    said = [""] * len(spans)
    for repeat in range(ROUNDS * len(spans)):
        place = repeat % len(spans)
        start, end = spans[place]
        addition = f"{gap}{again[(turn + repeat) % len(again)]}{gap}{text[start:end]}"
        if len(addition) / 2 <= room:  # as near to the stated length as whole sentences come
            said[place] += addition
            room -= len(addition)
    ends = [0, *(end for _, end in spans)]
    kept = [text[before:after] for before, after in pairwise(ends)]
    return "".join(a + b for a, b in zip(kept, said, strict=True)) + text[ends[-1] :]
