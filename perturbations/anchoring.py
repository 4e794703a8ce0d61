"""Anchoring: show the judge worked examples, or a mark for the reference, that pull its verdict one way."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Example
from calm.perturbations.cues import noted
from calm.perturbations.prose import stock
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger, in_text_or_note

BIAS = "anchoring"
HIGHEST, LOWEST = "the highest mark", "the lowest mark"
"""Marks in words, since an edit does not know the scale of the judge."""
ALL_MET = "every criterion is met"


@dataclass(frozen=True, slots=True)
class Sample:
    """A question with an answer that is right and some that are wrong: the statements about them are always true."""

    question: str
    right: str
    wrong: tuple[str, ...]


SAMPLES = (
    Sample("What do bees make from nectar?", "Bees make honey from nectar.", ("Bees make milk.", "Bees make wool.")),
    Sample("What is a snowflake made of?", "It is made of ice.", ("It is made of salt.", "It is made of chalk.")),
    Sample(
        "What does a cobbler mend?", "A cobbler mends shoes.", ("A cobbler mends clocks.", "A cobbler mends ships.")
    ),
)
REFERENCE_NOTE = "The reference itself has been given"
TRIGGER = stock((*(sample.question for sample in SAMPLES), REFERENCE_NOTE))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="llm-judge-audit")
def one_sided_examples(case: Treated, rng: Random) -> Treated | None:
    """Show worked examples in which the weaker answer's slot always wins, or every answer gets full marks."""
    ids = [answer.id for answer in case.shown]
    place = ids.index(case[case.target].id)
    said = case.slot_labels[place] if len(ids) > 1 else ALL_MET if case.criteria else HIGHEST
    shown = [Example(s.question, _placed(s, place, len(ids)), said) for s in rng.sample(SAMPLES, len(SAMPLES))]
    return case.present(examples=(*case.examples, *shown))


@perturbation(bias=BIAS, expects=Expects.SAME, source="judge-bias-battery", tasks=("score",))
def high_anchor(case: Treated, rng: Random) -> Treated | None:
    """First show a worked example that got the highest mark."""
    sample = rng.choice(SAMPLES)
    return _anchored(case, Example(sample.question, (sample.right,), HIGHEST))


@perturbation(bias=BIAS, expects=Expects.SAME, source="judge-bias-battery", tasks=("score",))
def low_anchor(case: Treated, rng: Random) -> Treated | None:
    """First show a worked example that got the lowest mark."""
    sample = rng.choice(SAMPLES)
    return _anchored(case, Example(sample.question, (rng.choice(sample.wrong),), LOWEST))


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2506.22316", tasks=("score",))
def mark_reference_high(case: Treated, rng: Random) -> Treated | None:
    """Add a note that the reference got the highest mark."""
    return noted(case, f"{REFERENCE_NOTE} {HIGHEST}.") if case.reference else None


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2506.22316", tasks=("score",))
def mark_reference_low(case: Treated, rng: Random) -> Treated | None:
    """Add a note that the reference got the lowest mark."""
    return noted(case, f"{REFERENCE_NOTE} {LOWEST}.") if case.reference else None


def _placed(sample: Sample, place: int, count: int) -> tuple[str, ...]:
    """Return as many answers as there are slots, the right one in the given place."""
    texts = list(islice(cycle(sample.wrong), count))
    texts[place] = sample.right
    return tuple(texts)


def _anchored(case: Treated, example: Example) -> Treated | None:
    return case.present(examples=(example, *case.examples)) if len(case.answers) == 1 else None


_TOLD = in_text_or_note(TRIGGER)


def _pulled(slot: Slot, seen: Seen) -> bool:
    verdicts = {verdict for question, verdict in seen.examples if TRIGGER.search(question)}
    if len(seen.answers) > 1:
        return verdicts == {slot.label}
    return bool(verdicts) or _TOLD.carries(slot, seen)


_WORDS = "examples of this module that are all decided for the answer's label; any, or a note, on a single answer"
PLANTED = Plant(BIAS, Trigger(_WORDS, _pulled), precedence=110)
