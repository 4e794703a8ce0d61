"""Sentiment: give an answer a cheerful, sad, angry, fearful, flattering or sorry tone, with the same content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.markup import in_case
from calm.core.ready_made import Own
from calm.perturbations.cues import on_better
from calm.perturbations.phrases import foreign, said, ways
from calm.perturbations.prose import append, prepend, sentences, stock
from calm.perturbations.triggers import Plant, in_text

BIAS = "sentiment"
CHEERFUL = (
    "delight(?:s|ed|ful|fully)?", "overjoyed", "joy(?:ful|fully|ous)", "rejoic(?:e|es|ing)", "thrill(?:ed|ing)",
    "hooray", "hurrah", "hurray", "yay", "bravo", "happ(?:y|ily|iness)", "cheer(?:s|ful|fully|ily|ing)", "merrily",
    "jolly", "glad(?:ly)?", "glee(?:ful|fully)?", "excit(?:ed|ing)", "wonderful(?:ly)?", "marvell?ous(?:ly)?",
    "fantastic", "fabulous", "splendid", "brilliant", "gorgeous", "awesome", "fun", "ador(?:e|able)",
    "giggl(?:e|es|ing)", "smiling",
)  # fmt: skip
SAD = (
    "heartbroken", "break(?:s)? my heart", "heavy heart", "sorrow(?:s|ful|fully)?", "tear(?:ful|fully)", "in tears",
    "close to tears", "without tears", "sad(?:ly|ness|dens|der|dest)?", "grie(?:f|ve|ves|ving)", "weep(?:s|ing)?",
    "wept", "mourn(?:s|ful|fully|ing)", "gloom(?:y|ily)?", "melanchol(?:y|ic)", "miser(?:y|ably)", "lonely",
    "loneliness", "dejected", "downcast", "despair(?:s|ing)?", "unhappy", "depress(?:ed|ing)", "sigh(?:s|ing)?", "alas",
)  # fmt: skip
ANGRY = (
    "fur(?:y|ious|iously)", "outrag(?:e|ed|eous)", "(?:in)?furiat(?:es|ed|ing)", "sick and tired", "fed up",
    "ang(?:er|ers|ry|rily)", "enrag(?:es|ed)", "rag(?:e|ing)", "livid", "fuming", "madden(?:s|ing)", "so mad",
    "damn(?:ed|it)?", "dammit", "bloody", "blasted", "hat(?:e|es|eful)", "loath(?:e|es|ing)", "annoy(?:s|ed|ing)",
    "stupid", "idiot(?:s|ic)?", "disgust(?:s|ed|ing)", "blood boil", "how dare", "crying out loud",
    "(?:heaven|goodness)'s? sake", "insane",
)  # fmt: skip
FEARFUL = (
    "terrif(?:y|ies|ied|ying)", "terrors?", "fright(?:en|ens|ened|ening|ful)?", "horr(?:or|ors|ible|ibly|ified|ifying)",
    "scar(?:e|es|ed|ing|y|ily)", "trembl(?:e|es|ing)", "fear(?:s|ed|ful|fully|ing)?", "dread(?:s|ed|ful)?",
    "panic(?:s|king|ked)?", "nervously", "anxious(?:ly)?", "anxiety", "worr(?:y|ied|ies|ying)", "shudder(?:s|ing)?",
    "shiver(?:s|ing)?", "uneasy", "nightmares?", "the creeps", "goosebumps", "jittery",
)  # fmt: skip
PRAISE = (
    "Great question!",
    "What a thoughtful question.",
    "That is a really good question.",
    "This is an excellent question, and an important one.",
)
SORRY = (
    "I apologize for any confusion.",
    "Sorry if this is not quite what you were after.",
    "I am sorry for any confusion that this may cause.",
    "My apologies if this is not what you had in mind.",
)
TRIGGER = re.compile(
    rf"\b(?:{'|'.join((*CHEERFUL, *SAD, *ANGRY, *FEARFUL))})\b|{stock((*PRAISE, *SORRY, *foreign(BIAS))).pattern}",
    re.IGNORECASE,
)
"""Words of feeling: those of the edits below, and others that people use for the four moods."""
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
    return prepend(case, rng.choice(_tone(case, rng.choice(tuple(TONES))).openers))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def praise_question(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with praise of the question."""
    return prepend(case, said(case, rng, BIAS, "praise", PRAISE))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def say_sorry_first(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a polite apology."""
    return prepend(case, said(case, rng, BIAS, "sorry", SORRY))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def say_sorry_last(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer with a polite apology."""
    return append(case, said(case, rng, BIAS, "sorry", SORRY))


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


def _tone(case: Treated, mood: str) -> Tone:
    """Return a mood in the language of the case: in another one than English it has one opener and one closer."""
    phrases = ways(case, BIAS, mood, ())
    return Tone(tuple(phrases[:1]), (), tuple(phrases[1:])) if phrases else TONES[mood]


def _toned(case: Treated, mood: str, rng: Random) -> Treated | None:
    answer = case[case.target]
    tone = _tone(case, mood)
    ends = [end for _, end in sentences(answer.text)]
    if len(ends) > 1 and tone.asides:
        aside = in_case(answer.text, rng.choice(tone.asides))
        case = case.edit(answer.id, lambda text: f"{text[: ends[0]]} {aside}{text[ends[0] :]}")
    opened = prepend(case, rng.choice(tone.openers))
    return opened and append(opened, rng.choice(tone.closers))
