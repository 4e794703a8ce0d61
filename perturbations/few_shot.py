"""Few-shot examples: show the worked examples before the task in another order."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Example
from calm.perturbations.anchoring import ALL_MET, HIGHEST, LOWEST
from calm.perturbations.prose import NEVER
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger

BIAS = "few-shot"
TRIGGER = NEVER

QUESTIONS = ("Why do bread doughs rise?", "Why does a kettle whistle?")
GOOD = (
    "Yeast feeds on the sugar in the flour and gives off a gas that stretches the dough.",
    "Steam is forced through a narrow opening in the lid and sets the air in it swinging.",
)
POOR = ("Because they are left alone for a while.", "Because it is happy to be done.")
HIGH, LOW = (HIGHEST, ALL_MET), (LOWEST, "no criterion is met")
"""What is said in examples of a single answer, in words: of its score, or of the criteria that it meets."""


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-audit")
def reverse_examples(case: Treated, rng: Random) -> Treated | None:
    """Show the case's own worked examples in reverse order."""
    turned = case.examples[::-1]
    return None if turned == case.examples else case.present(examples=turned)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="llm-judge-audit")
def end_in_favour(case: Treated, rng: Random) -> Treated | None:
    """Add two worked examples; the last one favours the weaker answer's slot, or gets a high mark."""
    return _shown(case, rng, favoured_last=True)


@perturbation(bias=BIAS, expects=Expects.OBSERVE, source="llm-judge-audit")
def end_against(case: Treated, rng: Random) -> Treated | None:
    """Add the same two examples in the other order; the last one goes against it, or gets a low mark."""
    return _shown(case, rng, favoured_last=False)


def _shown(case: Treated, rng: Random, *, favoured_last: bool) -> Treated:
    """Return the case with an example for the treated answer's slot and one for another slot, in one of two orders."""
    slots = [answer.id for answer in case.shown]
    mine = slots.index(case[case.target].id)
    another = (mine + 1) % len(slots) if len(slots) > 1 else None
    pair = (_example(case, 0, mine), _example(case, 1, another))
    return case.present(examples=(*case.examples, *(pair[::-1] if favoured_last else pair)))


def _example(case: Treated, number: int, winner: int | None) -> Example:
    """Return an example in which one slot holds the good answer; None: a single answer that is poor."""
    count = len(case.answers)
    texts = tuple(GOOD[number] if slot == winner else POOR[number] for slot in range(count))
    return Example(QUESTIONS[number], texts, _verdict(case, winner))


def _verdict(case: Treated, winner: int | None) -> str:
    labels = case.slot_labels
    if len(labels) == 1:
        return (LOW if winner is None else HIGH)[1 if case.criteria else 0]
    if len(labels) == 2:
        return labels[winner or 0]
    first = labels[winner or 0]
    return " > ".join([first, *(label for label in labels if label != first)])


def _last_example(slot: Slot, seen: Seen) -> bool:
    question, verdict = seen.examples[-1] if seen.examples else ("", "")
    if question not in QUESTIONS:
        return False
    return verdict.partition(" > ")[0] == slot.label if len(seen.answers) > 1 else verdict in HIGH


_WORDS = "the last example is of this module, and is decided for the answer's label (or well for a single one)"
PLANTED = Plant(BIAS, Trigger(_WORDS, _last_example), precedence=270)
