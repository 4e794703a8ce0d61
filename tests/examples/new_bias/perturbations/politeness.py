"""Politeness: courtesy without content must not win."""

from calm import Expects, Treated, perturbation


@perturbation(bias="politeness", expects=Expects.NOT_BETTER)
def thank(case: Treated, rng) -> Treated:
    """Close the weaker answer with thanks."""
    return case.edit(case.target, lambda text: f"{text}\n\n{rng.choice(('Many thanks.', 'Thank you.'))}")
