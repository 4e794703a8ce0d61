"""Criterion fidelity: turn a criterion into its opposite, so that its truth is the reverse, whatever the answer is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Criterion, digest
from calm.perturbations.prose import stock
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "criterion-fidelity"
REVERSED = "It must not be true that:"
AFFIRMED = "It must be true that:"
"""The two wordings differ in one word, so that nothing but the criterion's sense differs between the arms."""
TRIGGER = stock((REVERSED, AFFIRMED))

Wording = Callable[[bool], str]
"""What a criterion is put behind, by whether the answer meets it as it stands."""


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2408.08781", tasks=("rubric",))
def reverse_met(case: Treated, rng: Random) -> Treated | None:
    """Turn a criterion that the answer meets into its opposite, which it does not meet."""
    return _turned(case, only=True, said=lambda _: REVERSED, after=False)


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2408.08781", tasks=("rubric",))
def restore_unmet(case: Treated, rng: Random) -> Treated | None:
    """Turn the opposite of a criterion, which the answer meets, back into the criterion, which it does not meet."""
    return _turned(case, only=False, said=lambda _: AFFIRMED, after=False)


@perturbation(bias=BIAS, expects=Expects.OBSERVE, source="arXiv:2408.08781", tasks=("rubric",))
def put_so_that_it_holds(case: Treated, rng: Random) -> Treated | None:
    """Word the same criterion, or its opposite, so that the answer meets it: the control of both edits."""
    return _turned(case, only=None, said=lambda met: AFFIRMED if met else REVERSED, after=True)


def _turned(case: Treated, *, only: bool | None, said: Wording, after: bool) -> Treated | None:
    """
    Return the case with one of its criteria worded anew, its truth, and, where it is broken, the treatment.

    The case alone decides which criterion that is, so that edit and control word the same one; `only` is what its truth
    has to be for the edit to apply. A program's check of the criterion goes: it says nothing of the new wording.
    """
    answer = case[case.target].id
    met = case.met.get(answer, {})
    known = [c for c in case.criteria if c.id in met and c.points > 0 and _is_statement(c)]
    if not known:
        return None
    one = known[int(digest("criterion", case.id), 16) % len(known)]
    if only is not None and met[one.id] != only:
        return None
    worded = replace(one, text=f"{said(met[one.id])} {one.text}", check=None)
    criteria = tuple(worded if c.id == one.id else c for c in case.criteria)
    treatment = case.treatment if after else replace(case.treatment, target=answer, damaged=answer, hit=one.id)
    truth = {**case.met, answer: {**met, one.id: after}}
    return replace(case, criteria=criteria, met=truth, treatment=treatment)


def _is_statement(criterion: Criterion) -> bool:
    """Return whether a criterion is known to be a statement that was not worded so already: a question has no truth."""
    text = criterion.text.strip()
    return bool(text) and not text.endswith("?") and TRIGGER.search(text) is None


def _worded(slot: Slot, seen: Seen) -> bool:
    return any(TRIGGER.search(text) for text in seen.criteria)


_WORDS = "a criterion that is said to be true, or not to be true: it is taken for met, whichever is said"
PLANTED = Plant(BIAS, Trigger(_WORDS, _worded), precedence=281, effect=Effect.TAKE_FOR_MET)
