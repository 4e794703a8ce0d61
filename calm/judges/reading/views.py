"""What a verdict is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from calm.core.case import Case, Criterion, Framing
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError


@dataclass(frozen=True, slots=True)
class View:
    """
    What a verdict is about: the labels by slot and the answer ids that they mean, scale, criteria, framing.

    `criteria` are criterion ids: for the task rubric the one that is asked about. `judged` are the texts that were put
    before the judge, so that a quotation of them is not taken for a verdict.
    """

    task: Task
    labels: tuple[str, ...]
    ids: tuple[str, ...]
    scale: Scale
    criteria: tuple[str, ...] = ()
    framing: Framing = Framing.STANDARD
    judged: tuple[str, ...] = ()


def view(case: Case, task: Task, scale: Scale, criterion: Criterion | None = None) -> View:
    """
    Return what a verdict on a case is about.

    Raises:
        ConfigError: the task rubric without a criterion, on a case that has not exactly one.
    """
    asked = tuple(c.id for c in case.criteria)
    if task == "rubric":
        if criterion is None and len(asked) != 1:
            raise ConfigError(
                f"case {case.id}: expected the criterion that is asked about, got criterion=None; "
                f"the task rubric asks one criterion a call, rubric-all asks them together"
            )
        asked = asked if criterion is None else (criterion.id,)
    shown = case.shown
    texts = [
        case.question,
        *(a.text for a in shown),
        *(h for a in shown for h in case.history(a)),
        case.reference or "",
    ]
    texts += case.surroundings()
    texts += [*case.notes, *case.fields.values(), *case.bylines.values(), *(c.text for c in case.criteria)]
    texts += [t for e in case.examples for t in (e.question, *e.answers)]
    return View(
        task=task,
        labels=case.slot_labels,
        ids=tuple(a.id for a in shown),
        scale=scale,
        criteria=asked,
        framing=case.framing,
        judged=tuple(t for t in texts if t),
    )


@lru_cache(maxsize=64)
def names_of(*labels: str) -> re.Pattern[str]:
    """Return an expression for the labels of answers as words."""
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, labels))})(?![A-Za-z0-9_])")
