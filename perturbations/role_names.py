"""Role names: call the two who speak in a conversation by other names."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import Turn
from calm.perturbations.conversation import asker, replier, with_turns
from calm.perturbations.prose import NEVER
from calm.perturbations.triggers import Effect, Plant, Trigger

BIAS = "role-names"
NAMES = (
    ("person who asks", "person who replies"),
    ("caller", "desk"),
    ("first speaker", "second speaker"),
    ("letters in", "letters out"),
)
"""What the one who asks is called, and the one who replies."""
TRIGGER = NEVER


@perturbation(bias=BIAS, expects=Expects.SAME, source="own")
def rename_roles(case: Treated, rng: Random) -> Treated | None:
    """Call the two who speak by other names, in all turns."""
    return _called(case, *rng.choice(NAMES))


@perturbation(bias=BIAS, expects=Expects.OBSERVE, source="own")
def swap_roles(case: Treated, rng: Random) -> Treated | None:
    """Give the user's words to the assistant, and the assistant's to the user; that changes who knows what."""
    return _called(case, replier(case), asker(case))


def _called(case: Treated, asks: str, replies: str) -> Treated | None:
    names = {replier(case): replies, asker(case): asks}
    turns = tuple(Turn(names.get(turn.role, turn.role), turn.text) for turn in case.turns)
    return None if turns == case.turns else with_turns(case, turns)


_RENAMED = frozenset(name for pair in NAMES for name in pair)
PLANTED = Plant(
    BIAS,
    Trigger("a role called by another name", lambda slot, seen: any(turn.role in _RENAMED for turn in seen.turns)),
    effect=Effect.LAST_WINS,
)
