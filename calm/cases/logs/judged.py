"""A table of verdicts: in each record a question, an answer, what a judge said of it, and maybe what people said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from calm.cases.foreign.records import Table
from calm.cases.logs.judgments import ANY, Judgment, Log
from calm.cases.logs.values import texts_in, written

_TEXTS: Final = ("question", "answer", "reference", "id")


def judged(table: Table, columns: Mapping[str, str]) -> Log:
    """
    Return the verdicts of a judge and of people in a table.

    `columns` holds by field the column of the `question`, the `answer` and the judge's `verdict`, and maybe of what
    people said (`score`), of the `reference`, the `context`, the `id`, and of fields of a user's own (`field.NAME`).
    A record without a verdict gives no judgment; one without a word of people has no label.
    """
    log = Log("a table", (table.name,))
    for record, row in enumerate(table.rows, 1):
        held = {key: written(row.get(columns[key])) if key in columns else "" for key in _TEXTS}
        about = Judgment(
            metric=Path(table.name).stem,
            place=f"record {record}",
            question=held["question"],
            answers=(held["answer"],),
            value=row.get(columns["verdict"]),
            item=held["id"],
            reference=held["reference"] or None,
            context=texts_in(row.get(columns["context"])) if "context" in columns else (),
            fields={
                key.removeprefix("field."): written(row.get(column))
                for key, column in columns.items()
                if key.startswith("field.")
            },
            row=row,
        )
        if about.value in (None, ""):
            log.leave("a record without a verdict")
            continue
        log.judgments.append(about)
        gold = row.get(columns["score"]) if "score" in columns else None
        if gold not in (None, ""):
            log.judgments.append(replace(about, metric=ANY, who="person", value=gold))
    return log
