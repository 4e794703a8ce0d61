"""Passage ids: give the passages each other's ids, there and wherever an answer cites them."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.material import Passage
from calm.core.validation import Rules
from calm.perturbations.passage_order import out_of_order
from calm.perturbations.prose import NEVER
from calm.perturbations.retrieved import cited, recited
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "passage-ids"
TRIGGER = NEVER
OTHER_IDS = Rules(code=True, difference="any")
"""An id may be a number, and an answer that cites nothing stays as it is."""
IN_PLACE = SILENT = ON_EACH = frozenset({"turn_ids"})


@perturbation(bias=BIAS, expects=Expects.SAME, source="metamorphic testing", rules=OTHER_IDS)
def turn_ids(case: Treated, rng: Random) -> Treated | None:
    """Give each passage the id of one of the others, and let the answers cite it by that."""
    ids = [passage.id for passage in case.context]
    if len(ids) < 2 or _named_elsewhere(case, ids):
        return None
    by = rng.randrange(1, len(ids))
    names = dict(zip(ids, [*ids[by:], *ids[:by]], strict=True))
    context = tuple(Passage(names[passage.id], passage.text) for passage in case.context)
    answers = tuple(replace(answer, text=recited(answer.text, names)) for answer in case.answers)
    return replace(case, context=context, answers=answers)


def _named_elsewhere(case: Treated, ids: list[str]) -> bool:
    """Return whether a passage is cited where this edit changes nothing, or named otherwise than in brackets."""
    texts = [case.question, case.reference or "", *(criterion.text for criterion in case.criteria)]
    texts += [passage.text for passage in case.context]
    texts += [draft for answer in case.answers for draft in case.history(answer)]
    answers = [recited(answer.text, dict.fromkeys(ids, "")) for answer in case.answers]
    worded = [one for one in ids if not one.isdigit()]  # a number may be any number
    named = re.compile("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in worded)) if worded else NEVER
    return any(cited(text, ids) or named.search(text) for text in texts) or any(map(named.search, answers))


def _renamed(slot: Slot, seen: Seen) -> bool:
    ids = [passage.id for passage in seen.context]
    return len(ids) > 1 and not out_of_order(ids) and ids[0] > ids[-1]


PLANTED = Plant(
    BIAS,
    Trigger("passages whose ids are in their order, but do not begin with the first", _renamed),
    effect=Effect.LAST_WINS,
)
