"""
Make listwise cases whose order a program knows: three to five answers to a question, no two of them as good.

The gold of an answer is how many of the results that are asked for it gets right, or how many constraints it keeps. The
functions are pure: the same count and seed give the same cases.
"""

from __future__ import annotations

import random
from typing import Final

from calm.cases.generate import problems, rubrics
from calm.cases.generate import problems as results
from calm.cases.generate.rubrics import topic_list

__all__ = ["KINDS", "list_cases"]

KINDS: Final = ("arithmetic", "units", "dates", "ordering", "instructions")
"""The kinds of cases; they take turns."""


def list_cases(count: int, seed: int) -> list[dict[str, object]]:
    """Make cases of all kinds in turn, no two with the same question."""
    rng = random.Random(seed)
    made: list[dict[str, object]] = []
    seen: set[object] = set()
    while len(made) < count:
        kind = KINDS[len(made) % len(KINDS)]
        draft = _drawn(kind, rng, len(made) // len(KINDS))
        if draft is None or draft["question"] in seen:
            continue
        seen.add(draft["question"])
        made.append({"id": f"list-{len(made) + 1:03}", **draft, "tags": {"category": kind}})
    return made


def _drawn(kind: str, rng: random.Random, turn: int) -> dict[str, object] | None:
    if kind == "instructions":
        topics = topic_list()
        return rubrics.case_of(topics[turn % len(topics)], "listwise", rng, turn)
    draws = problems.BY_KIND[kind]
    return results.case_of(draws[turn % len(draws)](rng), "listwise", rng, turn)
