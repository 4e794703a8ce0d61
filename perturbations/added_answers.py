"""Added answers: show more answers than before; the order of the first ones must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from calm import Answer, Expects, Treated, perturbation
from calm.core.case import digest
from calm.core.edits import Edit
from calm.errors import ConfigError
from calm.perturbations.cues import ADDED
from calm.perturbations.prose import stock

BIAS = "added-answers"
FILLERS = (
    "I am sorry that I cannot say anything about this.",
    "This is nothing that I could tell you more about.",
    "I have no answer to offer here.",
    "Let me pass on this one.",
)
STRAY = (
    "The parcel is waiting for you at the counter beside the bakery.",
    "All trains on the northern line are running late this evening.",
    "The choir rehearses in the old gym until the roof is repaired.",
)
TRIGGER = stock((*FILLERS, *STRAY))


def add_fillers(count: int) -> Edit:
    """Return an edit that adds some answers which say nothing."""
    if not 1 <= count <= len(FILLERS):
        raise ConfigError(f"{BIAS}: expected a count from 1 to {len(FILLERS)}, got count={count!r}")

    @perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2410.02736", tasks=("listwise",), dose=count)
    def add_fillers(case: Treated, rng: Random) -> Treated | None:
        """Add answers that say nothing, each in a random slot."""
        return _grown(case, rng.sample(FILLERS, k=count), rng)

    return add_fillers


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2504.14716", tasks=("listwise",))
def add_stray_answer(case: Treated, rng: Random) -> Treated | None:
    """Add an answer to another question in a random slot; the order of the others must not change."""
    return _grown(case, [rng.choice(STRAY)], rng)


def _grown(case: Treated, texts: Sequence[str], rng: Random) -> Treated | None:
    if len(case.answers) < 2 or case.labels:
        return None
    added = tuple(Answer(f"{ADDED}{digest(text)[:8]}", text) for text in texts)
    order = [answer.id for answer in case.shown]
    for answer in added:
        order.insert(rng.randrange(len(order) + 1), answer.id)
    return replace(case, answers=(*case.answers, *added)).present(order=tuple(order))
