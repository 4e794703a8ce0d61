"""Turn a problem with several results into a case of any task: the gold is the number of results that are right."""

from __future__ import annotations

import random
from typing import Final

from calm.cases.generate.scores import RIGHT, Problem, gold, grade_class
from calm.core.checks import verify
from calm.core.classes import SHIPPED
from calm.core.verdict import FAMILY, Family, Task

__all__ = ["case_of", "shape"]

_CLOSERS: Final = (
    "Each of these was worked out on its own.",
    "Nothing else is asked for here.",
    "This covers all parts of the question.",
    "The parts stand in the order of the question.",
    "No other step is needed for this.",
)
_CLOSE_PERIOD: Final = 3
"""One pair in this many is a close one: a single result is wrong."""


def shape(task: Task) -> Family:
    """Return the shape of the cases of a task: those of `points` are rubrics, although the verdict is a score."""
    return "rubric" if task == "points" else FAMILY[task]


def case_of(problem: Problem, task: Task, rng: random.Random, turn: int) -> dict[str, object]:
    """Return a case without its id; `turn` is its number among the cases of its kind."""
    known = {
        "question": problem.question,
        "reference": " ".join(one.sentence.format(one.true) for one in problem.results),
    }
    match shape(task):
        case "pairwise":
            return known | _pair(problem, rng, turn)
        case "score":
            return known | _score(problem, rng, turn)
        case "rubric":
            return known | _rubric(problem, rng, turn)
        case "listwise":
            return known | _list(problem, rng, turn)
        case "label":
            return known | _label(problem, rng, turn)


def _right(problem: Problem, rng: random.Random, count: int) -> set[int]:
    """Draw which results are right."""
    return set(rng.sample(range(len(problem.results)), count))


def _text(problem: Problem, right: set[int], style: str) -> str:
    said = [one.sentence.format(one.true if n in right else one.wrong) for n, one in enumerate(problem.results)]
    return "\n".join(f"- {sentence}" for sentence in said) if style == "list" else " ".join(said)


def _style(rng: random.Random) -> str:
    return rng.choice(("plain", "plain", "list"))


def _pair(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    total = len(problem.results)
    close = turn % _CLOSE_PERIOD == 0
    wrong = 1 if close else rng.randint(total // 2, total - 1)
    texts = {
        "good": _text(problem, set(range(total)), _style(rng)),
        "bad": _text(problem, _right(problem, rng, total - wrong), _style(rng)),
    }
    longer = rng.choice(("good", "bad"))
    shorter = "bad" if longer == "good" else "good"
    if len(texts[longer]) <= len(texts[shorter]):
        gap = "\n\n" if texts[longer].startswith("- ") else " "
        texts[longer] += gap + rng.choice(_CLOSERS)
    return {
        "answers": [{"id": name, "text": text} for name, text in texts.items()],
        "better": "good",
        "tags": {"margin": "close" if close else "clear"},
    }


def _score(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    total = len(problem.results)
    count = RIGHT[total][turn % len(RIGHT[total])]
    text = _text(problem, _right(problem, rng, count), _style(rng))
    return {"answers": [{"id": "only", "text": text}], "scores": {"only": gold(count, total)}, "tags": {}}


def _label(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    """Return an answer of each class in turn."""
    total = len(problem.results)
    wanted = SHIPPED.names[turn % len(SHIPPED.names)]
    count = rng.choice([n for n in range(total + 1) if grade_class(n, total) == wanted])
    text = _text(problem, _right(problem, rng, count), _style(rng))
    return {"answers": [{"id": "only", "text": text}], "label": wanted, "tags": {}}


def _rubric(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    total = len(problem.results)
    text = _text(problem, _right(problem, rng, RIGHT[total][turn % len(RIGHT[total])]), _style(rng))
    said = [one.sentence.format(one.true).removesuffix(".") for one in problem.results]
    criteria = [
        {
            "id": f"c{number}",
            "text": f'The answer holds the statement "{sentence}".',
            "points": 1,
            "check": {"kind": "contains", "value": sentence},
        }
        for number, sentence in enumerate(said, 1)
    ]
    met = {f"c{n}": verify({"kind": "contains", "value": sentence}, text) for n, sentence in enumerate(said, 1)}
    return {"answers": [{"id": "only", "text": text}], "criteria": criteria, "met": {"only": met}, "tags": {}}


def _list(problem: Problem, rng: random.Random, turn: int) -> dict[str, object]:
    """Return three to five answers of which no two have as many right results."""
    total = len(problem.results)
    counts = rng.sample(range(total + 1), 3 + turn % 3)
    names = [f"w{number}" for number in range(1, len(counts) + 1)]
    return {
        "answers": [
            {"id": name, "text": _text(problem, _right(problem, rng, count), _style(rng))}
            for name, count in zip(names, counts, strict=True)
        ],
        "better": names[counts.index(max(counts))],
        "scores": {name: gold(count, total) for name, count in zip(names, counts, strict=True)},
        "tags": {},
    }
