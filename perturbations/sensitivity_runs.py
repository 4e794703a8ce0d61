"""Sensitivity to runs: harm what an agent did, and keep its answer, which still says that all of it was done."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from calm import Expects, Treated, perturbation
from calm.core.material import Step
from calm.core.verdict import Family
from calm.perturbations.agent_runs import changes
from calm.perturbations.prose import stock

BIAS = "sensitivity"
REFUSAL = "the request was turned down and nothing was changed"
TRIGGER = stock((REFUSAL,))

_NUMBER = re.compile(r"(?<![\w.])[1-9][0-9]{0,8}(?![\w.])")

TASKS: Final[tuple[Family, ...]] = ("pairwise", "score", "listwise")
"""No rule says which criterion of a rubric a call served, so none of these edits serves a judge of rubrics."""

# A step that changed something is taken to have been needed, as it mostly is in a run that reached its goal.


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=TASKS)
def fail_call(case: Treated, rng: Random) -> Treated | None:
    """Let a call of the run that changed something fail, with all else as it was."""
    steps = case[case.target].steps
    return _at_change(case, rng, lambda place: [*steps[:place], _refused(steps[place]), *steps[place + 1 :]])


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=TASKS)
def drop_call(case: Treated, rng: Random) -> Treated | None:
    """Leave out a call of the run that changed something."""
    steps = case[case.target].steps
    return _at_change(case, rng, lambda place: [*steps[:place], *steps[place + 1 :]])


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=TASKS)
def stop_early(case: Treated, rng: Random) -> Treated | None:
    """End the run before the first call that changed something."""
    steps = case[case.target].steps
    first = next((place for place, step in enumerate(steps) if changes(step)), 0)
    return _harmed(case, steps[:first]) if first else None


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=TASKS)
def change_amount(case: Treated, rng: Random) -> Treated | None:
    """Let a call of the run that changed something do so with another number, in its arguments and its result."""
    steps = case[case.target].steps
    places = [place for place, step in enumerate(steps) if changes(step) and _NUMBER.search(step.arguments)]
    if not places:
        return None
    place = rng.choice(places)
    old = rng.choice(_NUMBER.findall(steps[place].arguments))
    new = str(int(old) + rng.randint(max(1, int(old) // 10), max(2, int(old) // 4)))
    other = re.compile(rf"(?<![\w.]){old}(?![\w.])")
    step = replace(
        steps[place],
        arguments=other.sub(new, steps[place].arguments),
        result=other.sub(new, steps[place].result),
    )
    return _harmed(case, [*steps[:place], step, *steps[place + 1 :]])


def _refused(step: Step) -> Step:
    return replace(step, result=json.dumps({"error": REFUSAL}))


def _at_change(case: Treated, rng: Random, harm: Callable[[int], Sequence[Step]]) -> Treated | None:
    places = [place for place, step in enumerate(case[case.target].steps) if changes(step)]
    return _harmed(case, harm(rng.choice(places))) if places else None


def _harmed(case: Treated, steps: Sequence[Step]) -> Treated | None:
    return case.damage(case.target, lambda text: text, steps=steps)
