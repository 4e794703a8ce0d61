"""The set that comes nearest to passing the gate, by what is lost where it is used as it is."""

from __future__ import annotations

from calm.core.claims import Outcome
from calm.results.audit import Finding
from calm.results.troubles import excess
from calm.studies.mitigate.study import Figures, Study, cheapest, price

ORDER = (Outcome.UNDECIDED, Outcome.FAIL, Outcome.INCOMPLETE)
"""Outcomes from near to far: not yet proven, disproven, and not known at all."""


def nearest(study: Study) -> Figures | None:
    """
    Return the set that comes nearest to passing; None where one passes.

    An undecided set is nearer than one that failed, and a set whose data are missing is the furthest. Within an
    outcome, the least worst excess comes first, then the lowest price. Of undecided sets, that without mitigations
    comes last.
    """
    if cheapest(study) is not None:
        return None
    known = all(one.usd is not None for one in study.figures) and any(one.usd for one in study.figures)

    def distance(one: Figures) -> tuple[int, bool, float, tuple[float, float, int]]:
        outcome, worst = outcome_of(one), worst_claim(one)
        bare = outcome is Outcome.UNDECIDED and not one.tried.names
        lost = 1.0 if worst is None else excess(worst) or 0.0
        return ORDER.index(outcome), bare, lost, price(one, known=known)

    return min(study.figures, key=distance)


def outcome_of(one: Figures) -> Outcome:
    """Return the outcome of a set; one that proved everything but was not whole is INCOMPLETE."""
    outcome = one.audit.outcome
    return Outcome.INCOMPLETE if outcome is Outcome.PASS and not one.green else outcome


def worst_claim(one: Figures) -> Finding | None:
    """Return the red claim whose estimate lies furthest beyond its limit; None where no red claim has an estimate."""
    red = [(found, beyond) for found in one.audit.findings if found.red and (beyond := excess(found)) is not None]
    return max(red, key=lambda pair: pair[1])[0] if red else None
