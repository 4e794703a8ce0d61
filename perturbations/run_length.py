"""Run length: make an agent's run longer without any effect, by reading again what was read, or by thinking on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Step
from calm.perturbations.agent_runs import acted, in_steps, reads
from calm.perturbations.prose import on_stronger, stock
from calm.perturbations.triggers import Plant

BIAS = "run-length"
ONCE_MORE = ("I take another look at the very same thing.", "The same reading over again.")
PAUSES = (
    "I stay with this for a moment.",
    "I let this rest for a moment before I go further.",
    "For a moment I do nothing but think on.",
)
TRIGGER = stock((*ONCE_MORE, *PAUSES))
PLANTED = Plant(BIAS, in_steps(TRIGGER))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def read_again(case: Treated, rng: Random) -> Treated | None:
    """Repeat one call of the weaker answer's run that only reads, right behind it, with the same result."""
    steps = case[case.target].steps
    places = [place for place, step in enumerate(steps) if reads(step)]
    return _repeated(case, [rng.choice(places)] if places else [], rng)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def read_all_again(case: Treated, rng: Random) -> Treated | None:
    """Repeat each call of the weaker answer's run that only reads, right behind it, with the same result."""
    return _repeated(case, [place for place, step in enumerate(case[case.target].steps) if reads(step)], rng)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def think_on(case: Treated, rng: Random) -> Treated | None:
    """Put steps that do nothing between the steps of the weaker answer's run."""
    steps = case[case.target].steps
    start = rng.randrange(len(PAUSES))
    if not steps:
        return None
    paused = [(step, Step(PAUSES[(start + place) % len(PAUSES)])) for place, step in enumerate(steps[:-1])]
    return acted(case, (*(one for pair in paused for one in pair), steps[-1], Step(PAUSES[start])))


@perturbation(bias=BIAS, expects=Expects.OBSERVE, source="own")
def drop_reading(case: Treated, rng: Random) -> Treated | None:
    """Leave out one call of the better or only answer's run that only reads; what it did is as before."""
    aimed = on_stronger(case)
    steps = () if aimed is None else aimed[aimed.target].steps
    places = [place for place, step in enumerate(steps) if reads(step)]
    if aimed is None or not places or len(steps) < 2:
        return None
    gone = rng.choice(places)
    return acted(aimed, (*steps[:gone], *steps[gone + 1 :]))


def _repeated(case: Treated, places: Iterable[int], rng: Random) -> Treated | None:
    steps = list(case[case.target].steps)
    for place in sorted(places, reverse=True):
        steps.insert(place + 1, replace(steps[place], thought=rng.choice(ONCE_MORE)))
    return acted(case, steps)
