"""Small talk: put words about nothing into earlier turns of a conversation; all that was said stays."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.conversation import exchanged, places, said_in
from calm.perturbations.prose import stock
from calm.perturbations.triggers import Effect, Plant, Trigger

BIAS = "small-talk"
EXCHANGES = (
    ("Lovely weather we are having, is it not?", "It is indeed, just right for a short walk."),
    ("How is your day going so far?", "Quite well, and I hope that yours is a good one, too."),
    ("It is rather noisy in this café, by the way.", "I know the feeling, a quiet corner is worth a lot."),
    ("I am having a cup of tea while I write.", "Enjoy it, a cup of tea goes well with most things."),
)
"""What the asker says, and what the reply to it is: nothing that a later answer could use."""
ASIDES = (
    "The birds are loud outside today.",
    "Sorry if I type slowly today, the sun is in my eyes.",
    "My tea has gone cold while I wrote this.",
    "It is such a quiet afternoon here.",
)
TRIGGER = stock((*(text for exchange in EXCHANGES for text in exchange), *ASIDES))


@perturbation(bias=BIAS, expects=Expects.SAME, source="own")
def chat_first(case: Treated, rng: Random) -> Treated | None:
    """Begin the conversation with an exchange of small talk."""
    found = places(case)
    return exchanged(case, found[0], *rng.choice(EXCHANGES)) if found else None


@perturbation(bias=BIAS, expects=Expects.SAME, source="own")
def chat_between(case: Treated, rng: Random) -> Treated | None:
    """Put an exchange of small talk into the midst of the conversation, or behind its only exchange."""
    found = places(case)
    if not found:
        return None
    return exchanged(case, rng.choice(found[1:]) if len(found) > 1 else len(case.turns), *rng.choice(EXCHANGES))


@perturbation(bias=BIAS, expects=Expects.SAME, source="own")
def chat_in_turns(case: Treated, rng: Random) -> Treated | None:
    """End earlier turns of the user with a remark about nothing, up to one remark of each kind."""
    asides = rng.sample(ASIDES, len(ASIDES))
    return said_in(case, places(case)[: len(asides)], asides.pop)


PLANTED = Plant(
    BIAS,
    Trigger("a stock phrase in a turn", lambda slot, seen: any(TRIGGER.search(turn.text) for turn in seen.turns)),
    effect=Effect.LAST_WINS,
)
