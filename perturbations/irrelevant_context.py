"""Irrelevant context: make the prompt longer with material that has nothing to do with the question."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.core.edits import Edit
from calm.errors import ConfigError
from calm.perturbations.cues import noted
from calm.perturbations.prose import stock
from calm.perturbations.triggers import Effect, Plant, in_note

BIAS = "irrelevant-context"
TITLE = "Other material that happens to be on file (it belongs to no answer and to no question here):"
TRIGGER = stock((TITLE,))
PLANTED = Plant(BIAS, in_note(TRIGGER), precedence=320, effect=Effect.LAST_WINS)
MOST = 100_000
"""Tokens of context at most: what some judges can read at all."""

_PLACES = ("old harbour", "upper meadow", "stone bridge", "village hall", "north garden", "mill pond")
_THINGS = ("gate", "path", "bench", "roof", "fence", "lamp")
_REMARKS = (
    "In the {place} the {thing} has been painted green.",
    "The {thing} beside the {place} is to be mended before winter.",
    "Visitors to the {place} often ask who built the {thing}.",
    "After the rain the {thing} at the {place} was covered with leaves.",
    "Nobody has moved the {thing} near the {place} for many years.",
)
_CHARACTERS_A_TOKEN = 4
"""About what English text takes; the dose is a length and need not be exact for any one model."""


def pad_context(tokens: int = 1000) -> Edit:
    """Return an edit that adds a note of about so many tokens about other things."""
    if not 50 <= tokens <= MOST:
        raise ConfigError(f"{BIAS}: expected from 50 to {MOST} tokens, got tokens={tokens!r}")

    @perturbation(bias=BIAS, expects=Expects.SAME, source="metamorphic testing", dose=tokens)
    def pad_context(case: Treated, rng: Random) -> Treated | None:
        """Add a long note about places and things that has nothing to do with the question."""
        return noted(case, _material(tokens * _CHARACTERS_A_TOKEN, rng))

    return pad_context


def _material(size: int, rng: Random) -> str:
    remarks = [r.format(place=p, thing=t) for r in _REMARKS for p in _PLACES for t in _THINGS]
    rng.shuffle(remarks)
    parts, length = [TITLE], len(TITLE)
    while length < size:
        said = remarks[len(parts) % len(remarks)]
        parts.append(said)
        length += len(said) + 1
    return " ".join(parts)
