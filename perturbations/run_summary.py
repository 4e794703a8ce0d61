"""Run summary: end an agent's run with a confident summary of which the run shows nothing."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Step
from calm.perturbations.agent_runs import acted, in_text_or_steps
from calm.perturbations.prose import append, prepend, stock
from calm.perturbations.triggers import Plant

BIAS = "run-summary"
CLOSING = (
    "All that was asked for is accomplished and I have verified each part of it.",
    "The run is complete: each requirement is fulfilled without exception.",
)
SUMMARY = ("In sum the run was a full success from its first call to its last.", "Every goal of the task was achieved.")
STATUS = "Status of the task: completed and verified."
TRIGGER = stock((*CLOSING, *SUMMARY, STATUS))
PLANTED = Plant(BIAS, in_text_or_steps(TRIGGER))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def conclude_run(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer's run with a thought that all is accomplished."""
    steps = case[case.target].steps
    return acted(case, (*steps, Step(rng.choice(CLOSING)))) if steps else None


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def sum_up(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer with a summary that calls its run a success."""
    return append(case, rng.choice(SUMMARY)) if case[case.target].steps else None


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def open_with_status(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a line that calls its task completed."""
    return prepend(case, STATUS) if case[case.target].steps else None
