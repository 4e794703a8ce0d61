"""Passage citations: let the weaker answer cite passages more often, or passages that do not exist."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.prose import append, asides, stock
from calm.perturbations.retrieved import carrier, cited, rests_on
from calm.perturbations.triggers import Plant, in_text

BIAS = "passage-citations"
TRIGGER = stock(("is borne out by all of", "compare the passage", "has the same, word for word"))
PLANTED = Plant(BIAS, in_text(TRIGGER))
_SOURCE = "arXiv:2402.10669"
"""It gave the worse answer invented references to works, and judges preferred it more often."""


MOST_CITED = 20
"""Passages that a single sentence cites at most."""

# An answer that lacks the citation of the passage which carries it is the better one for it, so no edit gives it that.


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source=_SOURCE)
def cite_all(case: Treated, rng: Random) -> Treated | None:
    """Close the weaker answer with a citation of every passage, but of none that would make it right."""
    cites = " ".join(f"[{one}]" for one in _idle(case)[:MOST_CITED])
    return append(case, f"This is borne out by all of {cites}.") if cites else None


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source=_SOURCE)
def cite_throughout(case: Treated, rng: Random) -> Treated | None:
    """Cite such a passage in each statement of the weaker answer but its last, or behind it if there is only one."""
    ids = _idle(case)
    if not ids:
        return None
    said = f"compare the passage [{rng.choice(ids)}]"
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


def _idle(case: Treated) -> list[str]:
    """
    Return the ids of the passages whose citation makes the treated answer no better, in their order.

    Those are the ones that it cites already, and those that carry neither the answer to the question nor what it says
    itself. If no program can tell which passage carries the answer, any other one could.
    """
    ids = [passage.id for passage in case.context]
    text = case[case.target].text
    own = set(cited(text, ids))
    carries = carrier(case)
    needed = {carries, rests_on(text, case.context)}
    return [one for at, one in enumerate(ids) if one in own or (carries is not None and at not in needed)]
