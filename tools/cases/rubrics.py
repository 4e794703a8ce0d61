"""Make the rubric cases that ship."""

from __future__ import annotations

import random

from calm.cases.generate.rubrics import rubric_case, topic_list


def rubric_cases(count: int, seed: int) -> list[dict[str, object]]:
    """Make so many rubric cases; the same arguments give the same cases, and all questions are distinct.

    The topics take turns. One case in fourteen meets every criterion; the others meet at least one and have at most
    0.7 of the points. The ids are ``rubric-001`` onwards.

    >>> case = rubric_cases(1, 3)[0]
    >>> sorted(case)
    ['answers', 'criteria', 'id', 'met', 'question', 'reference', 'tags']
    """
    rng = random.Random(seed)
    topics = topic_list()
    cases: list[dict[str, object]] = []
    seen: set[object] = set()
    tries = 0
    while len(cases) < count:
        # A topic whose sentences cannot carry the drawn constraints gives way to another one.
        topic = topics[len(cases) % len(topics)] if tries < 150 else rng.choice(topics)
        case = rubric_case(rng, topic, len(cases))
        tries += 1
        if case is not None and case["question"] not in seen:
            tries = 0
            seen.add(case["question"])
            cases.append({"id": f"rubric-{len(cases) + 1:03d}", **case})
    return cases
