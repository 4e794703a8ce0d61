"""The gold label, as a planted judge goes by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from calm.core.case import TIE, Answer, Case, Criterion, digest
from calm.core.classes import DAMAGED, SHIPPED
from calm.core.verdict import Scale, Task
from calm.errors import JudgeError
from calm.perturbations.cues import ADDED

Gold: TypeAlias = str | float | tuple[bool, ...] | tuple[str, ...]
"""
What is true of what is seen: the label of the better slot or "tie" (pairwise), the score with its high end good
(score), the truth of each criterion seen (rubric, rubric-all, points), the labels from best to worst (listwise),
the class (label).
"""


def gold_of(case: Case, task: Task, scale: Scale, criterion: Criterion | None = None) -> Gold:
    """
    Return what is true of a case, as a judge of a task needs it.

    Raises:
        JudgeError: the case does not hold it.
    """
    match task:
        case "pairwise":
            return _better_label(case)
        case "score":
            answer = case.shown[0]
            if answer.id not in case.scores:
                raise lacking(f"a gold score for answer {answer.id!r}")
            return float(min(max(case.scores[answer.id], scale.low), scale.high))
        case "listwise":
            return _ranked_labels(case)
        case "label":
            return _class(case, scale)
        case _:
            return _met(case, case.criteria if criterion is None else (criterion,))


def moved(value: float, own: Scale, asked: Scale) -> float:
    """
    Return the value at the same place of another scale: on the nearest step of it, if it has steps.

    >>> moved(4.0, Scale(1.0, 10.0), Scale(0.0, 5.0, 1.0))
    2.0
    """
    if asked == own:
        return value
    place = (value - own.low) / (own.high - own.low) * (asked.high - asked.low)
    return asked.low + (place if asked.step is None else round(place / asked.step) * asked.step)


def lacking(what: str) -> JudgeError:
    """Return the error of a case that does not say what is true of it."""
    return JudgeError(f"planted: expected {what}, got none; a planted judge goes by gold labels: add them to the cases")


def _labels(case: Case) -> dict[str, str]:
    return {a.id: label for label, a in zip(case.slot_labels, case.shown, strict=True)}


def _better_label(case: Case) -> str:
    labels = _labels(case)
    if case.better == TIE:
        return TIE
    if case.better not in labels:
        raise lacking(f"`better` to name one of its answers ({', '.join(labels)}) or 'tie'")
    return labels[case.better]


def _ranked_labels(case: Case) -> tuple[str, ...]:
    """
    Return the labels by gold score, or the better answer first; what is equal in a fixed order of its own.

    What an edit added to the answers comes last.
    """
    labels = _labels(case)
    added = {a.id for a in case.answers if a.id.startswith(ADDED)}
    scored = all(a.id in case.scores for a in case.answers if a.id not in added)
    if not scored and case.better not in labels:
        raise lacking("a gold score for each answer, or `better` to name one")

    def rank(answer: Answer) -> tuple[bool, float, str]:
        worth = case.scores.get(answer.id, 0.0) if scored else float(answer.id == case.better)
        return answer.id in added, -worth, digest(case.id, answer.id)

    return tuple(labels[a.id] for a in sorted(case.answers, key=rank))


def _class(case: Case, scale: Scale) -> str:
    classes = scale.classes or SHIPPED
    found = classes.damaged if case.label == DAMAGED else case.label
    if found not in classes.names:
        raise lacking(f"`label` to be one of its classes ({', '.join(classes.names)})")
    return found


def _met(case: Case, criteria: Sequence[Criterion]) -> tuple[bool, ...]:
    answer = case.shown[0]
    met = case.met.get(answer.id, {})
    for criterion in criteria:
        if criterion.id not in met:
            raise lacking(f"`met` to say of answer {answer.id!r} whether it meets {criterion.id!r}")
    if not criteria:
        raise lacking("at least one criterion")
    return tuple(met[c.id] for c in criteria)
