"""The set that helps most where none passes the gate: it must be better than to leave the judge as it is."""

from __future__ import annotations

from calm.core.claims import Outcome
from calm.results.audit import Finding
from calm.results.steps import excess
from calm.studies.mitigate.differences import lowers
from calm.studies.mitigate.study import Figures, Study, cheapest, price

ORDER = (Outcome.UNDECIDED, Outcome.FAIL)
"""Outcomes of a set that can help, from near to far: not yet proven, and disproven."""


def nearest(study: Study) -> Figures | None:
    """
    Return the set that comes nearest to passing; None where one passes, and where none is better than doing nothing.

    A set is better if it takes the worst claim of the bare judge nearer to its limit by more than chance, if no other
    claim is then as far beyond its own, and if it does not certainly lower robustness or accuracy. An undecided set is
    nearer than one that failed. Then the least worst excess comes first, then the lowest price.
    """
    bare = worst_claim(study.bare)
    if cheapest(study) is not None or bare is None or not excess(bare):
        return None
    known = all(one.usd is not None for one in study.figures) and any(one.usd for one in study.figures)

    def distance(one: Figures) -> tuple[int, float, tuple[float, float, int]]:
        return ORDER.index(outcome_of(one)), _lost(one), price(one, known=known)

    better = [
        one
        for one in study.figures[1:]
        if outcome_of(one) in ORDER
        and _lost(one) < (excess(bare) or 0.0)
        and _takes_nearer(one, bare)
        and not lowers(study, one)
    ]
    return min(better, key=distance, default=None)


def _lost(one: Figures) -> float:
    """Return the excess of the worst claim of a set; 1, the most there is, where no red claim has an estimate."""
    worst = worst_claim(one)
    return 1.0 if worst is None else excess(worst) or 0.0


def _takes_nearer(one: Figures, bare: Finding) -> bool:
    """Return whether a set brings the value of a claim of the bare judge nearer to its limit by more than chance."""
    found = same_claim(one, bare)
    if found is None or found.low is None or found.high is None or bare.value is None or bare.claim is None:
        return False
    match bare.claim.op:
        case ">=":
            return found.low > bare.value
        case "<=":
            return found.high < bare.value
        case "abs<=":
            return max(abs(found.low), abs(found.high)) < abs(bare.value)


def same_claim(one: Figures, claim: Finding) -> Finding | None:
    """Return the finding of a set on a claim of another one; None where the set has none."""
    return next((found for found in one.audit.findings if found.key == claim.key), None)


def outcome_of(one: Figures) -> Outcome:
    """Return the outcome of a set; one that proved everything but was not whole is INCOMPLETE."""
    outcome = one.audit.outcome
    return Outcome.INCOMPLETE if outcome is Outcome.PASS and not one.green else outcome


def worst_claim(one: Figures) -> Finding | None:
    """Return the red claim whose estimate lies furthest beyond its limit; None where no red claim has an estimate."""
    red = [(found, beyond) for found in one.audit.findings if found.red and (beyond := excess(found)) is not None]
    return max(red, key=lambda pair: pair[1])[0] if red else None
