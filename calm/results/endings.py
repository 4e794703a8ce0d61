"""How each test with a probe ended: no test that was collected is missing from the record of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from calm.core.reasons import NONE, Kind, Reason, because
from calm.models.wire import Json
from calm.results.codes import from_code, to_code

MOST_NAMED: Final = 20
"""How many tests a sentence names; the others are only counted."""


class State(StrEnum):
    """What became of a test that was collected."""

    DECIDED = "decided"
    """It came to its end, and its claims are findings."""
    NOT_TESTED = "not-tested"
    """It does not apply to this judge, or its author skipped it."""
    CRASHED = "crashed"
    """It ended by an error of its own, or with the process that ran it."""
    NOT_RUN = "not-run"
    """It did not begin, or the run ended before it did."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How one test ended, and why if it decided nothing."""

    node: str
    state: State
    reason: Reason = NONE

    @property
    def lost(self) -> bool:
        """Whether the run lacks what the test would have said."""
        return self.state in (State.CRASHED, State.NOT_RUN)


def interrupted(made: int, place: str) -> str:
    """
    Return in one line that a run was interrupted after so many calls, and where their replies are kept; "": nowhere.

    >>> interrupted(312, ".calm/cache.sqlite")
    'interrupted: 312 calls made; the replies are kept in .calm/cache.sqlite; the same command goes on'
    >>> interrupted(1, ""), interrupted(0, ".calm/cache.sqlite")
    ('interrupted: 1 call made; no reply is kept, as there is no cache', 'interrupted: no call was made')
    """
    if not made:
        return "interrupted: no call was made"
    calls = f"interrupted: {made:,} call{'s' * (made != 1)} made"
    if not place:
        return f"{calls}; no reply is kept, as there is no cache"
    return f"{calls}; the replies are kept in {place}; the same command goes on"


def gaps(endings: Sequence[Ending]) -> tuple[Reason, ...]:
    """
    Return what a run lacks because of tests that crashed or did not run, in one reason for each state.

    >>> ends = (Ending("a", State.DECIDED), Ending("b", State.NOT_RUN))
    >>> [str(gap) for gap in gaps(ends)]
    ['1 of 2 tests did not run: b']
    """
    kinds = {State.CRASHED: Kind.CRASHED, State.NOT_RUN: Kind.DID_NOT_RUN}
    found = {kind: [one.node for one in endings if one.state is state] for state, kind in kinds.items()}
    return tuple(because(kind, len(nodes), len(endings), _named(nodes)) for kind, nodes in found.items() if nodes)


def _named(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - MOST_NAMED} more" if len(nodes) > MOST_NAMED else ""
    return f"{', '.join(nodes[:MOST_NAMED])}{more}"


def ending_to_json(one: Ending) -> dict[str, Json]:
    """Return an ending as JSON-able data, its reason in words and as a code."""
    return {"node": one.node, "state": one.state.value, **reason_to_json(one.reason)}


def ending_from_json(body: Mapping[str, Json]) -> Ending:
    """Return the ending that `ending_to_json` wrote; a KeyError, TypeError or ValueError names what is wrong."""
    node = body["node"]
    if not isinstance(node, str):
        raise TypeError(f"tests: expected the name of a test, got {node!r}")
    return Ending(node, State(str(body["state"])), reason_from_json(body))


def reason_to_json(reason: Reason) -> dict[str, Json]:
    """Return the words of a reason, and its code if there is one."""
    return {"reason": str(reason), **({"reason_code": to_code(reason)} if reason else {})}


def reason_from_json(body: Mapping[str, Json]) -> Reason:
    """Return the reason that `reason_to_json` wrote."""
    words = body["reason"]
    if not isinstance(words, str):
        raise TypeError(f"reason: expected words, got {words!r}")
    return from_code(body.get("reason_code"), words)
