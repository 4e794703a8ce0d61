"""Write cases as JSON Lines that `read_cases` reads back equal."""

from __future__ import annotations

import json

from calm.cases.labels import label_of
from calm.core.case import Answer, Case, Criterion, Presentation
from calm.errors import ConfigError


def line(case: Case) -> str:
    """
    Return a case as one line of a case file, with its line break, without what is empty or has its default.

    Raises:
        ConfigError: a case prepared for a judge (with an order, notes, a target ...), which no file can hold.
    """
    if type(case) is not Case or case.presentation != Presentation():
        raise ConfigError(f"case {case.id}: expected a case as read from a file, got one that an edit has presented")
    row: dict[str, object] = {
        "id": case.id,
        "question": case.question,
        "answers": [_answer(answer) for answer in case.answers],
        "better": case.better,
        "reference": case.reference,
        "criteria": [_criterion(criterion) for criterion in case.criteria],
        "met": {answer: dict(truths) for answer, truths in case.met.items()},
        "scores": dict(case.scores),
        "label": case.label,
        "fields": dict(case.fields),
        "variants": {name: dict(texts) for name, texts in case.variants.items()},
        "tags": dict(case.tags),
        "labels": _labels(case),
        "turns": [turn.content() for turn in case.turns],
        "context": [passage.content() for passage in case.context],
    }
    needed = ("id", "question", "answers")
    kept = {key: value for key, value in row.items() if key in needed or value not in (None, [], {})}
    return json.dumps(kept, ensure_ascii=False, allow_nan=False) + "\n"


def _labels(case: Case) -> dict[str, object]:
    ids = [answer.id for answer in case.answers]
    return {person: label_of(one, ids) for person, one in case.annotations.items()}


def _answer(answer: Answer) -> dict[str, object]:
    row: dict[str, object] = {"id": answer.id, "text": answer.text}
    if answer.author is not None:
        row["author"] = answer.author
    if answer.history:
        row["history"] = list(answer.history)
    if answer.steps:
        row["steps"] = [step.content() for step in answer.steps]
    return row


def _criterion(criterion: Criterion) -> dict[str, object]:
    row: dict[str, object] = {"id": criterion.id, "text": criterion.text, "points": criterion.points}
    if criterion.check is not None:
        row["check"] = dict(criterion.check)
    return row
