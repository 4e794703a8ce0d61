"""Guess from the names of columns which field of a case each holds, where only one column can be meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from calm.cases.foreign.records import load
from calm.core.foreign_names import Role, meaning_of, plain

_FIELDS: Final[Mapping[Role, str]] = {
    "question": "question",
    "answer": "answer",
    "first": "answer_a",
    "second": "answer_b",
    "reference": "reference",
    "context": "context",
}
_BETTER: Final = ("better", "winner", "preferred", "preference", "chosen", "label", "human_preference", "verdict")
_CLASS: Final = ("gold_label", "human_label", "gold_class", "class", "classification", "label", "category")
"""Names of a column that holds the class of the only answer, the surest first."""
_SCORE: Final = ("score", "rating", "human_score", "human_rating", "gold_score", "grade")


def guessed(path: Path, maps: Sequence[str] = (), fields: Sequence[str] = ()) -> dict[str, str]:
    """
    Return the columns of a table by field, as far as their names show it; what a user mapped is left out.

    A column whose name is a field's own needs no entry, and a field that two columns could hold gets none. `fields` are
    names of a user's own that a prompt shows: a column of that name holds one.

    Raises:
        ConfigError: the file is no table.
    """
    table = load(path)
    mine = {text.partition("=")[0] for text in maps} | set(table.columns)
    found: dict[str, list[str]] = {}
    for column in table.columns:
        own = next((name for name in fields if plain(name) == plain(column)), None)
        field = field_of(column) if own is None or own == "context" else f"field.{own}"
        if field is not None:
            found.setdefault(field, []).append(column)
    if "answer_b" in found:
        found.pop("answer", None)
        found.pop("score", None)
    else:
        found.pop("better", None)
        classes = [column for word in _CLASS for column in table.columns if plain(column) == word]
        if classes and "score" not in found and "label" not in mine:
            found["label"] = classes[:1]
    return {field: names[0] for field, names in found.items() if len(names) == 1 and field not in mine}


def field_of(column: str) -> str | None:
    """
    Return the field of a case that a column with this name holds; None if the name does not show it.

    >>> field_of("Prompt"), field_of("response_2"), field_of("winner"), field_of("price")
    ('question', 'answer_b', 'better', None)
    """
    word = plain(column)
    if word in _BETTER:
        return "better"
    if word in _SCORE:
        return "score"
    role = meaning_of(column)
    return None if role is None else _FIELDS.get(role)
