"""Grounding: remove the passages that an answer rests on, so that no passage says what the answer says."""

from __future__ import annotations

import re
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Passage
from calm.perturbations.prose import stock
from calm.perturbations.retrieved import in_passage, support, touching
from calm.perturbations.triggers import Plant

BIAS = "grounding"
INSTEAD = (
    "Notes on the upkeep of stone walls: a loose stone is set again before frost, moss may stay where it grows.",
    "Notes on the upkeep of stone walls: a wall is built dry, and the widest stones go to the bottom.",
    "Notes on the upkeep of stone walls: a gap for water is left at each third step, wide enough for a hand.",
)
"""What stands in the place of passages: of no more than these, else hardly anything of the case would be left."""
TRIGGER = stock(("Notes on the upkeep of stone walls",))
PLANTED = Plant(BIAS, in_passage(TRIGGER))

_SOURCES = r"(?:passages?|contexts?|documents?|sources?|snippets?|excerpts?|chunks?|evidence)"
_BACKED = (
    r"(?:support\w*|backed|bas(?:ed|is)|rests?|follows|consistent|according|faithful|taken|drawn|stated|found|given|"
    r"contained|information|facts?|keeps?|limited)"
)
_BETWEEN = r"(?:by|on|in|from|with|to|of|the|its|a|any|all|one|these|those|given|provided|retrieved|cited)"
_GROUNDED = re.compile(
    rf"\b(?:(?:un)?grounded(?:ness)?|hallucinat\w*)\b|\b{_BACKED}(?:\W+{_BETWEEN})+\W+{_SOURCES}\b|"
    rf"\b{_SOURCES}\W+(?:that\W+)?(?:say|state|give|support|contain|back|provide)s?\b",
    re.IGNORECASE,
)
"""A criterion that asks whether passages support the answer; one that asks for sources to be cited is another."""


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2503.15620", tasks=("score", "rubric"))
def lose_passage(case: Treated, rng: Random) -> Treated | None:
    """Put a passage about something else in the place of each one that the only answer may rest on."""
    text = case[case.target].text
    best = support(case, text)
    if best is None:
        return None
    gone = {best, *touching(text, case.context)}
    hit = _about_support(case)
    if len(gone) > len(INSTEAD) or (case.criteria and hit is None):
        return None  # no program knows that a criterion breaks which does not speak of the passages
    others = iter(rng.sample(INSTEAD, len(gone)))
    return case.unfounded(
        tuple(Passage(one.id, next(others)) if at in gone else one for at, one in enumerate(case.context)), hit=hit
    )


def _about_support(case: Treated) -> str | None:
    """Return the id of the first criterion that asks whether passages support the answer, and that the answer meets."""
    met = case.met.get(case.answers[0].id, {})
    return next(
        (
            one.id
            for one in case.criteria
            if one.check is None and one.points > 0 and met.get(one.id, not met) and _GROUNDED.search(one.text)
        ),
        None,
    )
