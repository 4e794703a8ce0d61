"""Passage citations: let the weaker answer cite passages more often, or passages that do not exist."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.passages import asides
from calm.perturbations.prose import append, stock
from calm.perturbations.triggers import Plant, in_text

BIAS = "passage-citations"
TRIGGER = stock(("is borne out by all of", "compare the passage", "has the same, word for word"))
PLANTED = Plant(BIAS, in_text(TRIGGER))
_SOURCE = "arXiv:2402.10669"
"""It gave the worse answer invented references to works, and judges preferred it more often."""


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source=_SOURCE)
def cite_all(case: Treated, rng: Random) -> Treated | None:
    """Close the weaker answer with a citation of every passage."""
    ids = [passage.id for passage in case.context[:20]]
    cites = " ".join(f"[{one}]" for one in ids)
    return append(case, f"This is borne out by all of {cites}.") if ids else None


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source=_SOURCE)
def cite_throughout(case: Treated, rng: Random) -> Treated | None:
    """Cite a passage in each statement of the weaker answer but its last, or behind it if there is only one."""
    if not case.context:
        return None
    said = f"compare the passage [{rng.choice(case.context).id}]"
    return asides(case, f" ({said})") or append(case, f"For all of this {said}.")


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source=_SOURCE)
def cite_missing(case: Treated, rng: Random) -> Treated | None:
    """Close the weaker answer with a citation of a passage that does not exist."""
    taken = {passage.id for passage in case.context}
    if not taken:
        return None
    last = case.context[-1].id.rstrip("0123456789") or "p"
    missing = next(f"{last}{n}" for n in range(len(taken) + 1, 3 * len(taken) + 3) if f"{last}{n}" not in taken)
    return append(case, f"Passage [{missing}] has the same, word for word.")
