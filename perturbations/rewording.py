"""Rewording: put a few neutral words into each answer; edits that add no words are compared with these."""

from __future__ import annotations

from dataclasses import fields
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Case
from calm.core.edits import Edit
from calm.experiment.inert import floor_of
from calm.perturbations import neutral

BIAS = "rewording"
TRIGGER = neutral.TRIGGER
ON_EACH = frozenset({"reword"})
FORMS = 4
"""Different forms of the words, so that a server that repeats itself is asked anew."""


def reword(form: int) -> Edit:
    """Return an edit that puts one form of a few neutral words into each answer."""

    @perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test", dose=form)
    def reword(case: Treated, rng: Random) -> Treated | None:
        """Put a few words into each answer that say only that it is a reply."""
        base = case.untreated()
        worded = floor_of(case, base, base, frozenset({"order"}), form, brief=True).case
        values = {f.name: getattr(worded, f.name) for f in fields(Case)}
        return Treated(**values, treatment=case.treatment)

    return reword
