"""Fallacy oversight: break the better answer's reasoning and keep its result."""

from __future__ import annotations

import re
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.markup import in_case
from calm.perturbations.prose import sentences, stock

STEPS = (
    "A week has more than six days and for this reason the following is proven.",  # a non sequitur
    "The following is true for the reason that it is true.",  # a circle
    "The asking came before the answering and so it was the asking that caused the following to be true.",
)
"""Broken steps that fit any answer: a non sequitur, a circle, and a false cause."""
TRIGGER = stock(STEPS)

_REASON = re.compile(
    r"\b(?:because|since|therefore|thus|hence|so|as a result|which means|that is why)\b", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")


@perturbation(
    bias="fallacy-oversight",
    expects=Expects.WORSE,
    source="arXiv:2410.02736",
    tasks=("pairwise", "score", "listwise"),
)
def fallacy(case: Treated, rng: Random) -> Treated | None:
    """Put a broken step in place of a reason in the better answer, or before its last sentence."""
    # a sentence of an answer that stands alone may be an error, and without it the answer would be better: all stay
    answer = case[case.target]
    text = _broken(answer.text, rng, replace=len(case.answers) > 1)
    return case.damage(answer.id, lambda _: text)


def _broken(text: str, rng: Random, *, replace: bool) -> str:
    spans = sentences(text)
    if not spans:
        return text
    step = in_case(text, rng.choice(STEPS))
    reasons = [
        span for span in spans[1:-1] if replace and _gives_reason(text[slice(*span)])
    ]  # the first may be the result
    start, end = reasons[-1] if reasons else (spans[-1][0], spans[-1][0])
    return f"{text[:start]}{step}{'' if reasons else ' '}{text[end:]}"


def _gives_reason(sentence: str) -> bool:
    """Return whether a sentence reasons; one with a number is left alone, as it may be the result."""
    return _REASON.search(sentence) is not None and _DIGIT.search(sentence) is None
