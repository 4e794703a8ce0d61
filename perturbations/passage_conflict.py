"""
Passage conflict: add a passage that contradicts the one which carries the answer.

What a sound judge does depends on the kind of conflict (arXiv:2506.08500): what is outdated is to be passed over, and
of two passages that are equally good both sides are to be shown. So the verdict must stay where the new passage says
itself that it is void, and nothing is claimed where it does not.
"""

from __future__ import annotations

import re
from random import Random

from calm import Answer, Case, Expects, Treated, perturbation
from calm.perturbations import sensitivity
from calm.perturbations.prose import NUMBER, stock
from calm.perturbations.retrieved import carrier, in_passage, inserted, recited
from calm.perturbations.triggers import Effect, Plant

BIAS = "passage-conflict"
VOID = (
    "Superseded edition, void since the present one came out:",
    "Withdrawn by the publisher, since it was wrong:",
    "Draft that was never in force:",
)
TRIGGER = stock(VOID)
PLANTED = Plant(BIAS, in_passage(TRIGGER), effect=Effect.LAST_WINS)

_NUMBER = re.compile(r"\d+")


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2506.08500")
def add_void_passage(case: Treated, rng: Random) -> Treated | None:
    """Add a passage that contradicts the one which carries the answer, and says that it is void."""
    wrong = _contradiction(case, rng)
    return None if wrong is None else inserted(case, [f"{rng.choice(VOID)} {wrong}"], rng)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2506.08500")
def back_by_void_passage(case: Treated, rng: Random) -> Treated | None:
    """Add a passage that gives the weaker answer's number in place of the right one, and says that it is void."""
    wrong = _backing(case)
    return None if wrong is None else inserted(case, [f"{rng.choice(VOID)} {wrong}"], rng)


@perturbation(bias=BIAS, expects=Expects.OBSERVE, source="arXiv:2506.08500")
def contradict_passage(case: Treated, rng: Random) -> Treated | None:
    """Add a passage that contradicts the one which carries the answer, and is as good as that."""
    wrong = _contradiction(case, rng)
    return None if wrong is None else inserted(case, [wrong], rng)


def _contradiction(case: Treated, rng: Random) -> str | None:
    """Return the carrying passage with another number or one statement denied; None if it would back an answer."""
    at = carrier(case)
    if at is None:
        return None
    text = case.context[at].text
    alone = Case("passage", case.question or "?", (Answer("passage", text),)).treat("passage")
    made = sensitivity.change_number(alone, rng) or sensitivity.negate(alone, rng)
    if made is None:
        return None
    wrong = made["passage"].text
    new = set(_NUMBER.findall(wrong)) - set(_NUMBER.findall(text))
    backed = new and any(new & set(_NUMBER.findall(answer.text)) for answer in case.answers)
    return None if backed else wrong


def _backing(case: Treated) -> str | None:
    """Return the carrying passage with a number of the treated answer, which no passage has, for the one it lacks."""
    at = carrier(case)
    if at is None:
        return None
    text = case.context[at].text
    without_ids = recited(case[case.target].text, dict.fromkeys((passage.id for passage in case.context), ""))
    said = set(NUMBER.findall(without_ids))
    new = said.difference(*(NUMBER.findall(passage.text) for passage in case.context))
    old = set(NUMBER.findall(text)) - said
    if len(new) != 1 or len(old) != 1:  # nobody can tell which number contradicts which
        return None
    (wrong,), (right,) = new, old
    return NUMBER.sub(lambda found: wrong if found[0] == right else found[0], text)
