"""What is drawn from: the run under way, and `cases()`, its cases or made-up ones, each with its gold label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from calm.core.case import Answer, Case, Criterion
from calm.core.classes import SHIPPED
from calm.core.verdict import FAMILY, Family, Task
from calm.errors import EstimateError

MOST: int = 99
"""The largest number that is to be added."""
REMARKS = (
    "It is a sum of two numbers.",
    "You can count it on your fingers.",
    "Nothing else is asked for here.",
    "The order of the numbers does not matter.",
)
"""Sentences that say nothing of the result."""
UNNAMED: Final = "judge-model"
"""What a judge without the name of a model is called in edits that name it."""


@dataclass(frozen=True, slots=True)
class Running:
    """The cases of a run in their order, the task of its judge, and the name of its model."""

    cases: tuple[Case, ...]
    task: Task
    model: str = UNNAMED

    @property
    def family(self) -> Family:
        """What the task measures."""
        return FAMILY[self.task]


_RUNS: list[Running] = []


def running() -> Running:
    """Return the run under way; without one, a run of a pairwise judge on the bundled cases."""
    return _RUNS[-1] if _RUNS else _bundled()


@contextmanager
def during(cases: Sequence[Case], task: Task, model: str) -> Iterator[None]:
    """Let strategies draw from a run until the end of the block."""
    one = Running(tuple(cases), task, model or UNNAMED)
    _RUNS.append(one)
    try:
        yield
    finally:
        _RUNS[:] = [other for other in _RUNS if other is not one]


@cache
def _bundled() -> Running:
    from calm.cases import bundled

    return Running(tuple(bundled("pairwise")), "pairwise")


def cases(*, generated: bool = False) -> SearchStrategy[Case]:
    """
    Return a strategy for cases: those of the run (`--calm-cases`, or the fixture `cases`), in the order of their file.

    They are looked up when they are drawn, so that a test which takes the fixture `verdict_of` draws those of its run;
    without a run they are the bundled pairs. It shrinks to the earliest case. Of a larger set only the sample of the
    run is drawn (`--calm-sample`).

    Args:
        generated: draw invented sums, with gold labels for the task of the judge, in place of the run's cases.
            They shrink to 0 + 0. Write `cases() | cases(generated=True)` for both.
    """
    return _made() if generated else _given()


@st.composite
def _given(draw: DrawFn) -> Case:
    known = running().cases
    if not known:
        raise EstimateError("cases(): expected a run with at least one case, got none; give it some: --calm-cases=FILE")
    return known[draw(st.integers(0, len(known) - 1))]


@st.composite
def _made(draw: DrawFn) -> Case:
    task = running().task
    first, second = draw(st.integers(0, MOST)), draw(st.integers(0, MOST))
    question, total = f"What is {first} + {second}?", first + second
    wrong = [total + slip for slip in draw(_slips(task))]
    remarks = draw(st.lists(st.sampled_from(REMARKS), max_size=2, unique=True))
    right = draw(st.integers(0, len(wrong)))
    results = [*wrong[:right], total, *wrong[right:]]
    texts = [" ".join([f"It is {result}.", *remarks]) for result in results]
    said = "".join(str(REMARKS.index(remark) + 1) for remark in remarks) or "0"
    name = f"made-{first}+{second}-{'-'.join(map(str, results))}-{said}"
    match task:
        case "pairwise" | "listwise":
            ids = _ids(results, total)
            answers = tuple(Answer(i, text) for i, text in zip(ids, texts, strict=True))
            scores = {i: 10.0 if i == "good" else 1.0 for i in ids} if task == "listwise" else {}
            return Case(name, question, answers, better="good", scores=scores)
        case "score":
            score = 10.0 if results[0] == total else 1.0
            return Case(name, question, (Answer("only", texts[0]),), scores={"only": score})
        case "label":
            truth = SHIPPED.names[-1] if results[0] == total else SHIPPED.names[0]
            return Case(name, question, (Answer("only", texts[0]),), label=truth)
        case _:
            check = {"kind": "contains", "value": f"It is {total}."}
            criteria = (Criterion("right", f"The answer says that it is {total}.", check=check),)
            met = {"only": {"right": results[0] == total}}
            return Case(name, question, (Answer("only", texts[0]),), criteria=criteria, met=met)


def _slips(task: Task) -> SearchStrategy[list[int]]:
    """Return a strategy for how far the wrong results are off: of several answers one is right."""
    counts = {"pairwise": (1, 1), "listwise": (2, 4)}
    least, most = counts.get(task, (0, 1))
    return st.lists(st.integers(1, 9), min_size=least, max_size=most, unique=True)


def _ids(results: list[int], total: int) -> list[str]:
    wrong = [result for result in results if result != total]
    return ["good" if r == total else "bad" if len(wrong) == 1 else f"bad{wrong.index(r) + 1}" for r in results]
