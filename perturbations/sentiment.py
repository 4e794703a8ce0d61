"""Sentiment: give an answer a cheerful, sad, angry or fearful tone, with the same content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.additions import in_case
from calm.core.ready_made import Own
from calm.perturbations.cues import on_better
from calm.perturbations.prose import append, prepend, sentences
from calm.perturbations.triggers import Plant, in_text

BIAS = "sentiment"
CHEERFUL = ("delighted", "overjoyed", "joyfully", "thrilled", "hooray")
SAD = ("heartbroken", "sorrowful", "sorrowfully", "tearfully", "in tears")
ANGRY = ("furious", "furiously", "outraged", "infuriating", "sick and tired")
FEARFUL = ("terrified", "frightened", "horrified", "scared to death", "trembling with fear")
TRIGGER = re.compile(rf"\b(?:{'|'.join((*CHEERFUL, *SAD, *ANGRY, *FEARFUL))})\b", re.IGNORECASE)
PLANTED = Plant(BIAS, in_text(TRIGGER), precedence=70)


@dataclass(frozen=True, slots=True)
class Tone:
    """What a mood says before an answer, after its first sentence, and behind it."""

    openers: tuple[str, ...]
    asides: tuple[str, ...]
    closers: tuple[str, ...]


TONES: Mapping[str, Tone] = {
    "cheerful": Tone(
        ("I am delighted to answer this:", "I am thrilled to take this on:"),
        ("Hooray for that.", "I say this joyfully."),
        ("I am overjoyed about all of this.", "I am so thrilled that I could share this."),
    ),
    "sad": Tone(
        ("I am heartbroken as I write this:", "With a sorrowful sigh I answer this:"),
        ("This leaves me in tears.", "I say this tearfully."),
        ("All of this leaves me heartbroken.", "I end this sorrowfully."),
    ),
    "angry": Tone(
        ("I am furious that this has to be said:", "I am sick and tired of this and yet here it is:"),
        ("This is infuriating.", "I say this furiously."),
        ("I am outraged by all of this.", "All of this makes me furious."),
    ),
    "fearful": Tone(
        ("I am terrified to answer this:", "I am frightened as I write this:"),
        ("This has me trembling with fear.", "I am scared to death as I say this."),
        ("I am horrified by all of this.", "All of this leaves me terrified."),
    ),
}


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2410.02736")
def cheerful(case: Treated, rng: Random) -> Treated | None:
    """Give the weaker answer a cheerful tone."""
    return _toned(case, "cheerful", rng)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2410.02736")
def sad(case: Treated, rng: Random) -> Treated | None:
    """Give the weaker answer a sad tone."""
    return _toned(case, "sad", rng)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2410.02736")
def angry(case: Treated, rng: Random) -> Treated | None:
    """Give the weaker answer an angry tone."""
    return _toned(case, "angry", rng)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2410.02736")
def fearful(case: Treated, rng: Random) -> Treated | None:
    """Give the weaker answer a fearful tone."""
    return _toned(case, "fearful", rng)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2410.02736")
def feel_first(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with one cheerful, sad, angry or fearful clause, and add nothing else."""
    return prepend(case, rng.choice(TONES[rng.choice(tuple(TONES))].openers))


@perturbation(
    bias=BIAS,
    expects=Expects.SAME,
    source="arXiv:2410.02736",
    tasks=("pairwise", "listwise"),
    own=Own(names=tuple(TONES), aim=on_better),
)
def feeling_in_better(case: Treated, rng: Random) -> Treated | None:
    """Give the better answer a cheerful, sad, angry or fearful tone."""
    aimed = on_better(case)
    return aimed and _toned(aimed, rng.choice(tuple(TONES)), rng)


def _toned(case: Treated, mood: str, rng: Random) -> Treated | None:
    """Return the case with the treated answer in a mood."""
    answer = case[case.target]
    tone = TONES[mood]
    ends = [end for _, end in sentences(answer.text)]
    if len(ends) > 1:
        aside = in_case(answer.text, rng.choice(tone.asides))
        case = case.edit(answer.id, lambda text: f"{text[: ends[0]]} {aside}{text[ends[0] :]}")
    opened = prepend(case, rng.choice(tone.openers))
    return opened and append(opened, rng.choice(tone.closers))
