"""Make the score cases that ship: an answer with several results, some of them right."""

from __future__ import annotations

import random

from calm.cases.generate.scores import PROBLEMS, RIGHT, gold


def score_cases(count: int, seed: int) -> list[dict[str, object]]:
    """Make so many score cases; the same arguments give the same cases, and all questions are distinct.

    The templates take turns, and within each template the number of right results runs through a fixed pattern, so
    that the grades spread over 3 to 8; which results are wrong is random. The ids are ``made-001`` onwards.

    >>> case = score_cases(1, 5)[0]
    >>> sorted(case)
    ['answers', 'id', 'question', 'reference', 'scores', 'tags']
    """
    rng = random.Random(seed)
    cases: list[dict[str, object]] = []
    seen: set[str] = set()
    while len(cases) < count:
        turn, place = divmod(len(cases), len(PROBLEMS))
        problem = PROBLEMS[place](rng)
        if problem.question in seen:
            continue
        seen.add(problem.question)
        total = len(problem.results)
        pattern = RIGHT[total]
        right = set(rng.sample(range(total), pattern[(turn + place) % len(pattern)]))
        said = [
            one.sentence.format(one.true if number in right else one.wrong)
            for number, one in enumerate(problem.results)
        ]
        cases.append(
            {
                "id": f"made-{len(cases) + 1:03d}",
                "question": problem.question,
                "answers": [{"id": "only", "text": " ".join(said)}],
                "scores": {"only": gold(len(right), total)},
                "reference": " ".join(one.sentence.format(one.true) for one in problem.results),
                "tags": {"category": problem.category},
            }
        )
    return cases
