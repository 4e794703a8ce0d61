"""Politeness: courtesy without content must not win."""

from calm import Case, Expects, perturbation


@perturbation(bias="politeness", expects=Expects.NOT_BETTER)
def thank(case: Case, rng) -> Case:
    """Close the weaker answer with thanks."""
    return case.edit(case.target, lambda text: f"{text}\n\n{rng.choice(('Many thanks.', 'Thank you.'))}")
