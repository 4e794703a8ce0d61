"""Passage order: show the same passages in another order, or the one that carries the answer in the middle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Passage
from calm.perturbations.prose import NEVER
from calm.perturbations.retrieved import carrier, with_context
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "passage-order"
_PART = re.compile(r"[0-9]{1,9}|[^0-9]+")
TRIGGER = NEVER
_SOURCE = "arXiv:2307.03172"
"""It measured readers that answer from passages, not judges: they used those at the ends better."""


@perturbation(bias=BIAS, expects=Expects.SAME, source=_SOURCE)
def reverse_passages(case: Treated, rng: Random) -> Treated | None:
    """Show the passages in the opposite order."""
    return with_context(case, case.context[::-1])


@perturbation(bias=BIAS, expects=Expects.SAME, source=_SOURCE)
def shuffle_passages(case: Treated, rng: Random) -> Treated | None:
    """Show three passages or more in an order that is drawn."""
    if len(case.context) < 3:
        return None
    drawn = rng.sample(case.context, len(case.context))
    if _turned(drawn, case.context):  # an order that only begins elsewhere is left to `turn_ids`
        drawn[0], drawn[1] = drawn[1], drawn[0]
    return with_context(case, drawn)


@perturbation(bias=BIAS, expects=Expects.SAME, source=_SOURCE)
def carrier_to_middle(case: Treated, rng: Random) -> Treated | None:
    """Move the passage that carries the answer from the first or the last place to the middle."""
    at, size = carrier(case), len(case.context)
    if at not in (0, size - 1) or size < 3:
        return None
    others = [passage for place, passage in enumerate(case.context) if place != at]
    middle = size // 2 if at else (size - 1) // 2
    return with_context(case, [*others[:middle], case.context[at], *others[middle:]])


def _turned(one: Sequence[Passage], other: Sequence[Passage]) -> bool:
    """Return whether one order is the other one from another place on, round and round."""
    return any(list(one) == [*other[at:], *other[:at]] for at in range(len(other)))


def out_of_order(ids: Sequence[str]) -> bool:
    """Return whether ids such as p1, p2 and p3 are not in their order, even from another place on."""
    ranked = sorted(ids, key=_rank)
    return not any(list(ids) == [*ranked[at:], *ranked[:at]] for at in range(len(ranked) or 1))


def _rank(name: str) -> list[tuple[int, str]]:
    """Return what ids are put in their order by: p2 comes before p2.1, and that before p10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _PART.findall(name)]


def _moved(slot: Slot, seen: Seen) -> bool:
    return out_of_order([passage.id for passage in seen.context])


PLANTED = Plant(BIAS, Trigger("passages whose ids are out of their order", _moved), effect=Effect.LAST_WINS)
