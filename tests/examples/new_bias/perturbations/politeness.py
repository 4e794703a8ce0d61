"""Politeness: close the weaker answer with thanks."""

from calm import Expects, Treated, perturbation
from calm.perturbations.prose import append


@perturbation(bias="politeness", expects=Expects.NOT_BETTER)
def thank(case: Treated, rng) -> Treated | None:
    """Close the weaker answer with thanks."""
    return append(case, rng.choice(("Many thanks.", "Thank you.")), block=True)
