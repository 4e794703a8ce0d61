"""
Make cases about runs of agents whose success a program verifies.

Each run makes its calls in a small world (`tools.cases.worlds`), so every result is what the tool gave, and gold is
what the state of the world and the answer say in the end. The functions are pure: the same number gives the same cases.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import count, islice
from random import Random
from typing import Final

from calm.cases.generate.scores import gold
from tools.cases.errands import CONDITIONS, ERRANDS, Errand, Run
from tools.cases.worlds import WORLDS

__all__ = ["COUNT", "WAYS", "errand_of", "run_cases", "verified"]

COUNT: Final = 192
"""How many cases ship: each kind of errand twelve times."""
WAYS: Final = ("good", "near", "far")
REMARKS: Final = (
    "Write again if there is more to do.",
    "This is how things stand at the end of the run.",
    "The calls above show what was done.",
)
"""What is true of every answer: it keeps the right ones from being the longer ones."""
SLIPS: Final[Mapping[str, tuple[str, str, Mapping[str, object]]]] = {
    "orders": ("I try a number that may be it.", "read_order", {"order": "1000"}),
    "files": ("It may be at home.", "list_folder", {"folder": "/home"}),
    "calendar": ("I ask for the whole week.", "list_events", {"week": 1}),
    "ledger": ("I begin with the cash.", "read_balance", {"account": "cash"}),
}
"""Calls that fail and change nothing, with their thoughts: a good run recovers from one, so a failure is no verdict."""
SLIPS_IN_TEN: Final = 7


def run_cases(number: int) -> list[dict[str, object]]:
    """
    Make cases with three runs each, graded by the conditions that they meet.

    Raises:
        ValueError: an errand whose runs do not come in their order: all conditions met, one missed, at most one met.
    """
    return [_case(place) for place in range(number)]


def errand_of(number: int) -> tuple[str, Errand]:
    """Return the kind of a case, counted from 0, and its errand."""
    kind = list(ERRANDS)[number % len(ERRANDS)]
    return kind, next(islice(_distinct(kind), number // len(ERRANDS), None))


def _distinct(kind: str) -> Iterator[Errand]:
    """Yield errands of a kind, no two with the same question."""
    asked: set[str] = set()
    for draw in count():
        errand = ERRANDS[kind](Random(f"run:{kind}:{draw}"))
        if errand.question not in asked:
            asked.add(errand.question)
            yield errand


def verified(errand: Errand, calls: list[tuple[str, dict[str, object]]], text: str) -> dict[str, bool]:
    """Make the calls of a run again, and return which conditions hold in the end."""
    world = WORLDS[errand.world](errand.state)
    for tool, arguments in calls:
        world.call(tool, arguments)
    return {key: check(errand.state, world.state, text) for key, (_, check) in errand.conditions.items()}


def _case(number: int) -> dict[str, object]:
    kind, errand = errand_of(number)
    case_id = f"run-{number + 1:03}"
    runs = {way: _run(errand, way, case_id) for way in WAYS}
    met = {
        way: verified(errand, [(str(s["tool"]), json.loads(json.dumps(s["arguments"]))) for s in run.steps], run.text)
        for way, run in runs.items()
    }
    counts = [sum(met[way].values()) for way in WAYS]
    if counts[:2] != [len(CONDITIONS), len(CONDITIONS) - 1] or counts[2] > 1 or not runs["far"].failures:
        raise ValueError(f"{kind}: expected runs that meet 3, 2 and at most 1 condition, the last with a failed call, "
                         f"got {counts}")  # fmt: skip
    remarked = ("good",) if _drawn(case_id, "longer") % 2 else ("near", "far")
    answers: list[dict[str, object]] = [
        {
            "id": way,
            "text": f"{run.text} {REMARKS[number % len(REMARKS)]}" if way in remarked else run.text,
            "steps": run.steps,
        }
        for way, run in runs.items()
    ]
    answers.sort(key=lambda answer: _drawn(case_id, str(answer["id"])))
    return {
        "id": case_id,
        "question": errand.question,
        "answers": answers,
        "better": "good",
        "criteria": [{"id": key, "text": text} for key, (text, _) in errand.conditions.items()],
        "met": met,
        "scores": {way: gold(sum(met[way].values()), len(CONDITIONS)) for way in WAYS},
        "tags": {"category": "run", "world": errand.world, "errand": kind},
    }


def _run(errand: Errand, way: str, case_id: str) -> Run:
    """Return a run of an errand; it may begin with a slip, or look around, so that neither of these says its worth."""
    run = Run(WORLDS[errand.world](errand.state).call)
    if way == "good" and _drawn(case_id, "slip") % 10 < SLIPS_IN_TEN:
        thought, tool, arguments = SLIPS[errand.world]
        run.do(thought, tool, **arguments)
    drawn = _drawn(case_id, "looks", way)
    looks = {"good": drawn % 2, "near": drawn % 3, "far": 1 + drawn % 2}[way]
    for thought, tool, arguments in errand.looks[:looks]:
        run.do(thought, tool, **arguments)
    getattr(errand, way)(run)
    return run


def _drawn(*parts: str) -> int:
    return int(hashlib.sha256(":".join(parts).encode()).hexdigest(), 16)
