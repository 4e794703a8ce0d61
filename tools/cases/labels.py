"""Make the label cases that ship: an answer whose class a program knows, of each class as many."""

from __future__ import annotations

import json
import random
from typing import Final

from calm.cases.generate import (
    KINDS,
    problems,
    rubrics,
)
from calm.cases.generate import (
    problems as results,
)
from calm.cases.generate.rubrics import topic_list
from calm.core.classes import SHIPPED

_TURNS: Final = 100_000


def label_cases(count: int, seed: int) -> list[dict[str, object]]:
    """
    Make so many label cases; the same arguments give the same cases, and all questions are distinct.

    The kinds of cases take turns, and so do their templates. A draw of a class that has its share is left out.

    >>> case = label_cases(1, 5)[0]
    >>> sorted(case)
    ['answers', 'id', 'label', 'question', 'reference', 'tags']
    """
    rng = random.Random(seed)
    share = -(-count // len(SHIPPED.names))
    left = dict.fromkeys(SHIPPED.names, share)
    cases: list[dict[str, object]] = []
    seen: set[str] = set()
    for turn in range(_TURNS):
        if len(cases) == count:
            return cases
        kind = KINDS[turn % len(KINDS)]
        draft = _draft(kind, rng, turn // len(KINDS))
        if draft is None or str(draft["question"]) in seen or not left[str(draft["label"])]:
            continue
        seen.add(str(draft["question"]))
        left[str(draft["label"])] -= 1
        cases.append({"id": f"label-{len(cases) + 1:03d}", **draft, "tags": {"category": kind}})
    raise ValueError(f"expected {count} cases, got {len(cases)}: {json.dumps(left)} are missing")


def _draft(kind: str, rng: random.Random, turn: int) -> dict[str, object] | None:
    if kind == "instructions":
        topics = topic_list()
        return rubrics.case_of(topics[turn % len(topics)], "label", rng, turn)
    wells = problems.BY_KIND[kind]
    return results.case_of(wells[turn % len(wells)](rng), "label", rng, turn // len(wells))
