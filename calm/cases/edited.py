"""
An edited case in a file: the case as it was, the order in which it was shown, and the texts that differ.

A case file holds cases that no edit has touched, and reads only what every model and terminal can take. What a hunt
found may be anything, so it is kept beside its case.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import Any

from calm.cases.lines import line
from calm.cases.reading import read
from calm.core.case import Case, Presentation, Treated
from calm.errors import ConfigError, EditError


def to_row(before: Case, after: Case) -> dict[str, object]:
    """
    Return a case and its edited copy as JSON-able data, from which `from_row` makes both again.

    What may differ is what a hunt edits: the texts of answers and criteria, the question, the reference, notes and
    bylines. Texts for other edits (`variants`) are left out.
    """
    plain = before.untreated() if isinstance(before, Treated) else before
    bare = json.loads(line(replace(plain, presentation=Presentation(), variants={})))
    answers = {a.id: a.text for a, old in zip(after.answers, before.answers, strict=True) if a.text != old.text}
    criteria = {c.id: c.text for c, old in zip(after.criteria, before.criteria, strict=True) if c.text != old.text}
    texts = {"question": after.question, "reference": after.reference}
    edited: dict[str, object] = {name: text for name, text in texts.items() if text != getattr(before, name)}
    shown = {"notes": list(after.notes), "bylines": dict(after.bylines)}
    edited |= {"answers": answers} if answers else {}
    edited |= {"criteria": criteria} if criteria else {}
    return {"case": bare, "order": list(before.order), "edited": edited | {k: v for k, v in shown.items() if v}}


def from_row(row: Mapping[str, Any], name: str) -> tuple[Case, Case]:
    """
    Return the case and its edited copy of a row.

    Args:
        row: as `to_row` made it.
        name: where it comes from, for messages.

    Raises:
        ConfigError: it is damaged.
    """
    try:
        file = BytesIO(json.dumps(row["case"]).encode())
        case = read(file, name)[0]
        before = case.arranged(tuple(row["order"])) if row["order"] else case
        return before, _edited(before, row["edited"])
    except (KeyError, TypeError, AttributeError, ValueError, EditError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(
            f"{name}: expected a case and what was edited in it, got a damaged row ({error!r}); restore the file, or "
            "remove the row and its test"
        ) from None


def _instead(text: str, _before: str) -> str:
    return text


def _edited(case: Case, texts: Mapping[str, Any]) -> Case:
    """Return the case with other texts."""
    for answer, text in texts.get("answers", {}).items():
        case = case.edit(answer, partial(_instead, str(text)))
    criteria = texts.get("criteria", {})
    return replace(
        case,
        question=texts.get("question", case.question),
        reference=texts.get("reference", case.reference),
        criteria=tuple(replace(one, text=criteria.get(one.id, one.text)) for one in case.criteria),
    ).present(notes=tuple(texts.get("notes", ())), bylines=dict(texts.get("bylines", {})))
