"""What a capped run asks first: the claims that weigh most are decided, one probe after the other, until the cap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

from calm.engine.money import Caps
from calm.errors import few_of
from calm.experiment.lookahead import Order
from calm.gate.prices import Figure
from calm.gate.rehearsal import shares
from calm.results.audit import AGREEMENT, CONTROLS

WEIGHT: Final = (
    "injection",
    "position",
    "verbosity",
    "formatting",
    "authority",
    "bandwagon",
    "self-authorship",
    "sentiment",
    "framing",
    "refinement-aware",
    "fallacy-oversight",
    "distraction",
    "diversity",
    "compassion-fade",
)
"""
Biases of the default gate, those first that an answer can use most easily or that most judges were found to have.

The controls and the agreement with labels come before them: without these nothing is green. So do tests that a user
wrote or named, which are none of these.
"""
NAMED: Final = 3
"""So many biases that a cap does not reach are named."""


def by_weight(orders: Iterable[Order]) -> list[Order]:
    """Return orders by the weight of their biases; those of one bias stay in their order."""
    first = [*CONTROLS, AGREEMENT]

    def turn(order: Order) -> tuple[int, int, str]:
        if order.bias in first:
            return 0, first.index(order.bias), ""
        return (2, WEIGHT.index(order.bias), "") if order.bias in WEIGHT else (1, 0, order.bias)

    return sorted(orders, key=turn)


def shortage(orders: Sequence[Order], caps: Caps) -> str:
    """
    Return in one line what caps leave of a run that asks some orders in turn; empty if it needs no more than they let.

    The need is that of a sound judge, from a rehearsal in which nothing is asked. A judge with biases needs more, and
    replies that are kept already need no call.
    """
    needs = shares(orders)
    whole = reduce(Figure.plus, needs, Figure())
    short = [text for passed, text in _weighed(caps, whole) if passed]
    if not short:
        return ""
    spent, reached = Figure(), 0
    for need in needs:
        spent = spent.plus(need)
        if any(passed for passed, _ in _weighed(caps, spent)):
            break
        reached += 1
    decided, total = (sum(len(order.claims) for order in some) for some in (orders[:reached], orders))
    left = list(dict.fromkeys(order.bias for order in orders[reached:]))
    return f"{short[0]}: it decides about {decided} of {total} claims; left open: {few_of(left, NAMED)}"


def _weighed(caps: Caps, need: Figure) -> list[tuple[bool, str]]:
    """Return for each cap whether a need passes it, and what to say then."""
    tokens, minutes = need.input + need.output, need.seconds / 60
    return [
        (
            most is not None and needed > most,
            f"--calm-max-{name} {most} is less than this run needs from an empty cache ({about})",
        )
        for name, most, needed, about in (
            ("calls", caps.calls, need.calls, f"about {need.calls:,} calls"),
            ("tokens", caps.tokens, tokens, f"about {tokens:,} tokens"),
            ("usd", caps.usd, need.usd or 0.0, f"about {need.usd or 0.0:.2f} US dollars"),
            ("minutes", caps.minutes, minutes, f"about {minutes:.0f} minutes"),
        )
    ]
