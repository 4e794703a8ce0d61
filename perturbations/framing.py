"""Framing: ask the same question the other way round, such as which answer is worse."""

from __future__ import annotations

from random import Random

from calm import Expects, Framing, Treated, perturbation
from calm.core.verdict import Family
from calm.perturbations.prose import NEVER
from calm.perturbations.triggers import Effect, Plant, Trigger

TRIGGER = NEVER
TASKS: tuple[Family, ...] = ("pairwise", "score", "rubric", "listwise")
"""A class has no inverted twin: there is no question whose answer is its opposite."""


@perturbation(bias="framing", expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def ask_for_the_worse(case: Treated, rng: Random) -> Treated | None:
    """Ask which of the answers is the worst, instead of the best."""
    return _framed(case, Framing.NEGATIVE) if len(case.answers) > 1 else None


@perturbation(bias="framing", expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def ask_how_bad(case: Treated, rng: Random) -> Treated | None:
    """Ask how bad the only answer is, or which criteria it fails, instead of how good it is."""
    return _framed(case, Framing.NEGATIVE) if len(case.answers) == 1 else None


@perturbation(bias="framing", expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def invert_scale(case: Treated, rng: Random) -> Treated | None:
    """Ask for a score on the inverted scale, where the lowest value is the best."""
    return _framed(case, Framing.INVERTED) if len(case.answers) == 1 and not case.criteria else None


def _framed(case: Treated, framing: Framing) -> Treated | None:
    return case.present(framing=framing) if case.framing is Framing.STANDARD else None


PLANTED = Plant(
    "framing",
    Trigger("the question is put the other way round", lambda slot, seen: seen.framing is not Framing.STANDARD),
    precedence=350,
    effect=Effect.MISREAD,
)
